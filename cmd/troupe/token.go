package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"troupe/http"
	"troupe/persistence"
)

type tokenCommands struct {
	Create tokenCreate `cmd:"" help:"Make a token and print it, and nothing else."`
}

type tokenCreate struct {
	Account string `required:"" help:"Name of the account; one that does not exist is created with the plan."`
	Plan    string `help:"free, basic, standard or pro. May be left out for an account that exists."`
	Data    string `help:"Data folder of the service." placeholder:"DIR"`
}

// Run asks the running service, which has the store locked, or does it itself.
func (c *tokenCreate) Run(w *world) error {
	dir, err := dataFolder(c.Data)
	if err != nil {
		return usageError{err}
	}
	token, err := http.AskToken(socketIn(dir), c.Account, c.Plan)
	if errors.Is(err, http.ErrNoService) {
		token, err = c.create(dir)
	}
	if err != nil {
		return fmt.Errorf("make a token: %w", err)
	}
	_, err = fmt.Fprintln(w.stdout, token)
	return err
}

func (c *tokenCreate) create(dir string) (token string, err error) {
	store, err := persistence.OpenBadger(storeIn(dir), persistence.Options{Log: zerolog.Nop()})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return http.IssueToken(context.Background(), persistence.NewAccounts(store), c.Account, c.Plan)
}
