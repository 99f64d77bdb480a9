package actors

import (
	"context"
	"sync"

	"troupe/actors/api"
	"troupe/engine"
)

// scene is whose a browser is now, and for how long: what is seen in it is the
// account's, until any of this changes.
type scene struct {
	account string // empty: nobody's, and nothing may be seen
	session string
	task    string // empty: a session waits for its next task
	browser scopeBrowser
}

// scopeBrowser is a browser that may be seen.
type scopeBrowser interface {
	Instance() engine.Instance // what it plays on; nil before it is up
	Lost() bool                // it has ended
}

// sight lets accounts see what is theirs in one worker's browser.
//
// The worker tells it of each scene before it begins, and the one before has
// ended by then: a picture is handed on under the lock that the scene is changed
// under, and only to watchers of the scene that it was taken in. So nobody gets
// a picture of a browser that is not theirs any more, however late it comes.
type sight struct {
	spec api.WorkerSpec
	run  func(func()) // starts what goes on beside the caller

	mu       sync.Mutex
	scene    scene
	cast     *cast // nil: nobody watches
	watchers map[*Watcher]struct{}
}

// cast is what the engine shows of one scene, for all who watch it.
type cast struct {
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

	sight  *sight // nil: the browser is on another node
	object string
	left   func() // then: what Close does
	ended  sync.Once
	shown  chan []byte
	over   chan struct{}
	why    string
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
	s := w.sight
	if s == nil {
		w.left()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dismiss(w, "")
}

// change lets the next scene begin. What it costs a worker that nobody watches
// is the lock.
func (s *sight) change(to scene) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.scene
	s.scene = to
	if len(s.watchers) == 0 || was == to {
		return
	}
	why := ""
	switch {
	case was.account != to.account, was.session != to.session, was.session == "" && was.task != to.task:
		if why = TaskEnded; was.session != "" {
			why = SessionEnded
		}
	case was.browser != to.browser:
		why = BrowserGone
	}
	if to.account == "" && was.browser != nil && was.browser.Lost() {
		why = BrowserGone
	}
	for w := range s.watchers {
		switch {
		case why != "":
			s.dismiss(w, why)
		case w.object == was.task && was.task != to.task:
			s.dismiss(w, TaskEnded)
		}
	}
}

// dismiss ends a watcher, and the cast with the last one. The caller holds s.mu.
func (s *sight) dismiss(w *Watcher, why string) {
	if _, there := s.watchers[w]; !there {
		return
	}
	delete(s.watchers, w)
	w.why = why
	close(w.over)
	if len(s.watchers) == 0 && s.cast != nil {
		s.cast.cancel()
		s.cast = nil
	}
}

// admit lets an account watch an object: the worker, or the session or the task
// that has it. It gives nil where there is nothing of the account's to see.
func (s *sight) admit(m *Watch) (*Watcher, *api.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.scene
	if now.account == "" || now.account != m.Account.ID && !m.All || m.Object != s.spec.ID && m.Object != now.session && m.Object != now.task {
		return nil, nil
	}
	if s.cast == nil && !s.begin(now) {
		return nil, api.Refuse(engine.CodeWorkerOffline, "its browser shows no pictures")
	}
	w := &Watcher{
		Worker: s.spec.ID, WorkerName: s.spec.Name, Task: now.task, Session: now.session,
		sight: s, object: m.Object, shown: make(chan []byte, 1), over: make(chan struct{}),
	}
	if s.watchers == nil {
		s.watchers = map[*Watcher]struct{}{}
	}
	s.watchers[w] = struct{}{}
	if s.cast.last != nil {
		w.shown <- s.cast.last
	}
	return w, nil
}

// begin lets the engine show the present scene. The caller holds s.mu, and so
// the scene is the same until the engine has begun.
func (s *sight) begin(now scene) bool {
	inst := now.browser.Instance()
	shows := engine.ScreencasterOf(inst)
	if shows == nil {
		return false
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &cast{cancel: cancel}
	s.cast = k
	shown := shows.Screencast(ctx, View())
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
func (s *sight) show(k *cast, picture []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cast != k { // it comes too late
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
func (s *sight) ended(k *cast) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cast != k {
		return
	}
	for w := range s.watchers {
		s.dismiss(w, BrowserGone)
	}
}

// sights are those of all workers.
type sights struct {
	mu  sync.RWMutex
	all map[string]*sight
}

func (s *sights) add(spec api.WorkerSpec, run func(func())) *sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*sight{}
	}
	one := &sight{spec: spec, run: run}
	s.all[spec.ID] = one
	return one
}

func (s *sights) remove(worker string) {
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

// watch finds the worker that has what is to be seen.
func (all *sights) watch(m *Watch) (*Watcher, *api.Refusal) {
	all.mu.RLock()
	defer all.mu.RUnlock()
	for _, s := range all.all {
		if w, no := s.admit(m); w != nil || no != nil {
			return w, no
		}
	}
	return nil, api.Refuse(engine.CodeNotFound, "nothing of the account runs or is held there now")
}
