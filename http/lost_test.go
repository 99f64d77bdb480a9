package http_test

import (
	"context"
	"io"
	"testing"

	"troupe/actors"
	"troupe/engine"
)

// TestALostTaskIsNotRepeated: nobody knows how far it was.
func TestALostTaskIsNotRepeated(t *testing.T) {
	beside(t)
	e := open(t, &company{execute: func(_ context.Context, m *actors.Execute) (*actors.Executed, error) {
		return &actors.Executed{TaskID: m.TaskID, Outcome: &engine.Outcome{End: engine.EndLost}}, nil
	}})
	c := e.dial(t, nil)
	_, _ = io.WriteString(c, taskRequest())
	r, p := answer(t, c)
	if r.StatusCode != 200 || p.Code != string(engine.CodeWorkerLost) || *p.Success || p.Retryable == nil || *p.Retryable {
		t.Errorf("the answer is %d %+v", r.StatusCode, p)
	}
}
