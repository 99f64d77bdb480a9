package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/cmd/troupe/doctor"
	"troupe/engine"
	"troupe/engine/browser"
	"troupe/http/admin"
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
	switch ready, err := s.waitReady(ctx); {
	case err != nil:
		return usage("no browser can be started: %w%s", err, s.orWithout(err))
	case !ready && ctx.Err() != nil:
		return nil
	case !ready:
		s.log.Error().Dur("after", readyWithin).Msg("no browser is up yet; see the log above")
	}
	settled := context.WithoutCancel(ctx) // a token that was made must also be shown
	known, err := s.accounts.List(settled)
	if err != nil {
		return fmt.Errorf("look for accounts: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Troupe answers on %s %s.\n", base, workersUp(s.node.Status()))
	if len(known) > 0 || s.member != nil { // of several nodes each would make one
		account := "NAME --plan PLAN"
		if slices.ContainsFunc(known, func(a persistence.Account) bool { return a.Name == firstAccount }) {
			account = firstAccount // then the line works as it is
		}
		fmt.Fprintf(&b, "To make a token: %s token create --account %s --data %s\n", quote(os.Args[0]), account, quote(s.data))
	} else {
		own := s.admin()
		own.By = persistence.Issuer{Via: persistence.ViaStart}
		made, err := admin.Run(settled, own, admin.CreateToken{Account: firstAccount, Plan: string(engine.Pro)})
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

// orWithout says what to do where it is the sandbox that the browsers do not start with.
func (s *service) orWithout(err error) string {
	if s.Chromium.NoSandbox || !browser.ForWantOfSandbox(err) {
		return ""
	}
	return "\nThe browsers' sandbox does not work here. To have it, " + doctor.SandboxAdvice(err) +
		". Where only you send tasks, --no-sandbox (TROUPE_NO_SANDBOX=true) does without it: every page can do then what the browser's user can"
}

// othersWithin is how long the greeting waits for the other browsers once one is
// up.
const othersWithin = 2 * time.Second

// waitReady waits for the first browser, and a moment for the others. An error
// says why none will come.
func (s *service) waitReady(ctx context.Context) (ready bool, err error) {
	end := time.NewTimer(readyWithin)
	defer end.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		now := s.edge.Status()
		if now.Workers == 0 { // there is no browser to wait for
			return true, nil
		}
		if now.Ready() && !ready {
			ready = true
			end.Reset(othersWithin)
		}
		if ready && now.Offline == 0 {
			return true, nil
		}
		if err := s.launches.hopeless(); err != nil {
			return false, err
		}
		select {
		case <-ctx.Done():
			return ready, nil
		case <-end.C:
			return ready, nil
		case <-tick.C:
		}
	}
}

// workersUp says how many workers have a browser.
func workersUp(n api.Status) string {
	switch up := n.Workers - n.Offline; {
	case up == 1 && n.Workers == 1:
		return "with 1 worker"
	case up == n.Workers:
		return fmt.Sprintf("with %d workers", n.Workers)
	case up == 0:
		return fmt.Sprintf("without a browser for its %d %s yet", n.Workers, engine.Plural(n.Workers, "worker", "workers"))
	default:
		return fmt.Sprintf("with %d of %d workers; the others have no browser yet", up, n.Workers)
	}
}

// base is the service's address for clients on this machine.
func (s *service) base(addr net.Addr) string {
	scheme := "http"
	if s.Listening.TLSCert != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if name, err := os.Hostname(); err == nil && s.Listening.TLSCert != "" {
			host = name
		}
	}
	return scheme + "://" + net.JoinHostPort(host, port)
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
