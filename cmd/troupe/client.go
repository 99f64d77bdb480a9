package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"troupe/http/address"
	"troupe/http/answer"
)

// defaultService is where a service of this machine answers.
const defaultService = "http://127.0.0.1:8080"

// connection is where a command finds its service, and whose token it has, as flags. They win
// over the environment, and that over the file with the contexts.
type connection struct {
	URL     string `env:"-" help:"Address of the service. Default: TROUPE_URL, else that of the context, else http://127.0.0.1:8080." placeholder:"URL"`
	Token   string `env:"-" help:"Token of your account. Default: TROUPE_TOKEN, else that of the context. Better there: other users of a machine can see arguments." placeholder:"TOKEN"`
	Context string `env:"-" help:"Context to use instead of the current one, see troupe login." placeholder:"NAME"`

	found *place // once it was looked for
}

// connectionFlags are the names of its flags.
var connectionFlags = []string{"url", "token", "context"}

// place is a service, and the token for it.
type place struct {
	url, token string
	context    string // that it is of
	given      bool   // somebody has named the service
	tokenFrom  string
}

// named reports whether the flags name a service.
func (c *connection) named() bool { return c.URL != "" || c.Context != "" }

// service finds the service. A token of a context goes to no other service than its own.
func (c *connection) service() (*place, error) {
	if c.found != nil {
		return c.found, nil
	}
	if c.URL != "" && c.Context != "" {
		return nil, usage("give either --url or --context")
	}
	all, err := readContexts()
	if err != nil {
		return nil, err
	}
	at, from := &place{}, ""
	switch {
	case c.URL != "":
		at.url, from = c.URL, "--url"
	case c.Context != "":
		at.context = c.Context
		if _, err := all.named(c.Context); err != nil {
			return nil, err
		}
	case os.Getenv(clientsURL) != "":
		at.url, from = os.Getenv(clientsURL), clientsURL
	case all.Current != "":
		at.context = all.Current
		if _, err := all.named(all.Current); err != nil {
			return nil, usage("the current context is gone: %w", err)
		}
	}
	at.given = at.url != "" || at.context != ""
	switch {
	case at.context != "":
		at.url, from = all.Contexts[at.context].URL, "the url of the context "+at.context
	case at.url == "":
		at.url, from = defaultService, "the default"
	}
	if _, err := parseService(from, at.url); err != nil {
		return nil, err
	}
	at.url = strings.TrimSuffix(at.url, "/")
	at.token, at.tokenFrom = c.tokenFor(at, all)
	c.found = at
	return at, nil
}

// tokenFor is the token for a service, and where it is from.
func (c *connection) tokenFor(at *place, all *contexts) (token, from string) {
	of := at.context
	if of == "" && all.Contexts[all.Current].URL == at.url {
		of = all.Current
	}
	for name, one := range all.Contexts {
		if of == "" && one.URL == at.url {
			of = name
		}
	}
	switch set := os.Getenv(clientsToken); {
	case c.Token != "":
		return c.Token, "--token"
	case set != "" && c.Context == "": // who names a context means its account
		return set, clientsToken
	case of != "":
		return all.Contexts[of].Token, "the context " + of
	}
	return "", ""
}

// parseService reads the address of a service that was named somewhere.
func parseService(where, text string) (*url.URL, error) {
	at, err := url.Parse(text)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.User != nil || at.RawQuery != "" || at.Fragment != "" {
		return nil, usage("%s is %q: want an address such as https://browsers.example.org", where, text)
	}
	return at, nil
}

// client is the flags of commands that talk to a service as its clients do.
type client struct {
	connection
	JSON bool `help:"Print JSON, for scripts."`
}

func (c *client) remote([]string) (bool, error) { return true, nil }

// refusedError is an answer that says no, in the service's words.
type refusedError struct {
	answer.Refusal
	status int
	at     place
}

func (e *refusedError) Error() string {
	text := e.Refusal.Error
	for i, f := range e.Details {
		if i > 0 {
			text += "\n  " + f.String()
		}
	}
	text = fmt.Sprintf("%s (%d %s)", text, e.status, e.Code)
	switch {
	case e.status == http.StatusUnauthorized && e.at.tokenFrom != "":
		text += fmt.Sprintf("\n  The service is %s, and the token is from %s. Sign in again: troupe login %s", e.at.url, e.at.tokenFrom, e.at.url)
	case e.Hint != "":
		text += "\n  " + e.Hint
	}
	return text
}

// maxRefusal bounds what is read of an answer that says no.
const maxRefusal = 1 << 20

// refused is the error of an answer that says no.
func refused(resp *http.Response, at place) error {
	no := &refusedError{status: resp.StatusCode, at: at}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err == nil {
		err = json.Unmarshal(b, &no.Refusal)
	}
	if err != nil || no.Refusal.Error == "" {
		return fmt.Errorf("the service at %s answers with status %d", at.url, resp.StatusCode)
	}
	return no
}

// do sends a request and returns its answer, whatever it is.
func (c *connection) do(ctx context.Context, by *http.Client, method string, path address.Path, kind string, body io.Reader, headers ...string) (*http.Response, error) {
	at, err := c.service()
	if err != nil {
		return nil, err
	}
	if at.token == "" {
		return nil, usage("there is no token for %s: sign in with troupe login %s, or set %s to the token of your account", at.url, at.url, clientsToken)
	}
	r, err := http.NewRequestWithContext(ctx, method, at.url+path.String(), body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+at.token)
	r.Header.Set("User-Agent", "troupe/"+version)
	if body != nil {
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := by.Do(r)
	if err != nil && ctx.Err() == nil {
		err = unreachable(at.url, err)
	}
	return resp, err
}

// unreachable says that nothing answers.
func unreachable(service string, err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	hint, unknown := "", new(net.DNSError)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		hint = ". Does the service run? troupe serve starts one, and --url names another"
	case errors.As(err, &unknown) && unknown.IsNotFound:
		hint = ". Check the address"
	}
	return fmt.Errorf("no service answers at %s: %w%s", service, err, hint)
}

// send sends a request and returns its answer, which is no refusal.
func (c *connection) send(ctx context.Context, method string, path address.Path, kind string, body io.Reader, headers ...string) (*http.Response, error) {
	resp, err := c.do(ctx, http.DefaultClient, method, path, kind, body, headers...)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refused(resp, *c.found)
}

// call sends a request and reads the answer.
func (c *connection) call(ctx context.Context, method string, path address.Path, into any) error {
	var body []byte
	if method == http.MethodPost {
		body = []byte("{}")
	}
	return c.callWith(ctx, method, path, body, into)
}

// callWith is call with a body of JSON; nil: none.
func (c *connection) callWith(ctx context.Context, method string, path address.Path, body []byte, into any) error {
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	resp, err := c.send(ctx, method, path, "application/json", in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.found.url, err)
	}
	return nil
}

// passing reports whether an error may be gone when the request is sent again.
func passing(err error) bool {
	var no *refusedError
	if errors.As(err, &no) {
		return no.Retryable
	}
	var wrong usageError
	return !errors.As(err, &wrong)
}

// print writes a result: as JSON, or as people want it.
func (c *client) print(w *environment, result any, people func(io.Writer)) error {
	return operator{JSON: c.JSON}.print(w, result, people)
}
