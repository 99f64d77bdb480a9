package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"troupe/http/address"
)

// maxAnswer bounds what is read of one answer of the API: a result has at most 16 MiB.
const maxAnswer = 32 << 20

// client sends requests of the API in the name of whoever called a tool.
type client struct {
	via    http.RoundTripper
	header http.Header // of each request
}

func (c *client) send(ctx context.Context, method string, path address.Path, body any) (*http.Response, error) {
	var in io.Reader
	if body != nil {
		b, err := marshal(body)
		if err != nil {
			return nil, fmt.Errorf("write a request: %w", err)
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://service"+path.String(), in)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.via.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("send a request to the service: %w", err)
	}
	return res, nil
}

// read sends a request and returns the answer's body.
func (c *client) read(ctx context.Context, method string, path address.Path, body any) ([]byte, error) {
	res, err := c.send(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return readAll(res)
}

// readAll reads an answer. Where its size is known, no more memory is taken than that.
func readAll(res *http.Response) ([]byte, error) {
	var b []byte
	var err error
	if n := res.ContentLength; n > 0 && n <= maxAnswer {
		b = make([]byte, n)
		_, err = io.ReadFull(res.Body, b)
	} else {
		b, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	}
	if err != nil {
		return nil, fmt.Errorf("read the service's answer: %w", err)
	}
	return b, nil
}

// ask sends a request and reads its answer, a refusal too, into to.
func (c *client) ask(ctx context.Context, method string, path address.Path, body, to any) error {
	res, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close() // after it was decoded: until then the service counts it
	b, err := readAll(res)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("read the service's answer: %w", err)
	}
	return nil
}

// event is one event of a stream.
type event struct {
	name string
	data []byte
}

// follow reads the events of a task until take returns false or the stream ends.
func (c *client) follow(ctx context.Context, task string, take func(event) bool) error {
	path, err := address.Task.Path(task, "/events")
	if err != nil {
		return fmt.Errorf("follow a task: %w", err)
	}
	res, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("follow a task: the service answers %d", res.StatusCode)
	}
	var e event
	for in := bufio.NewReader(res.Body); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return fmt.Errorf("follow a task: %w", err)
		}
		switch name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ": "); {
		case name == "event":
			e.name = value
		case name == "data":
			e.data = []byte(value)
		case name == "" && e.name != "":
			if !take(e) {
				return nil
			}
			e = event{}
		}
	}
}

// marshal writes JSON as the API does: nothing is escaped for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Remote is the way to a service at an address, with a token.
type Remote struct {
	URL   *url.URL
	Token string
	Via   http.RoundTripper // nil: http.DefaultTransport
}

// RoundTrip is part of [http.RoundTripper].
func (r *Remote) RoundTrip(req *http.Request) (*http.Response, error) {
	if !address.Settled(req.URL.EscapedPath()) { // it could leave what the token is for
		return nil, fmt.Errorf("send a request to %s: the path %q is not one of the service", r.URL.Redacted(), req.URL.EscapedPath())
	}
	out := req.Clone(req.Context())
	at := *r.URL
	at.Path, at.RawQuery = strings.TrimSuffix(at.Path, "/")+req.URL.Path, req.URL.RawQuery
	out.URL, out.Host = &at, ""
	out.Header.Set("Authorization", "Bearer "+r.Token)
	via := r.Via
	if via == nil {
		via = http.DefaultTransport
	}
	return via.RoundTrip(out)
}
