package view

import (
	"context"
	"sync"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// Scope is which account may see a browser, and for how long: until any of its
// fields changes.
type Scope struct {
	Account string // empty: nobody may see it
	Session string
	Task    string // empty: a session waits for its next task
	Browser Browser
}

// Browser is a browser that may be shown.
type Browser interface {
	Instance() engine.Instance // what it plays on; nil before it is up
	Lost() bool                // it has ended
}

// Screencast shows one worker's browser to the account that may see it.
//
// The worker announces each scope before it begins, when the last one has ended.
// A picture is delivered under the lock under which the scope changes, and only
// to viewers of the scope in which it was taken. So no account gets a picture of
// a browser that it may not see any more, however late the picture comes.
type Screencast struct {
	spec api.WorkerSpec
	run  func(func()) // starts a function on another goroutine

	mu      sync.Mutex
	scope   Scope
	stream  *stream // nil: there are no viewers
	viewers map[*Viewer]struct{}
}

// stream is what the engine shows of one scope, for all its viewers.
type stream struct {
	cancel context.CancelFunc
	last   []byte // the newest picture, for new viewers
}

// Why a picture has come to its end.
const (
	TaskEnded    = "task_ended"
	SessionEnded = "session_ended"
	BrowserGone  = "browser_gone"
)

// Viewer gets the pictures of a browser for as long as the account may see it.
type Viewer struct {
	Worker, WorkerName string
	Task, Session      string // when it was opened

	screencast *Screencast // nil: the browser is on another node
	object     string
	left       func() // then: what Close does
	ended      sync.Once
	shown      chan []byte
	done       chan struct{}
	reason     string
}

// NewViewer returns a viewer of a browser of another node. Its maker calls Show
// with the pictures, and End. It calls left when the viewer is closed.
func NewViewer(about ViewedObject, left func()) *Viewer {
	return &Viewer{
		Worker: about.Worker, WorkerName: about.WorkerName, Task: about.Task, Session: about.Session,
		left: left, shown: make(chan []byte, 1), done: make(chan struct{}),
	}
}

// ViewedObject describes what a viewer sees, as of its start.
type ViewedObject struct {
	Worker     string `json:"Worker"`
	WorkerName string `json:"WorkerName"`
	Task       string `json:"Task"`
	Session    string `json:"Session"`
}

// Show delivers a picture, in place of one that was not taken. It must not be
// called from several goroutines.
func (w *Viewer) Show(picture []byte) {
	select {
	case <-w.shown:
	default:
	}
	w.shown <- picture
}

// End ends a viewer of a browser on another node, and says why.
func (w *Viewer) End(why string) {
	w.ended.Do(func() {
		w.reason = why
		close(w.done)
	})
}

// Pictures delivers the newest picture.
func (w *Viewer) Pictures() <-chan []byte { return w.shown }

// Done is closed when there will be no more.
func (w *Viewer) Done() <-chan struct{} { return w.done }

// EndReason says why it has ended.
func (w *Viewer) EndReason() string {
	<-w.done
	return w.reason
}

// Close ends the view. It may be called more than once.
func (w *Viewer) Close() {
	s := w.screencast
	if s == nil {
		w.left()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(w, "")
}

// Change begins the next scope. For a worker without viewers it costs one lock.
func (s *Screencast) Change(to Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.scope
	s.scope = to
	if len(s.viewers) == 0 || was == to {
		return
	}
	why := ""
	switch {
	case was.Account != to.Account, was.Session != to.Session, was.Session == "" && was.Task != to.Task:
		if why = TaskEnded; was.Session != "" {
			why = SessionEnded
		}
	case was.Browser != to.Browser:
		why = BrowserGone
	}
	if to.Account == "" && was.Browser != nil && was.Browser.Lost() {
		why = BrowserGone
	}
	for w := range s.viewers {
		switch {
		case why != "":
			s.remove(w, why)
		case w.object == was.Task && was.Task != to.Task:
			s.remove(w, TaskEnded)
		}
	}
}

// remove ends a viewer, and the stream with the last one. The caller holds s.mu.
func (s *Screencast) remove(w *Viewer, why string) {
	if _, there := s.viewers[w]; !there {
		return
	}
	delete(s.viewers, w)
	w.reason = why
	close(w.done)
	if len(s.viewers) == 0 && s.stream != nil {
		s.stream.cancel()
		s.stream = nil
	}
}

// admit lets an account see an object: the worker, or the session or task on
// it. It returns nil if nothing there is the account's.
func (s *Screencast) admit(m *ScreencastRequest) (*Viewer, *api.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.scope
	if now.Account == "" || now.Account != m.Account.ID && !m.All || m.Object != s.spec.ID && m.Object != now.Session && m.Object != now.Task {
		return nil, nil
	}
	if s.stream == nil && !s.begin(now) {
		return nil, api.Refuse(engine.CodeWorkerOffline, "its browser shows no pictures")
	}
	w := &Viewer{
		Worker: s.spec.ID, WorkerName: s.spec.Name, Task: now.Task, Session: now.Session,
		screencast: s, object: m.Object, shown: make(chan []byte, 1), done: make(chan struct{}),
	}
	if s.viewers == nil {
		s.viewers = map[*Viewer]struct{}{}
	}
	s.viewers[w] = struct{}{}
	if s.stream.last != nil {
		w.shown <- s.stream.last
	}
	return w, nil
}

// begin starts the stream of the present scope. The caller holds s.mu, so the
// scope is the same until the engine has begun.
func (s *Screencast) begin(now Scope) bool {
	inst := now.Browser.Instance()
	shows := engine.ScreencasterOf(inst)
	if shows == nil {
		return false
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &stream{cancel: cancel}
	s.stream = k
	shown := shows.Screencast(ctx, ScreencastOptions())
	s.run(func() {
		defer cancel()
		for p := range shown {
			s.show(k, p)
		}
		s.ended(k)
	})
	return true
}

// show delivers a picture to all viewers of its stream.
func (s *Screencast) show(k *stream, picture []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != k { // it comes too late
		return
	}
	k.last = picture
	for w := range s.viewers {
		select {
		case <-w.shown: // one that was not taken
		default:
		}
		w.shown <- picture // there is room: no other goroutine writes
	}
}

// ended removes the viewers of a stream that the engine has ended.
func (s *Screencast) ended(k *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != k {
		return
	}
	for w := range s.viewers {
		s.remove(w, BrowserGone)
	}
}

// Screencasts are the screencasts of all workers.
type Screencasts struct {
	mu  sync.RWMutex
	all map[string]*Screencast
}

// Add makes the screencast of a worker.
func (s *Screencasts) Add(spec api.WorkerSpec, run func(func())) *Screencast {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*Screencast{}
	}
	one := &Screencast{spec: spec, run: run}
	s.all[spec.ID] = one
	return one
}

// Remove takes out the screencast of a worker.
func (s *Screencasts) Remove(worker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, worker)
}

// A ScreencastRequest asks to see what runs or is held on a worker: by the identifier of the
// worker, or of the session or task on it. An account sees its own; with All,
// which is for the operator, everything.
type ScreencastRequest struct {
	Account api.Account `json:"Account"`
	All     bool        `json:"All"`
	Object  string      `json:"Object"`
}

// Open finds the worker that has the object.
func (all *Screencasts) Open(m *ScreencastRequest) (*Viewer, *api.Refusal) {
	all.mu.RLock()
	defer all.mu.RUnlock()
	for _, s := range all.all {
		if w, no := s.admit(m); w != nil || no != nil {
			return w, no
		}
	}
	return nil, api.Refuse(engine.CodeNotFound, "nothing of the account runs or is held there now")
}

// ScreencastOptions are those of the pictures that viewers get: large enough to follow
// what a page does, and a little more than five a second, which is cheap. See
// docs/performance.md.
func ScreencastOptions() engine.ScreencastOptions {
	return engine.ScreencastOptions{Width: 640, Height: 480, Quality: 60, Every: 190 * time.Millisecond}
}
