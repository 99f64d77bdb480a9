package main

import (
	"fmt"
	"io"
	"strconv"

	"troupe/http/admin"
)

type accountCommands struct {
	List    accountList    `cmd:"" help:"List the accounts."`
	Create  accountCreate  `cmd:"" help:"Create an account. It has no token yet."`
	SetPlan accountSetPlan `cmd:"" help:"Change the plan of an account. It applies from the next request."`
	Delete  accountDelete  `cmd:"" help:"Delete an account with its tokens, running tasks, sessions, workers and results. Runs at once, without confirmation."`
}

type accountList struct{ distant }

func (c *accountList) Run(w *environment) error {
	all, _, err := execute(w, &c.distant, false, admin.ListAccounts{})
	if err != nil {
		return fmt.Errorf("list accounts: %w", err)
	}
	return c.print(w, all, func(out io.Writer) {
		rows := [][]string{{"NAME", "PLAN", "TOKENS", "CREATED"}}
		for _, a := range all {
			if a.Operator {
				a.Plan += ", operator"
			}
			rows = append(rows, []string{a.Name, a.Plan, strconv.Itoa(a.Tokens), minute(a.Created)})
		}
		table(out, rows)
	})
}

type accountCreate struct {
	distant
	Name     string `arg:"" help:"Name of the account."`
	Plan     string `required:"" placeholder:"PLAN" enum:"free,basic,standard,pro" help:"free, basic, standard or pro."`
	Operator bool   `name:"operator" help:"Let its tokens run operator commands over HTTP: accounts, tokens, workers, drain. The web page is then a console for the operator."`
}

func (c *accountCreate) Run(w *environment) error {
	account := admin.CreateAccount{Name: c.Name, Plan: c.Plan}
	say := func(a admin.Account, _ bool) string {
		of := ""
		if a.Operator {
			of = "; its tokens can run the operator's commands"
		}
		return fmt.Sprintf("The account %q was created with the plan %s%s.", a.Name, a.Plan, of)
	}
	if c.Operator {
		return executeOne(w, &c.distant, true, "create an account", admin.CreateOperator{CreateAccount: account}, say)
	}
	return executeOne(w, &c.distant, true, "create an account", account, say)
}

type accountSetPlan struct {
	distant
	Name string `arg:"" help:"Name of the account."`
	Plan string `arg:"" enum:"free,basic,standard,pro" help:"free, basic, standard or pro."`
}

func (c *accountSetPlan) Run(w *environment) error {
	return executeOne(w, &c.distant, false, "change a plan", admin.SetPlan{Account: c.Name, Plan: c.Plan}, func(a admin.Account, _ bool) string {
		return fmt.Sprintf("The account %q has the plan %s.", a.Name, a.Plan)
	})
}

type accountDelete struct {
	distant
	Name string `arg:"" help:"Name of the account."`
}

func (c *accountDelete) Run(w *environment) error {
	return executeOne(w, &c.distant, false, "delete an account", admin.DeleteAccount{Account: c.Name}, func(d admin.AccountDeleted, _ bool) string {
		return fmt.Sprintf("The account %q was deleted. Tasks cancelled: %d, sessions ended: %d, workers removed: %d.",
			d.Account, d.Tasks, d.Sessions, d.Workers)
	})
}
