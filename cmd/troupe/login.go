package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"troupe/engine"
	"troupe/http/address"
)

type loginCommand struct {
	ownFiles
	URL   string `arg:"" help:"Address of the service, such as https://troupe.example.org."`
	Name  string `env:"-" help:"Name of the context. Default: the host of the service." placeholder:"NAME"`
	Token string `env:"-" help:"The token. Default: it is read from the standard input, and asked for on a terminal. Better there: other users of a machine can see arguments." placeholder:"TOKEN"`
	JSON  bool   `help:"Print JSON, for scripts."`
}

// maxToken is far more than a token has.
const maxToken = 4096

// checkWithin bounds the question whether a token is valid.
const checkWithin = 30 * time.Second

// Run checks the token against the service, and keeps both as the current context. Nothing is
// kept of a login that fails.
func (c *loginCommand) Run(w *environment) error {
	at, err := parseService("the address", c.URL)
	if err != nil {
		return err
	}
	if c.Name == "" {
		c.Name = nameOf(at)
	}
	if !engine.IsFlowName(c.Name) {
		return usage("--name %q is not the name of a context: want 1 to 64 letters, digits and _ . -, the first a letter or a digit", c.Name)
	}
	all, err := readContexts()
	if err != nil {
		return err
	}
	if at.Scheme == "http" && !loopbackHost(at.Hostname()) {
		fmt.Fprintln(w.stderr, "troupe: warning: the token crosses the network readable. Use https:// where others can listen")
	}
	service := strings.TrimSuffix(c.URL, "/")
	token, err := c.token(w, service)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(w.ctx, checkWithin)
	defer cancel()
	of, err := whoIs(ctx, place{url: service, token: token, tokenFrom: "this login"})
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	all.Contexts[c.Name] = savedAccess{URL: service, Token: token, Account: of.Account}
	all.Current = c.Name
	if err := all.write(); err != nil {
		return err
	}
	result := map[string]string{"context": c.Name, "url": service, "account": of.Account, "plan": of.Plan, "file": all.file}
	return operator{JSON: c.JSON}.print(w, result, func(out io.Writer) {
		fmt.Fprintf(out, "Signed in to %s as %s (plan %s). Commands go there now: it is the context %s.\n", service, plain(of.Account), plain(of.Plan), c.Name)
	})
}

// token is the token of the flag, or what the standard input has.
func (c *loginCommand) token(w *environment, service string) (string, error) {
	text := c.Token
	if text == "" {
		if terminal(w.stdin) {
			shown := hideInput(w.stdin)
			fmt.Fprintf(w.stderr, "Token for %s: ", service)
			defer func() {
				shown()
				fmt.Fprintln(w.stderr)
			}()
			line, err := readLine(w.stdin)
			if err != nil {
				return "", fmt.Errorf("read the token: %w", err)
			}
			text = line
		} else {
			b, err := io.ReadAll(io.LimitReader(w.stdin, maxToken+1))
			if err != nil {
				return "", fmt.Errorf("read the token: %w", err)
			}
			text = string(b)
		}
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", usage("the token is empty: give it on the standard input, as in troupe login %s < file, or with --token", service)
	case len(text) > maxToken || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return "", usage("what was given is not a token: want one word, as troupe token create prints it")
	}
	return text, nil
}

// readLine reads one line, byte by byte: nothing after it is lost.
func readLine(in io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) <= maxToken; {
		n, err := in.Read(b)
		if n == 1 && b[0] == '\n' {
			break
		}
		line = append(line, b[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
	}
	return string(line), nil
}

// identity is what a service says of a token.
type identity struct {
	Success bool   `json:"success"`
	Plan    string `json:"plan"`
	Account string `json:"account"`
}

// whoIs asks a service whose a token is.
func whoIs(ctx context.Context, at place) (*identity, error) {
	c := &connection{found: &at}
	resp, err := c.do(ctx, &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		http.MethodGet, address.Fixed("/v1/usage"), "", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if to := resp.Header.Get("Location"); resp.StatusCode >= 300 && resp.StatusCode < 400 && to != "" {
		return nil, usage("%s sends its clients on to %s: sign in at the address that answers", at.url, plain(to))
	}
	if resp.StatusCode != http.StatusOK {
		return nil, refused(resp, at)
	}
	var of identity
	err = json.NewDecoder(io.LimitReader(resp.Body, maxRefusal)).Decode(&of)
	if err != nil || !of.Success || of.Plan == "" {
		return nil, usage("%s does not answer as Troupe does: check the address", at.url)
	}
	return &of, nil
}
