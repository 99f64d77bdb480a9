package view

import (
	"context"
	"encoding/json"
	"errors"

	"troupe/actors/api"
	"troupe/engine"
)

// newsMost is how many pieces of news a reader may be behind.
const newsMost = 1000

// ErrBehind is the error of a reader that was too slow. The client must start a
// new one.
var ErrBehind = errors.New("the reader was too slow")

// News is one thing that has changed; one of Worker, Gone, Task and Step is set.
type News struct {
	Seq    uint64             `json:"Seq"`
	Worker *api.WorkerInfo    `json:"Worker"`
	Gone   string             `json:"Gone"` // the worker that was removed
	Task   *TaskNews          `json:"Task"` // it has begun, or ended; in the news of its end without steps
	Step   *engine.StepReport `json:"Step"`
	TaskID string             `json:"TaskID"` // of the step
}

// Reading follows an account's tasks and workers. [Reader] implements it for one
// node.
type Reading interface {
	// Begin returns the present state, and the number of the last news before it.
	Begin() (seq uint64, workers []api.WorkerInfo, tasks []TaskNews)
	// Next returns what has changed since, in its order, and waits until ctx ends
	// for something to change. After [ErrBehind] it is over.
	Next(ctx context.Context) ([]News, error)
	Close()
}

// Reader follows an account's tasks and workers on this node.
type Reader struct {
	// Seq, Workers and Tasks are the present state. All news come after it.
	Seq     uint64
	Workers []api.WorkerInfo
	Tasks   []TaskNews

	feed    *Feed
	account string
	all     bool
	wake    chan struct{}
	waiting []News // guarded by the feed's lock
	behind  bool
}

// Read makes a reader. It returns the present state and follows every change
// after it.
func (f *Feed) Read(account string, all bool, tasks int) *Reader {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &Reader{feed: f, account: account, all: all, wake: make(chan struct{}, 1), Seq: f.seq}
	for _, id := range f.order {
		if info, may := f.workers[id].VisibleTo(account, all); may {
			r.Workers = append(r.Workers, info)
		}
	}
	r.Tasks = f.tasks(account, all, tasks)
	if f.readers == nil {
		f.readers = map[*Reader]struct{}{}
	}
	f.readers[r] = struct{}{}
	return r
}

// tell appends news for a reader. The caller holds f.mu.
func (f *Feed) tell(r *Reader, n News) {
	if r.behind {
		return
	}
	if len(r.waiting) >= newsMost {
		r.behind, r.waiting = true, nil
	} else {
		f.seq++
		n.Seq = f.seq
		r.waiting = append(r.waiting, n)
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// tellTask tells of the beginning or the end of a task. The caller holds f.mu.
func (f *Feed) tellTask(t *TaskNews, ended bool) {
	for r := range f.readers {
		if r.account != t.Account && !r.all {
			continue
		}
		news := t.as(r.account)
		if ended {
			news.Steps = nil
		}
		f.tell(r, News{Task: &news})
	}
}

// Begin is part of [Reading]. It gives its result away and may be called once.
func (r *Reader) Begin() (uint64, []api.WorkerInfo, []TaskNews) {
	workers, tasks := r.Workers, r.Tasks
	r.Workers, r.Tasks = nil, nil
	return r.Seq, workers, tasks
}

// Next returns what has changed since the last call, in its order, and waits
// until ctx ends for something to change.
func (r *Reader) Next(ctx context.Context) ([]News, error) {
	for {
		r.feed.mu.Lock()
		news, behind := r.waiting, r.behind
		r.waiting = nil
		r.feed.mu.Unlock()
		switch {
		case behind:
			return nil, ErrBehind
		case len(news) > 0:
			return news, nil
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Close ends the reading.
func (r *Reader) Close() {
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
