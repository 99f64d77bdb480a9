package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"troupe/engine"
	"troupe/http/address"
	"troupe/http/answer"
)

type noticeCommands struct {
	List      noticeList      `cmd:"" help:"List notices that were delivered or given up, newest first, or those that wait."`
	Show      noticeShow      `cmd:"" help:"Show a notice with its last attempts."`
	Redeliver noticeRedeliver `cmd:"" help:"Send a notice now, or once more."`
	Secret    noticeSecret    `cmd:"" help:"Print the secret that signs notices. The first call makes it."`
}

type noticeOf struct {
	Notice answer.Notice `json:"notice"`
}

type noticeList struct {
	client
	Status string `env:"-" default:"ended" enum:"ended,waiting" help:"Which notices: ended or waiting."`
	Limit  int    `default:"20" help:"How many." placeholder:"N"`
	Cursor string `env:"-" help:"Where to go on, as the list before says." placeholder:"CURSOR"`
}

// Run lists notices.
func (c *noticeList) Run(w *environment) error {
	q := url.Values{"limit": {strconv.Itoa(c.Limit)}, "status": {c.Status}}
	if c.Cursor != "" {
		q.Set("cursor", c.Cursor)
	}
	var all struct {
		Notices []answer.Notice `json:"notices"`
		Next    string          `json:"next,omitempty"`
	}
	if err := c.call(w.ctx, http.MethodGet, address.Fixed("/v1/notices").With(q), &all); err != nil {
		return fmt.Errorf("list notices: %w", err)
	}
	return c.print(w, all, func(out io.Writer) {
		rows := [][]string{{"NOTICE", "STATUS", "EVENT", "ABOUT", "AT", "ATTEMPTS", "URL"}}
		for _, n := range all.Notices {
			rows = append(rows, []string{n.NoticeID, string(n.Status), n.Event, n.About, clockOf(n.At), strconv.Itoa(n.Attempts), plain(n.URL)})
		}
		table(out, rows)
		if all.Next != "" {
			fmt.Fprintf(out, "More: --cursor %s\n", quote(all.Next))
		}
	})
}

// oneNotice is the argument of commands about one notice.
type oneNotice struct {
	client
	ID string `arg:"" help:"The notice, as the list shows it."`
}

func (c *oneNotice) do(w *environment, doing, method string, below address.Constant) error {
	path, err := address.Notice.Path(c.ID, below)
	if err != nil {
		return usage("%s: %w", doing, err)
	}
	var one noticeOf
	if err := c.call(w.ctx, method, path, &one); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	n := &one.Notice
	return c.print(w, n, func(out io.Writer) {
		fmt.Fprintf(out, "%s (%s of %s) for %s is %s, after %d attempts.\n", n.NoticeID, n.Event, n.About, plain(n.URL), n.Status, n.Attempts)
		if n.Next != "" {
			fmt.Fprintf(out, "Next attempt: %s\n", clockOf(n.Next))
		}
		if len(n.Tries) == 0 {
			return
		}
		rows := [][]string{{"AT", "TOOK", "STATUS", "ERROR"}}
		for _, t := range n.Tries {
			rows = append(rows, []string{clockOf(t.At), fmt.Sprintf("%dms", t.Took), either(strings.TrimPrefix(strconv.Itoa(t.Status), "0"), "-"), plain(t.Error)})
		}
		table(out, rows)
	})
}

type noticeShow struct{ oneNotice }

// Run shows a notice.
func (c *noticeShow) Run(w *environment) error { return c.do(w, "show a notice", http.MethodGet, "") }

type noticeRedeliver struct{ oneNotice }

// Run sends a notice again.
func (c *noticeRedeliver) Run(w *environment) error {
	return c.do(w, "send a notice", http.MethodPost, "/redeliver")
}

type noticeSecret struct {
	client
	Rotate bool `env:"-" help:"Make another secret. The one before signs as well for 24 hours."`
}

// Run prints the secret that signs notices.
func (c *noticeSecret) Run(w *environment) error {
	method, path := http.MethodGet, address.Fixed("/v1/notice-secret")
	if c.Rotate {
		method, path = http.MethodPost, address.Fixed("/v1/notice-secret/rotate")
	}
	var of struct {
		Secret   string `json:"secret"`
		Previous string `json:"previous,omitempty"`
		Until    string `json:"previousUntil,omitempty"`
	}
	if err := c.call(w.ctx, method, path, &of); err != nil {
		return fmt.Errorf("get the secret of notices: %w", err)
	}
	return c.print(w, of, func(out io.Writer) { fmt.Fprintln(out, of.Secret) })
}

type endpointCommands struct {
	Add    endpointAdd    `cmd:"" help:"Name an endpoint: it is told of the ends of tasks and batches. The same URL replaces it."`
	List   endpointList   `cmd:"" help:"List endpoints."`
	Enable endpointEnable `cmd:"" help:"Switch an endpoint on again."`
	Remove endpointRemove `cmd:"" help:"Remove an endpoint."`
}

type endpointOf struct {
	Endpoint answer.Endpoint `json:"endpoint"`
}

type endpointAdd struct {
	client
	Receiver string   `arg:"" help:"URL of the receiver, such as https://example.org/hook."`
	Event    []string `env:"-" help:"What it is told of: end, failed or batch.end. May be repeated. Default: end and batch.end." placeholder:"EVENT"`
	Result   bool     `env:"-" help:"Put the results of tasks into the notices."`
}

// Run names an endpoint.
func (c *endpointAdd) Run(w *environment) error {
	if at, err := url.Parse(c.Receiver); err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return usage("%q is not the URL of a receiver: want an address such as https://example.org/hook", c.Receiver)
	}
	body := map[string]any{"url": c.Receiver}
	if len(c.Event) > 0 {
		body["events"] = c.Event
	}
	if c.Result {
		body["include"] = "result"
	}
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	var one endpointOf
	if err := c.callWith(w.ctx, http.MethodPost, address.Fixed("/v1/endpoints"), b, &one); err != nil {
		return fmt.Errorf("name an endpoint: %w", err)
	}
	return c.print(w, one.Endpoint, func(out io.Writer) {
		fmt.Fprintf(out, "The endpoint %s is told of: %s.\n", one.Endpoint.EndpointID, events(one.Endpoint.Events))
	})
}

func events(all []engine.NoticeEvent) string {
	var words []string
	for _, e := range all {
		words = append(words, string(e))
	}
	return either(strings.Join(words, ", "), "-")
}

type endpointList struct{ client }

// Run lists endpoints.
func (c *endpointList) Run(w *environment) error {
	var all struct {
		Endpoints []answer.Endpoint `json:"endpoints"`
	}
	if err := c.call(w.ctx, http.MethodGet, address.Fixed("/v1/endpoints"), &all); err != nil {
		return fmt.Errorf("list endpoints: %w", err)
	}
	return c.print(w, all.Endpoints, func(out io.Writer) {
		rows := [][]string{{"ENDPOINT", "EVENTS", "OFF SINCE", "URL"}}
		for _, e := range all.Endpoints {
			rows = append(rows, []string{e.EndpointID, events(e.Events), clockOf(e.Off), plain(e.URL)})
		}
		table(out, rows)
	})
}

// oneEndpoint is the argument of commands about one endpoint.
type oneEndpoint struct {
	client
	ID string `arg:"" help:"The endpoint, as the list shows it."`
}

func (c *oneEndpoint) do(w *environment, doing, method string, below address.Constant, done string) error {
	path, err := address.Endpoint.Path(c.ID, below)
	if err != nil {
		return usage("%s: %w", doing, err)
	}
	var one endpointOf
	if err := c.call(w.ctx, method, path, &one); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return c.print(w, one.Endpoint, func(out io.Writer) { fmt.Fprintf(out, "The endpoint %s is %s.\n", c.ID, done) })
}

type endpointEnable struct{ oneEndpoint }

// Run switches an endpoint on.
func (c *endpointEnable) Run(w *environment) error {
	return c.do(w, "enable an endpoint", http.MethodPost, "/enable", "on")
}

type endpointRemove struct{ oneEndpoint }

// Run removes an endpoint.
func (c *endpointRemove) Run(w *environment) error {
	return c.do(w, "remove an endpoint", http.MethodDelete, "", "removed")
}
