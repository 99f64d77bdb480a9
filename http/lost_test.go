package http_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
)

// TestALostTaskIsNotRepeated: nobody knows how far it was.
func TestALostTaskIsNotRepeated(t *testing.T) {
	beside(t)
	e := openServer(t, &fakeActors{execute: func(_ context.Context, m *api.Execute) (*api.Executed, error) {
		return &api.Executed{TaskID: m.TaskID, Outcome: &engine.Outcome{End: engine.EndLost}}, nil
	}})
	c := e.dial(t, nil)
	_, _ = io.WriteString(c, taskRequest())
	r, p := readAnswer(t, c)
	if r.StatusCode != 200 || p.Code != string(engine.CodeWorkerLost) || *p.Success || p.Retryable == nil || *p.Retryable {
		t.Errorf("the answer is %d %+v", r.StatusCode, p)
	}
}

// TestANodeHasNoAnswerNow: a task that is on another node, which is there and cannot
// say how far it is, is no fault of the service, and may be asked for again.
func TestANodeHasNoAnswerNow(t *testing.T) {
	beside(t)
	no := &api.Refusal{Code: engine.CodeNoQuorum, Text: "The task is on the node n2", RetryAfter: 7 * time.Second}
	e := openServer(t, &fakeActors{poll: func(context.Context, *api.Poll) (*api.Polled, error) {
		return nil, fmt.Errorf("ask about a task: %w: %w", no, errors.New("too much to do"))
	}})
	c := e.dial(t, nil)
	_, _ = io.WriteString(c, pollRequest)
	r, p := readAnswer(t, c)
	if r.StatusCode != 503 || p.Code != string(engine.CodeNoQuorum) || p.Error != no.Text || p.Retryable == nil || !*p.Retryable || r.Header.Get("Retry-After") != "7" {
		t.Errorf("the answer is %d %v %+v", r.StatusCode, r.Header, p)
	}
}

// TestAClientThatLeavesIsNoFault: nothing of it is logged as an error, nor counted as
// one.
func TestAClientThatLeavesIsNoFault(t *testing.T) {
	beside(t)
	var log bytes.Buffer
	refused, waits := make(chan engine.Code, 1), make(chan struct{}, 1)
	e := openServer(t, &fakeActors{execute: func(ctx context.Context, _ *api.Execute) (*api.Executed, error) {
		waits <- struct{}{}
		<-ctx.Done()
		return nil, fmt.Errorf("ask n2: %w", context.Cause(ctx))
	}}, func(cfg *http.Config) {
		cfg.Log = zerolog.New(&log).Level(zerolog.WarnLevel)
		cfg.Refused = func(c engine.Code) { refused <- c }
	})
	c := e.dial(t, nil)
	_, _ = io.WriteString(c, taskRequest())
	<-waits
	_ = c.Close()
	select {
	case code := <-refused:
		if code != engine.CodeCancelled || log.Len() > 0 {
			t.Errorf("it counts as %s, and the log has %s", code, log.Bytes())
		}
	case <-time.After(hang):
		t.Error("its request goes on")
	}
}
