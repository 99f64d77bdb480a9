package http_test

import (
	"context"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/http"
	"troupe/persistence"
)

// TestPartHeadersAreBounded: the headers of parts, and what stands before the first
// one, are read into memory: they are refused where they are long.
func TestPartHeadersAreBounded(t *testing.T) {
	beside(t)
	var kept atomic.Int64
	c := &fakeActors{execute: func(_ context.Context, m *api.Execute) (*api.Executed, error) {
		for _, f := range m.Task.Files {
			kept.Add(int64(len(f.Name) + len(f.Type)))
		}
		return done(m), nil
	}}
	e := openServer(t, c)
	payload := "--x\r\nContent-Disposition: form-data; name=\"payload\"\r\n\r\n" + task + "\r\n"
	file := func(more string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a\"" + more + "\r\n\r\nhello\r\n"
	}
	large := strings.Repeat("a", 5*mib)
	for name, tc := range map[string]struct {
		body   string
		status int
	}{
		"usual":                  {payload + file("\r\nContent-Type: text/plain"), 200},
		"some headers":           {payload + file("\r\nA: "+strings.Repeat("a", 8<<10)), 200},
		"one large header":       {payload + file("\r\nA: "+large), 413},
		"many headers":           {payload + file(strings.Repeat("\r\nA: a", 9000)), 400},
		"many of one name":       {payload + file("\r\nContent-Type: a/b"+strings.Repeat("\r\nContent-Type: a/b", 9000)), 413},
		"large types":            {payload + file("\r\nContent-Type: a/"+large) + file("\r\nContent-Type: b/"+large), 413},
		"a long type":            {payload + file("\r\nContent-Type: a/"+large[:8000]), 200},
		"a large name of a part": {payload + "--x\r\nContent-Disposition: form-data; name=\"" + large + "\"\r\n\r\n\r\n", 413},
		"a long name of a part":  {payload + "--x\r\nContent-Disposition: form-data; name=\"" + strings.Repeat("\x7f", 8000) + "\"\r\n\r\n\r\n", 400},
		"much before the first":  {strings.Repeat("a\r\n", 3*mib) + payload, 413},
		"a little before":        {"This is a form.\r\n" + payload, 200},
		"a form in a form":       {payload + file("\r\nContent-Type: multipart/mixed; boundary=y") + strings.Repeat("--y\r\n", 1000), 200},
	} {
		status, p := e.post(t, "multipart/form-data; boundary=x", strings.NewReader(tc.body+"--x--\r\n"))
		if status != tc.status {
			t.Errorf("%s: %d %.300s", name, status, p.Error)
		}
		if len(p.Error) > 4096 {
			t.Errorf("%s: the answer has %d bytes", name, len(p.Error))
		}
		if n := kept.Swap(0); n > 1024 {
			t.Errorf("%s: the task holds %d bytes of names and types", name, n)
		}
		if left, err := os.ReadDir(e.uploads); err != nil || len(left) != 0 {
			t.Errorf("%s: %d folders are left: %v", name, len(left), err)
		}
	}
}

// countingDoor counts who comes.
type countingDoor struct {
	testAuth
	n atomic.Int64
}

func (d *countingDoor) Lookup(ctx context.Context, token string) (persistence.Account, error) {
	defer d.n.Add(1)
	return d.testAuth.Lookup(ctx, token)
}

// TestPipelinedRequestsThatNobodyReads: a client that sends requests without end and
// reads no answer is served as far as its connection takes answers, and no further.
func TestPipelinedRequestsThatNobodyReads(t *testing.T) {
	beside(t)
	d := &countingDoor{}
	e := openServer(t, &fakeActors{}, func(c *http.Config) { c.Auth, c.WriteTimeout = d, time.Second })
	c := e.dial(t, nil)
	one := "GET /v1/usage?" + strings.Repeat("a", 2000) + " HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\nX-Request-Id: " + strings.Repeat("a", 128) + "\r\n\r\n"
	_ = c.SetWriteDeadline(time.Now().Add(hang))
	var sent int64
	for sent < 200*mib { // more than the kernel takes on its own
		n, err := io.WriteString(c, one)
		sent += int64(n)
		if err != nil {
			break
		}
	}
	if sent >= 200*mib {
		t.Errorf("%d MiB of requests were taken, of which no answer was read; %d were answered", sent>>20, d.n.Load())
	}
}
