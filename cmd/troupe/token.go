package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"troupe/http/admin"
)

type tokenCommands struct {
	Create tokenCreate `cmd:"" help:"Create a token and print only the token."`
	List   tokenList   `cmd:"" help:"List tokens by their ids. The tokens themselves are not stored."`
	Revoke tokenRevoke `cmd:"" help:"Revoke a token."`
}

type tokenCreate struct {
	distant
	Account string   `required:"" help:"Name of the account; one that does not exist is created with the plan."`
	Plan    string   `help:"free, basic, standard or pro. May be left out for an account that exists."`
	Sites   []string `env:"-" help:"Sites that pages of the token's tasks may be from, such as shop.example.org or *.example.org. May be repeated. Default: any." placeholder:"SITE"`
}

func (c *tokenCreate) Run(w *environment) error {
	return executeOne(w, &c.distant, true, "make a token", admin.CreateToken{Account: c.Account, Plan: c.Plan, Sites: c.Sites},
		func(t admin.TokenMade, _ bool) string { return t.Token })
}

type tokenList struct {
	distant
	Account string `help:"Only the tokens of this account."`
}

func (c *tokenList) Run(w *environment) error {
	all, _, err := execute(w, &c.distant, false, admin.ListTokens{Account: c.Account})
	if err != nil {
		return fmt.Errorf("list tokens: %w", err)
	}
	return c.print(w, all, func(out io.Writer) {
		rows := [][]string{{"ID", "ACCOUNT", "CREATED", "ISSUED BY", "SITES"}}
		for _, t := range all {
			rows = append(rows, []string{t.ID, t.Account, minute(t.Created), issuer(t.IssuedBy), cmp.Or(strings.Join(t.Sites, " "), "any")})
		}
		table(out, rows)
	})
}

type tokenRevoke struct {
	distant
	ID string `arg:"" help:"Id of the token, as the list shows it: tok_ and 16 digits."`
}

func (c *tokenRevoke) Run(w *environment) error {
	return executeOne(w, &c.distant, false, "revoke a token", admin.RevokeToken{ID: c.ID}, func(t admin.Token, _ bool) string {
		return fmt.Sprintf("The token %s of the account %q is revoked.", t.ID, t.Account)
	})
}
