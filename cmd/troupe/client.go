package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"troupe/http/address"
	"troupe/http/answer"
)

// client is the flags of commands that talk to a service as its clients do.
type client struct {
	URL  string `default:"http://127.0.0.1:8080" env:"-" help:"Address of the service. The token is read from TROUPE_TOKEN." placeholder:"URL"`
	JSON bool   `help:"Print JSON, for scripts."`
}

// refusedError is an answer that says no, in the service's words.
type refusedError struct {
	answer.Refusal
	status int
}

func (e *refusedError) Error() string {
	text := e.Refusal.Error
	for i, f := range e.Details {
		if i > 0 {
			text += "\n  " + f.String()
		}
	}
	return fmt.Sprintf("%s (%d %s)", text, e.status, e.Code)
}

// send sends a request and returns its answer, which is no refusal.
func (c *client) send(ctx context.Context, method string, path address.Path, kind string, body io.Reader, headers ...string) (*http.Response, error) {
	at, err := url.Parse(c.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, usage("--url is %q: want an address such as https://browsers.example.org", c.URL)
	}
	token := os.Getenv(clientsToken)
	if token == "" {
		return nil, usage("set %s to the token of your account", clientsToken)
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path.String(), body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	no := &refusedError{status: resp.StatusCode}
	const most = 1 << 20
	b, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err == nil {
		err = json.Unmarshal(b, &no.Refusal)
	}
	if err != nil || no.Refusal.Error == "" {
		return nil, fmt.Errorf("the service answers with status %d", resp.StatusCode)
	}
	return nil, no
}

// call sends a request and reads the answer.
func (c *client) call(ctx context.Context, method string, path address.Path, into any) error {
	var body io.Reader
	if method == http.MethodPost {
		body = bytes.NewReader([]byte("{}"))
	}
	resp, err := c.send(ctx, method, path, "application/json", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
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
