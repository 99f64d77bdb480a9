package http_test

import (
	"bytes"
	"context"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
)

func withKey(key string) func(*nethttp.Request) {
	return func(r *nethttp.Request) { r.Header.Set("Idempotency-Key", key) }
}

// TestDigest: two requests are the same when they mean the same.
func TestDigest(t *testing.T) {
	c := &fakeActors{}
	e := openServer(t, c)
	send := func(payload string, files ...string) string {
		parts := []part{{name: "payload", data: []byte(payload)}}
		for _, f := range files {
			parts = append(parts, part{name: "files", file: "a.txt", data: []byte(f)})
		}
		kind, body := form(parts...)
		if status, p := e.post(t, kind, body, withKey("k")); status != 200 {
			t.Fatalf("%s: %d %+v", payload, status, p)
		}
		m := c.seen[len(c.seen)-1]
		if m.Idempotency.Key != "k" || len(m.Idempotency.Digest) != 32 {
			t.Fatalf("the actors see %+v", m.Idempotency)
		}
		return string(m.Idempotency.Digest)
	}
	const plain = `{"timeout":1000,"actions":[{"fill":["#a","x"],"options":{"timeout":10}},{"wait":5}]}`
	first := send(plain)
	for _, same := range []string{
		`{"actions":[{"options":{"timeout":10},"fill":["#a","x"]},{"wait":5}],"timeout":1000}`,
		` { "timeout" : 1000.0 , "actions":[{"fill":["\u0023a","x"],"options":{"timeout":10}},` + "\n" + `{"wait":5}]}`,
	} {
		if send(same) != first {
			t.Errorf("it is taken for something else: %s", same)
		}
	}
	for _, other := range []string{
		`{"timeout":1001,"actions":[{"fill":["#a","x"],"options":{"timeout":10}},{"wait":5}]}`,
		`{"timeout":1000,"actions":[{"wait":5},{"fill":["#a","x"],"options":{"timeout":10}}]}`,
		`{"timeout":1000,"actions":[{"fill":["#a","X"],"options":{"timeout":10}},{"wait":5}]}`,
		`{"timeout":1000,"actions":[{"fill":["#a","x"],"options":{"timeout":10}},{"wait":5}],"config":{}}`,
	} {
		if send(other) == first {
			t.Errorf("it is taken for the same: %s", other)
		}
	}
	seen := map[string]string{first: "none"}
	for _, files := range [][]string{{""}, {"one"}, {"two"}, {"one", "two"}, {"two", "one"}, {"onetwo"}} {
		sum, name := send(plain, files...), strings.Join(files, "+")
		if was, ok := seen[sum]; ok {
			t.Errorf("the files %q are taken for %q", name, was)
		}
		seen[sum] = name
		if send(plain, files...) != sum {
			t.Errorf("the files %q differ from themselves", name)
		}
	}
}

// TestRepeatedAnswerIsTheFirst, byte for byte.
func TestRepeatedAnswerIsTheFirst(t *testing.T) {
	var kept *api.Executed
	c := &fakeActors{execute: func(_ context.Context, m *api.Execute) (*api.Executed, error) {
		if kept == nil {
			kept = done(m)
		}
		return kept, nil
	}}
	e := openServer(t, c)
	var bodies [2][]byte
	for i := range bodies {
		conn := e.dial(t, nil)
		_, _ = io.WriteString(conn, strings.Replace(taskRequest(), "\r\n", "\r\nIdempotency-Key: k\r\nConnection: close\r\n", 1))
		all, err := io.ReadAll(conn)
		if err != nil {
			t.Fatal(err)
		}
		_, bodies[i], _ = bytes.Cut(all, []byte("\r\n\r\n"))
	}
	if len(bodies[0]) == 0 || !bytes.Equal(bodies[0], bodies[1]) {
		t.Errorf("the answers are\n%s\n%s", bodies[0], bodies[1])
	}
}

// TestVanishedClientWithAKey: its task goes on, for who repeats the request.
func TestVanishedClientWithAKey(t *testing.T) {
	beside(t)
	w := newWaiting()
	e := openServer(t, w)
	conn := e.dial(t, nil)
	_, _ = io.WriteString(conn, strings.Replace(taskRequest(), "\r\n", "\r\nIdempotency-Key: k\r\n", 1))
	<-w.started
	_ = conn.Close()
	select {
	case err := <-w.ends:
		t.Fatalf("the task ended with %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	close(w.finish)
	if err := <-w.ends; err != nil {
		t.Errorf("the task ended with %v", err)
	}
}
