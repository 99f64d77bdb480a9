package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"troupe/engine"
	"troupe/http/address"
	"troupe/http/answer"
)

type sessionCommands struct {
	Open  sessionOpen  `cmd:"" help:"Open a session and print its id: a browser that is yours until you close it."`
	List  sessionList  `cmd:"" help:"List sessions, also those that tasks have left."`
	Show  sessionShow  `cmd:"" help:"Show a session."`
	Close sessionClose `cmd:"" help:"Close a session."`
}

type sessionOf struct {
	Session  answer.Session   `json:"session"`
	Warnings []engine.Warning `json:"warnings,omitempty"`
}

type sessionOpen struct {
	client
	File    string        `arg:"" optional:"" help:"File with the request as JSON, as for POST /v1/sessions, or - for the standard input. Default: a session without config."`
	Label   string        `env:"-" help:"Label of the session." placeholder:"TEXT"`
	Timeout time.Duration `env:"-" help:"How long the session may stay unused." placeholder:"DURATION"`
	Wait    time.Duration `env:"-" help:"How long to wait for a worker." placeholder:"DURATION"`
}

// Run opens a session. It prints only the id, so that scripts can take it.
func (c *sessionOpen) Run(w *environment) error {
	body := map[string]any{}
	if c.File != "" {
		b, err := readBounded(c.File, w.stdin, maxTask)
		if err != nil {
			return usage("read the request: %w", err)
		}
		if err := json.Unmarshal(b, &body); err != nil || body == nil {
			return usage("the request %s is not a JSON object", c.File)
		}
	}
	if c.Timeout < 0 || c.Wait < 0 {
		return usage("--timeout and --wait are times above 0")
	}
	if c.Label != "" {
		body["label"] = c.Label
	}
	for name, d := range map[string]time.Duration{"timeout": c.Timeout, "queueTimeout": c.Wait} {
		if d > 0 {
			body[name] = d.Milliseconds()
		}
	}
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	var one sessionOf
	if err := c.callWith(w.ctx, http.MethodPost, address.Fixed("/v1/sessions"), b, &one); err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	for _, warning := range one.Warnings {
		fmt.Fprintln(w.stderr, "troupe: warning: "+plain(warning.Message))
	}
	return c.print(w, one.Session, func(out io.Writer) { fmt.Fprintln(out, one.Session.ID) })
}

type sessionList struct{ client }

// Run lists sessions.
func (c *sessionList) Run(w *environment) error {
	var all struct {
		Sessions []answer.Session `json:"sessions"`
	}
	if err := c.call(w.ctx, http.MethodGet, address.Fixed("/v1/sessions"), &all); err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	return c.print(w, all.Sessions, func(out io.Writer) {
		rows := [][]string{{"SESSION", "STATE", "LABEL", "OPENED", "EXPIRES", "WORKER"}}
		for _, s := range all.Sessions {
			rows = append(rows, []string{s.ID, string(s.State), either(plain(s.Label), "-"), clockOf(s.Opened), clockOf(s.Expires), plain(s.WorkerName)})
		}
		table(out, rows)
	})
}

// oneSession is the argument of commands about one session.
type oneSession struct {
	client
	ID string `arg:"" help:"The session, such as sess_5d03047dd2de650c941a96bd73b9a0fb."`
}

func (c *oneSession) do(w *environment, doing, method string, into any) error {
	path, err := address.Session.Path(c.ID, "")
	if err != nil {
		return usage("%s: %w", doing, err)
	}
	if err := c.call(w.ctx, method, path, into); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

type sessionShow struct{ oneSession }

// Run shows a session.
func (c *sessionShow) Run(w *environment) error {
	var one sessionOf
	if err := c.do(w, "show a session", http.MethodGet, &one); err != nil {
		return err
	}
	return c.print(w, one.Session, func(out io.Writer) {
		s := &one.Session
		fmt.Fprintf(out, "%s is %s on %s, since %s.\n", s.ID, s.State, plain(s.WorkerName), clockOf(s.Opened))
		if s.Task != "" {
			fmt.Fprintf(out, "The task %s runs in it.\n", s.Task)
		}
		if s.Expires != "" {
			fmt.Fprintf(out, "It ends at %s if nobody uses it.\n", clockOf(s.Expires))
		}
		fmt.Fprintf(out, "Live picture: %s%s\n", c.found.url, s.Live)
	})
}

type sessionClose struct{ oneSession }

// Run closes a session.
func (c *sessionClose) Run(w *environment) error {
	var gone struct {
		ID string `json:"sessionId"`
	}
	if err := c.do(w, "close a session", http.MethodDelete, &gone); err != nil {
		return err
	}
	return c.print(w, gone, func(out io.Writer) { fmt.Fprintf(out, "The session %s is closed.\n", gone.ID) })
}
