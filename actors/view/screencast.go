package view

import (
	"context"
	"sync"

	"troupe/actors/api"
	"troupe/engine"
)

// scene is whose a browser is now, and for how long: what is seen in it is the
// account's, until any of this changes.
type Scope struct {
	Account string // empty: nobody's, and nothing may be seen
	Session string
	Task    string // empty: a session waits for its next task
	Browser Browser
}

// scopeBrowser is a browser that may be seen.
type Browser interface {
	Instance() engine.Instance // what it plays on; nil before it is up
	Lost() bool                // it has ended
}

// sight lets accounts see what is theirs in one worker's browser.
//
// The worker tells it of each scene before it begins, and the one before has
// ended by then: a picture is handed on under the lock that the scene is changed
// under, and only to watchers of the scene that it was taken in. So nobody gets
// a picture of a browser that is not theirs any more, however late it comes.
type Screencast struct {
	spec api.WorkerSpec
	run  func(func()) // starts what goes on beside the caller

	mu       sync.Mutex
	scope    Scope
	stream   *stream // nil: nobody watches
	watchers map[*Watcher]struct{}
}

// cast is what the engine shows of one scene, for all who watch it.
type stream struct {
	cancel context.CancelFunc
	last   []byte // the newest picture, for who comes now
}

// Why a picture has come to its end.
const (
	TaskEnded    = "task_ended"
	SessionEnded = "session_ended"
	BrowserGone  = "browser_gone"
)

// Watcher gets the pictures of a browser, as long as it shows what may be seen.
type Watcher struct {
	Worker, WorkerName string
	Task, Session      string // when the watching began

	screencast *Screencast // nil: the browser is on another node
	object     string
	left       func() // then: what Close does
	ended      sync.Once
	shown      chan []byte
	over       chan struct{}
	why        string
}

// NewWatcher returns one of a browser of another node: whoever makes it shows the
// pictures and says when it is over. Left is called when nobody watches any more.
func NewWatcher(about Watching, left func()) *Watcher {
	return &Watcher{
		Worker: about.Worker, WorkerName: about.WorkerName, Task: about.Task, Session: about.Session,
		left: left, shown: make(chan []byte, 1), over: make(chan struct{}),
	}
}

// Watching is what is watched, when the watching began.
type Watching struct {
	Worker     string `json:"Worker"`
	WorkerName string `json:"WorkerName"`
	Task       string `json:"Task"`
	Session    string `json:"Session"`
}

// Show hands a picture on. One that was not taken goes. It must not be called
// from several goroutines.
func (w *Watcher) Show(picture []byte) {
	select {
	case <-w.shown:
	default:
	}
	w.shown <- picture
}

// End ends a watching from another node, and says why.
func (w *Watcher) End(why string) {
	w.ended.Do(func() {
		w.why = why
		close(w.over)
	})
}

// Pictures holds the newest picture.
func (w *Watcher) Pictures() <-chan []byte { return w.shown }

// Over is closed when there will be no more.
func (w *Watcher) Over() <-chan struct{} { return w.over }

// Why says why it is over.
func (w *Watcher) Why() string {
	<-w.over
	return w.why
}

// Close ends the watching. It may be called more than once.
func (w *Watcher) Close() {
	s := w.screencast
	if s == nil {
		w.left()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(w, "")
}

// Change lets the next scene begin. What it costs a worker that nobody watches
// is the lock.
func (s *Screencast) Change(to Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.scope
	s.scope = to
	if len(s.watchers) == 0 || was == to {
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
	for w := range s.watchers {
		switch {
		case why != "":
			s.remove(w, why)
		case w.object == was.Task && was.Task != to.Task:
			s.remove(w, TaskEnded)
		}
	}
}

// dismiss ends a watcher, and the cast with the last one. The caller holds s.mu.
func (s *Screencast) remove(w *Watcher, why string) {
	if _, there := s.watchers[w]; !there {
		return
	}
	delete(s.watchers, w)
	w.why = why
	close(w.over)
	if len(s.watchers) == 0 && s.stream != nil {
		s.stream.cancel()
		s.stream = nil
	}
}

// admit lets an account watch an object: the worker, or the session or the task
// that has it. It gives nil where there is nothing of the account's to see.
func (s *Screencast) admit(m *Watch) (*Watcher, *api.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.scope
	if now.Account == "" || now.Account != m.Account.ID && !m.All || m.Object != s.spec.ID && m.Object != now.Session && m.Object != now.Task {
		return nil, nil
	}
	if s.stream == nil && !s.begin(now) {
		return nil, api.Refuse(engine.CodeWorkerOffline, "its browser shows no pictures")
	}
	w := &Watcher{
		Worker: s.spec.ID, WorkerName: s.spec.Name, Task: now.Task, Session: now.Session,
		screencast: s, object: m.Object, shown: make(chan []byte, 1), over: make(chan struct{}),
	}
	if s.watchers == nil {
		s.watchers = map[*Watcher]struct{}{}
	}
	s.watchers[w] = struct{}{}
	if s.stream.last != nil {
		w.shown <- s.stream.last
	}
	return w, nil
}

// begin lets the engine show the present scene. The caller holds s.mu, and so
// the scene is the same until the engine has begun.
func (s *Screencast) begin(now Scope) bool {
	inst := now.Browser.Instance()
	shows := engine.ScreencasterOf(inst)
	if shows == nil {
		return false
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &stream{cancel: cancel}
	s.stream = k
	shown := shows.Screencast(ctx, Options())
	s.run(func() {
		defer cancel()
		for p := range shown {
			s.show(k, p)
		}
		s.ended(k)
	})
	return true
}

// show hands a picture on to all who watch the cast that it comes from.
func (s *Screencast) show(k *stream, picture []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != k { // it comes too late
		return
	}
	k.last = picture
	for w := range s.watchers {
		select {
		case <-w.shown: // one that was not taken
		default:
		}
		w.shown <- picture // there is room: nobody else writes
	}
}

// ended dismisses whoever watches a cast that the engine has ended.
func (s *Screencast) ended(k *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != k {
		return
	}
	for w := range s.watchers {
		s.remove(w, BrowserGone)
	}
}

// sights are those of all workers.
type Screencasts struct {
	mu  sync.RWMutex
	all map[string]*Screencast
}

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

func (s *Screencasts) Remove(worker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, worker)
}

// Watch asks to see what is played or held on a worker: by the worker's
// identifier, or that of the session or the task there. An account sees what is
// its own, and All what is anybody's: that is for the operator.
type Watch struct {
	Account api.Account `json:"Account"`
	All     bool        `json:"All"`
	Object  string      `json:"Object"`
}

// Watch finds the worker that has what is to be seen.
func (all *Screencasts) Watch(m *Watch) (*Watcher, *api.Refusal) {
	all.mu.RLock()
	defer all.mu.RUnlock()
	for _, s := range all.all {
		if w, no := s.admit(m); w != nil || no != nil {
			return w, no
		}
	}
	return nil, api.Refuse(engine.CodeNotFound, "nothing of the account runs or is held there now")
}
