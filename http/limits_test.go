package http_test

import (
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"troupe/http"
)

// TestContentTypes: only what cannot be sent by a form of another site is read
// as a task.
func TestContentTypes(t *testing.T) {
	c := &fakeActors{}
	e := openServer(t, c)
	for kind, status := range map[string]int{
		"application/json": 200, "APPLICATION/JSON; charset=UTF-8": 200, "application/json; charset=utf8": 200, "application/json;charset=US-ASCII": 200,
		"": 415, "text/plain": 415, "text/json": 415, "application/x-www-form-urlencoded": 415, "application/json; charset=utf-16": 415, "application/json; charset=iso-8859-1": 415,
		"multipart/form-data": 415, "multipart/mixed; boundary=x": 415, "application/jsonp": 415, "text/plain, application/json": 415, "*/*": 415,
	} {
		got, p := e.post(t, kind, strings.NewReader(task))
		if got != status || status == 415 && p.Code != "unsupported_media_type" {
			t.Errorf("%q: %d %+v", kind, got, p)
		}
	}
	if got, p := e.post(t, "application/json", strings.NewReader(task), func(r *nethttp.Request) { r.Header.Set("Content-Encoding", "gzip") }); got != 415 {
		t.Errorf("a compressed body: %d %+v", got, p)
	}
	if _, p := e.post(t, "application/json; charset=iso-8859-1", strings.NewReader(task)); !strings.Contains(p.Error, `charset "iso-8859-1"`) {
		t.Errorf("a charset that is none of ours is told of as %q", p.Error)
	}
	if got, p := e.post(t, "application/json", strings.NewReader("\ufeff"+task)); got != 200 {
		t.Errorf("a body with a byte order mark: %d %+v", got, p)
	}
	if c.taskCount() != 5 {
		t.Errorf("%d tasks came of it", c.taskCount())
	}
}

// Promise: A repeat with the same key starts nothing again
// (docs/api.md#repeating-a-request).
func TestIdempotencyKeys(t *testing.T) {
	e := openServer(t, &fakeActors{})
	for key, status := range map[string]int{
		strings.Repeat("k", 255): 200, "order-17": 200, strings.Repeat("k", 256): 400, "": 400, "two words": 400, "größe": 400,
	} {
		if got, p := e.post(t, "application/json", strings.NewReader(task), func(r *nethttp.Request) { r.Header["Idempotency-Key"] = []string{key} }); got != status {
			t.Errorf("a key of %d characters: %d %+v", len(key), got, p)
		}
	}
}

// TestIdleConnectionsEnd: a client that keeps its connection and says nothing
// more does not keep it for ever.
func TestIdleConnectionsEnd(t *testing.T) {
	e := openServer(t, &fakeActors{}, func(c *http.Config) { c.IdleTimeout = 200 * time.Millisecond })
	conn := e.dial(t, nil)
	_, _ = fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n")
	all, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 200") {
		t.Errorf("%v, %q", err, all)
	}
}
