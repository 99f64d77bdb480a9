package testkit

import (
	"context"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// StartAsync starts an asynchronous task that goes as the script says, and fails
// the test if it is refused.
func (k *Kit) StartAsync(a api.Account, t *engine.Task, s Script) *api.Started {
	k.T.Helper()
	x := k.SendAsync(&api.Execute{Account: a, Task: t}, s)
	if x.Refusal != nil {
		k.T.Fatalf("%s was refused with %s (%s)", x.TaskID, x.Refusal.Code, x.Refusal.Text)
	}
	return x
}

// SendAsync starts an asynchronous task by a whole message. It gives the task an
// id if it has none.
func (k *Kit) SendAsync(x *api.Execute, s Script) *api.Started {
	k.T.Helper()
	x = k.scripted(x, s)
	x.Task.Async = true
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	started, err := k.Node.Start(ctx, x, nil)
	if err != nil {
		k.T.Fatalf("start %s: %v", x.TaskID, err)
	}
	return started
}

// Poll asks what has become of an asynchronous task.
func (k *Kit) Poll(a api.Account, task string, wait time.Duration) *api.Polled {
	k.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait+patience)
	defer cancel()
	p, err := api.Ask(ctx, k.Node, &api.Poll{TaskID: task, Account: a, Wait: wait})
	if err != nil {
		k.T.Fatalf("poll %s: %v", task, err)
	}
	return p
}

// Follow asks for the steps of an asynchronous task behind a number.
func (k *Kit) Follow(a api.Account, task string, after int, wait time.Duration) *api.Followed {
	k.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait+patience)
	defer cancel()
	f, err := api.Ask(ctx, k.Node, &api.Follow{TaskID: task, Account: a, After: after, Wait: wait})
	if err != nil {
		k.T.Fatalf("follow %s: %v", task, err)
	}
	return f
}

// WantPoll polls until the wait is over, and fails the test unless the task is
// then in this status.
func (k *Kit) WantPoll(a api.Account, task string, wait time.Duration, s api.TaskStatus) *api.Polled {
	k.T.Helper()
	p := k.Poll(a, task, wait)
	if p.Refusal != nil || p.Status != s {
		k.T.Fatalf("%s is %q (%v), want %s", task, p.Status, p.Refusal, s)
	}
	return p
}
