package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"troupe/engine"
	"troupe/http"
	"troupe/persistence"
)

// firstAccount is made at the first start.
const firstAccount = "local"

// readyWithin is how long the first browser may take to be up before the
// service greets without it.
const readyWithin = 30 * time.Second

// welcome tells the operator what to do next, once a task can be taken. At the
// first start it makes an account, and shows its token this one time.
func (s *service) welcome(ctx context.Context, out io.Writer, base string) error {
	if !s.waitReady(ctx) {
		if ctx.Err() != nil {
			return nil
		}
		s.log.Error().Dur("after", readyWithin).Msg("no browser is up yet; the log above says why")
	}
	settled := context.WithoutCancel(ctx) // a token that was made must also be shown
	known, err := s.accounts.List(settled)
	if err != nil {
		return fmt.Errorf("look for accounts: %w", err)
	}
	var b strings.Builder
	workers := "1 worker"
	if n := s.node.Status().Workers; n != 1 {
		workers = fmt.Sprintf("%d workers", n)
	}
	fmt.Fprintf(&b, "Troupe answers on %s with %s.\n", base, workers)
	if len(known) > 0 || s.member != nil { // of several nodes each would make one
		fmt.Fprintf(&b, "To make a token: %s token create --account NAME --plan PLAN --data %s\n", quote(os.Args[0]), quote(s.data))
	} else {
		office := s.office()
		office.By = persistence.Issuer{Via: persistence.ViaStart}
		made, err := http.CarryOut(settled, office, http.CreateToken{Account: firstAccount, Plan: string(engine.Pro)})
		if err != nil {
			return fmt.Errorf("make the first token: %w", err)
		}
		token := made.Token
		fmt.Fprintf(&b, "\nThe account %q was created. Its token is shown only now:\n\n  %s\n\n", firstAccount, token)
		fmt.Fprintf(&b, "Sign in with it at %s/, or read first: %s/docs/start\n\n", base, base)
		fmt.Fprintf(&b, "Try it:\n\n%s\n\n", example(base, token, s.Chromium.Outbound.Demo))
	}
	_, err = io.WriteString(out, b.String())
	return err
}

func (s *service) waitReady(ctx context.Context) bool {
	end := time.NewTimer(readyWithin)
	defer end.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !s.edge.Status().Ready() {
		select {
		case <-ctx.Done():
			return false
		case <-end.C:
			return false
		case <-tick.C:
		}
	}
	return true
}

// shopTask signs in at the demo shop and lists what it sells.
const shopTask = `{"actions":[` +
	`{"open":"http://demo.troupe.test/login"},` +
	`{"fill":["#user","ada"]},` +
	`{"fill":["#password","demo"]},` +
	`{"click":"#login"},` +
	`{"waitForElement":"#user-name"},` +
	`{"open":"http://demo.troupe.test/"},` +
	`{"extractAll":[".product",{"name":"h3","price":".price"}],"options":{"limit":3}}` +
	`]}`

// webTask is for who has no demo shop.
const webTask = `{"actions":[{"open":"https://example.com/"},{"getText":"h1"}]}`

// example is a line to paste into a shell.
func example(base, token string, demo bool) string {
	task := webTask
	if demo {
		task = shopTask
	}
	return fmt.Sprintf("  curl -sS %s/v1/ -H %s -H %s -d %s", base,
		quote("Authorization: Bearer "+token), quote("Content-Type: application/json"), quote(task))
}
