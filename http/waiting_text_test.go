package http_test

import (
	"context"
	"strings"
	"testing"

	"troupe/actors/api"
	"troupe/persistence"
)

// TestRequestsWaitAsText: the actors get a large task as its text, whatever way it comes, so
// that no more of it is in memory while it waits for a worker. It is whole when it is parsed.
func TestRequestsWaitAsText(t *testing.T) {
	beside(t)
	actions := `"actions":[{"wait":1},{"set":{"n":[` + strings.Repeat("1,", 20_000) + `1]}}]`
	runs := `"actions":[{"run":"large"},{"wait":1}]`
	with, store := withFlows(t)
	if _, err := store.Put(t.Context(), "acc1", persistence.Flow{Name: "large", Source: []byte(`{` + actions + `}`)}); err != nil {
		t.Fatal(err)
	}
	var got *api.Execute
	c := &fakeActors{
		execute: func(_ context.Context, m *api.Execute) (*api.Executed, error) {
			got = m
			return done(m), nil
		},
		start: func(_ context.Context, m *api.Execute) (*api.Started, error) {
			got = m
			return &api.Started{TaskID: m.TaskID, WorkerID: "w1"}, nil
		},
	}
	e := openServer(t, c, with)
	for name, body := range map[string]string{
		"a request":                 `{` + actions + `}`,
		"one that waits":            `{"queueTimeout":1000,` + actions + `}`,
		"an asynchronous one":       `{"async":true,` + actions + `}`,
		"one of the queue":          `{"async":true,"queue":true,` + actions + `}`,
		"one of a session":          `{"session":{"preserve":true},` + actions + `}`,
		"one that runs a flow":      `{` + runs + `}`,
		"one with much white space": `{` + strings.Repeat(" ", 20_000) + `"actions":[{"wait":1},{"wait":1}]}`,
	} {
		got = nil
		status, text := call(t, e, "POST", "/v1/", "good", body)
		if status >= 300 || got == nil {
			t.Fatalf("%s: %d %.300s", name, status, text)
		}
		if !got.Task.Unparsed() || got.Task.Steps != nil || got.Task.Actions() != 2 {
			t.Errorf("%s is parsed while it waits", name)
		}
		if task, err := got.Task.Parsed(t.Context()); err != nil || len(task.Steps) != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if status, _ := call(t, e, "POST", "/v1/", "good", `{"actions":[{"wait":1}]}`); status != 200 || got.Task.Unparsed() {
		t.Errorf("a small one is parsed twice: %d", status)
	}
}
