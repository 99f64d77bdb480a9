package testkit

import (
	"context"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// Request is a task that was sent.
type Request struct {
	ID      string
	Account api.Account

	kit    *Kit
	leave  context.CancelFunc
	done   chan struct{}
	answer *api.Executed
	err    error
}

// Answer waits for the answer.
func (r *Request) Answer() *api.Executed {
	r.kit.T.Helper()
	most := time.NewTimer(patience)
	defer most.Stop()
	select {
	case <-r.done:
	case <-most.C:
		r.kit.T.Fatalf("%s gets no answer", r.ID)
	}
	if r.err != nil {
		r.kit.T.Fatalf("%s failed: %v", r.ID, r.err)
	}
	return r.answer
}

// Answered reports whether the answer is there.
func (r *Request) Answered() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// Leave disconnects the client.
func (r *Request) Leave() { r.leave() }

// Cancel cancels the task, as another client of the account may. It reports
// whether there was such a task.
func (r *Request) Cancel() bool {
	r.kit.T.Helper()
	c, err := api.Ask(context.Background(), r.kit.Node, &api.Cancel{TaskID: r.ID, Account: r.Account, Cause: api.CauseAsked})
	if err != nil {
		r.kit.T.Fatalf("cancel %s: %v", r.ID, err)
	}
	return c.Found
}

// WantEnd waits for the answer and fails the test unless the task ended so.
func (k *Kit) WantEnd(r *Request, end engine.End) *api.Executed {
	k.T.Helper()
	x := r.Answer()
	switch {
	case x.Refusal != nil:
		k.T.Fatalf("%s was refused with %s (%s), want it %s", r.ID, x.Refusal.Code, x.Refusal.Text, end)
	case x.Outcome.End != end:
		k.T.Fatalf("%s ended %s, want %s%s", r.ID, x.Outcome.End, end, failures(x.Outcome))
	}
	return x
}

// WantRefused waits for the answer and fails the test unless it is this
// refusal.
func (k *Kit) WantRefused(r *Request, code engine.Code) *api.Refusal {
	k.T.Helper()
	x := r.Answer()
	switch {
	case x.Refusal == nil:
		k.T.Fatalf("%s ended %s, want it refused with %s", r.ID, x.Outcome.End, code)
	case x.Refusal.Code != code:
		k.T.Fatalf("%s was refused with %s (%s), want %s", r.ID, x.Refusal.Code, x.Refusal.Text, code)
	}
	return x.Refusal
}

// failures are the texts of what failed in a task.
func failures(out *engine.Outcome) (texts string) {
	for _, f := range out.Failures {
		texts += ": " + f.Text
	}
	return texts
}
