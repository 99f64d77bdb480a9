package main

import (
	"fmt"
	"io"
	"strings"

	"troupe/engine"
	"troupe/http/admin"
)

type secretCommands struct {
	Set    secretSet    `cmd:"" help:"Store a value for $${secret:NAME} in fill. The value is read from standard input."`
	List   secretList   `cmd:"" help:"List the secrets of an account, without their values."`
	Remove secretRemove `cmd:"" help:"Remove a secret."`
}

type secretSet struct {
	operator
	Name    string   `arg:"" help:"Name of the secret."`
	Account string   `required:"" help:"Name of the account."`
	Origin  []string `required:"" help:"Origin of the pages that the secret can be filled into, such as https://shop.example. May be repeated." placeholder:"ORIGIN"`
}

// Run reads the value from the standard input and nowhere else: arguments and
// variables can be seen by others. One line break at the end is not part of it.
func (c *secretSet) Run(w *environment) error {
	value, err := io.ReadAll(io.LimitReader(w.stdin, engine.MaxSecret+3))
	if err != nil {
		return fmt.Errorf("read the value from the standard input: %w", err)
	}
	v := strings.TrimSuffix(strings.TrimSuffix(string(value), "\n"), "\r")
	if v == "" {
		return usage("the value is empty: give it on the standard input, as in troupe secret set %s ... < file", c.Name)
	}
	return executeOne(w, c.operator, false, "set a secret", admin.SetSecret{Account: c.Account, Name: c.Name, Value: v, Origins: c.Origin},
		func(s admin.Secret, _ bool) string {
			return fmt.Sprintf("The secret %s of the account %q is set, for %s.", s.Name, s.Account, strings.Join(s.Origins, ", "))
		})
}

type secretList struct {
	operator
	Account string `required:"" help:"Name of the account."`
}

func (c *secretList) Run(w *environment) error {
	all, _, err := execute(w, c.operator, false, admin.ListSecrets{Account: c.Account})
	if err != nil {
		return fmt.Errorf("list secrets: %w", err)
	}
	return c.print(w, all, func(out io.Writer) {
		rows := [][]string{{"NAME", "ORIGINS", "CHANGED"}}
		for _, s := range all {
			row := []string{s.Name, strings.Join(s.Origins, " "), minute(s.Changed)}
			if s.Lost {
				row = []string{s.Name, "cannot be read: it was sealed with another key. Set it again", ""}
			}
			rows = append(rows, row)
		}
		table(out, rows)
	})
}

type secretRemove struct {
	operator
	Name    string `arg:"" help:"Name of the secret."`
	Account string `required:"" help:"Name of the account."`
}

func (c *secretRemove) Run(w *environment) error {
	return executeOne(w, c.operator, false, "remove a secret", admin.RemoveSecret{Account: c.Account, Name: c.Name}, func(s admin.Secret, _ bool) string {
		return fmt.Sprintf("The secret %s of the account %q is removed.", s.Name, s.Account)
	})
}
