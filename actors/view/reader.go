package view

import (
	"context"
	"encoding/json"
	"errors"

	"troupe/actors/api"
	"troupe/engine"
)

// maxBacklog is how many events a reader may be behind.
const maxBacklog = 1000

// ErrBehind is the error of a reader that was too slow. The client must start a
// new one.
var ErrBehind = errors.New("the reader was too slow")

// Event is one thing that has changed; one of Worker, Gone, Task and Step is set.
type Event struct {
	Seq    uint64             `json:"Seq"`
	Worker *api.WorkerInfo    `json:"Worker"`
	Gone   string             `json:"Gone"` // the worker that was removed
	Task   *TaskProgress      `json:"Task"` // it has begun, or ended; the event of its end has no steps
	Step   *engine.StepReport `json:"Step"`
	TaskID string             `json:"TaskID"` // of the step
}

// Subscription follows an account's tasks and workers. [FeedReader] implements it for one
// node.
type Subscription interface {
	// Snapshot returns the present state, and the number of the last event before it.
	Snapshot() (seq uint64, workers []api.WorkerInfo, tasks []TaskProgress)
	// Next returns what has changed since, in its order, and waits until ctx ends
	// for something to change. After [ErrBehind] it is over.
	Next(ctx context.Context) ([]Event, error)
	Close()
}

// FeedReader follows an account's tasks and workers on this node.
type FeedReader struct {
	// Seq, Workers and Tasks are the present state. All events come after it.
	Seq     uint64
	Workers []api.WorkerInfo
	Tasks   []TaskProgress

	feed    *Feed
	account string
	all     bool
	wake    chan struct{}
	backlog []Event // guarded by the feed's lock
	behind  bool
}

// Subscribe makes a reader. It returns the present state and follows every change
// after it.
func (f *Feed) Subscribe(account string, all bool, tasks int) *FeedReader {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &FeedReader{feed: f, account: account, all: all, wake: make(chan struct{}, 1), Seq: f.seq}
	for _, id := range f.order {
		if info, may := f.workers[id].VisibleTo(account, all); may {
			r.Workers = append(r.Workers, info)
		}
	}
	r.Tasks = f.tasks(account, all, tasks)
	if f.readers == nil {
		f.readers = map[*FeedReader]struct{}{}
	}
	f.readers[r] = struct{}{}
	return r
}

// publish appends an event for a reader. The caller holds f.mu.
func (f *Feed) publish(r *FeedReader, n Event) {
	if r.behind {
		return
	}
	if len(r.backlog) >= maxBacklog {
		r.behind, r.backlog = true, nil
	} else {
		f.seq++
		n.Seq = f.seq
		r.backlog = append(r.backlog, n)
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// publishTask publishes the beginning or the end of a task. The caller holds f.mu.
func (f *Feed) publishTask(t *TaskProgress, ended bool) {
	for r := range f.readers {
		if r.account != t.Account && !r.all {
			continue
		}
		progress := t.as(r.account)
		if ended {
			progress.Steps = nil
		}
		f.publish(r, Event{Task: &progress})
	}
}

// Snapshot is part of [Subscription]. It gives its result away and may be called once.
func (r *FeedReader) Snapshot() (uint64, []api.WorkerInfo, []TaskProgress) {
	workers, tasks := r.Workers, r.Tasks
	r.Workers, r.Tasks = nil, nil
	return r.Seq, workers, tasks
}

// Next returns what has changed since the last call, in its order, and waits
// until ctx ends for something to change.
func (r *FeedReader) Next(ctx context.Context) ([]Event, error) {
	for {
		r.feed.mu.Lock()
		events, behind := r.backlog, r.behind
		r.backlog = nil
		r.feed.mu.Unlock()
		switch {
		case behind:
			return nil, ErrBehind
		case len(events) > 0:
			return events, nil
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Close ends the reading.
func (r *FeedReader) Close() {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	delete(r.feed.readers, r)
}

// urlIn reads the address out of the result of a screenshot.
func urlIn(result json.RawMessage) string {
	var picture struct{ URL string }
	if json.Unmarshal(result, &picture) != nil {
		return ""
	}
	return picture.URL
}
