package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
	"troupe/engine/egress"
	"troupe/engine/lang"
)

// Chromium is the real [Engine].
type Chromium struct {
	Options browser.Options
	// Egress fetches the URLs of uploadFile. Nil: the worker's own door to the
	// proxy does; without a proxy, uploads by URL are refused.
	Egress Fetcher
	// Quota is how many bytes one task may move. Zero: any number.
	Quota int64
	// Group names the browser that a worker shares with all others of the same
	// name; with an empty name, and where Group is nil, it has one of its own.
	Group func(worker string) string
	// Mixed says that workers of several accounts may share a browser at one
	// time. It has one clipboard, so that nothing can be pasted in it.
	Mixed bool
	// Isolation is what the next task on a worker may find; empty: IsolateTask.
	Isolation Isolation
	// Proxies are those that tasks may name; nil: none.
	Proxies *Proxies
	// NoBypass switches byPassChallenge off.
	NoBypass bool
	Log      zerolog.Logger

	out    *egress.Proxy // nil: browsers have no proxy (tests only)
	groups browserGroups
	pace   pace
}

// instance is a browser that plays one task at a time.
type instance struct {
	engine  *Chromium
	browser *browser.Browser
	tenant  *tenant      // nil: the browser is the worker's own
	door    *egress.Door // nil: there is no proxy
	proxy   string       // of the worker's contexts; empty: the browser's
	egress  Fetcher

	mu     sync.Mutex
	tabs   *browser.Context
	closed []browser.TabState // of a restored session: to be opened by the next Play
	lost   int                // storages that its state did not have
	refs   *references        // that its snapshots have given
	used   *usedSecrets       // by tasks of the session

	cold     *coldContext   // what can be made ready in a new context; nil: nothing, or a task has it
	requests *requestConfig // what holds for the requests of its pages; nil: nothing
	through  string         // the proxy that its pages are reached through; empty: none

	keeps keeps // of Play and Reset, which never run at one time

	using sync.Mutex // of what acts in the context: Play, Reset, and what reads all of it

	// See Run. Tests of what pages are found to be have more patience than the
	// service: the machine may stand still for longer than grace, pages with it.
	unbatched bool
	patience  time.Duration
}

func (in *instance) Gone() <-chan struct{} {
	if in.tenant != nil {
		return in.tenant.gone
	}
	return in.browser.Gone()
}

// Check asks the browser for its version. For a worker that has left a shared
// browser it fails, even if the browser goes on.
func (in *instance) Check(ctx context.Context) error {
	if in.dead() {
		return browser.ErrGone
	}
	return in.browser.Ping(ctx)
}

// Memory is the worker's part where several workers share the browser.
func (in *instance) Memory() int64 {
	if in.tenant != nil {
		return in.tenant.memory()
	}
	return in.browser.Memory()
}

func (in *instance) Close() {
	if in.tenant != nil {
		in.tenant.end(in.context())
	} else {
		in.browser.Close()
	}
	if in.door != nil {
		in.door.Close()
	}
}

// PID is the number of the browser's main process, for fault tests.
func (in *instance) PID() int { return in.browser.PID() }

func (in *instance) context() *browser.Context {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.tabs
}

// references are those of the session.
func (in *instance) references() *references {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.refs == nil {
		in.refs = new(references)
	}
	return in.refs
}

// usedSecrets are those of the session.
func (in *instance) usedSecrets() *usedSecrets {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.used == nil {
		in.used = new(usedSecrets)
	}
	return in.used
}

// Play runs the task's list.
func (in *instance) Play(ctx context.Context, t *Task, st TaskEnv) *Outcome {
	began := time.Now()
	in.using.Lock() // a profile may just be saved
	defer in.using.Unlock()
	cache := st.Cache
	if cache == nil {
		cache = NewCache()
	}
	if t.item != nil {
		cache.Set(itemKey, t.item)
	}
	err := in.forAccount(ctx, st.Account)
	if err == nil {
		err = in.warmed(ctx)
	}
	if err == nil {
		err = in.isolate(ctx, t, st)
	}
	tabs := in.context()
	if err != nil {
		go in.Close() // nobody can be let into it
		return &Outcome{End: EndCrashed, Failures: []Failure{{Code: CodeBrowserCrashed, Text: "The browser could not be prepared for the task"}}, Duration: time.Since(began)}
	}
	if err := in.putProfile(ctx, st); err != nil {
		return withoutProfile(ctx, err, time.Since(began))
	}
	if st.Profile != nil {
		st.Profile.Loaded = true
	}
	ctx, traffic, end := in.measured(ctx)
	defer end()
	r := newRun(t, st, tabs, cache)
	r.engine, r.egress, r.patience, r.began, r.refs = in.engine, in.egress, in.patience, began, in.references()
	r.goesOnWith(in.usedSecrets())
	r.batches.off = in.unbatched || t.Config.FullTrace
	tabs.Mask(r.mask)
	defer r.observe()()
	if t.Config.HAR != nil {
		r.archive = tabs.Network.Record(ctx, !t.Config.HAR.NoBodies)
		defer tabs.Network.Unwatch()
	} else if t.network {
		tabs.Network.Watch()
		defer tabs.Network.Unwatch()
	}
	if t.SetsUp() { // what it leaves goes with the context, although no action has used that
		tabs.Touch()
	}
	tabs.ForgetElements()
	tabs.Transfers.BeginTask(t.Config.RefuseDownloads)
	r.beginDialogs()
	ctx, left := r.beginSites(ctx)
	defer left()
	stopped, restored := true, false
	if in.goThrough(r, st) && r.surround(ctx) && in.rules(ctx, r) {
		restored = in.reopen(ctx, r)
		if st.Client != nil {
			stopped = in.serve(ctx, r)
		} else {
			stopped = r.play(ctx)
		}
	}
	if !stopped && ctx.Err() == nil {
		r.captures.collect(ctx, 0)
	}
	cache.expectNothing()
	took := time.Since(began)
	after, end := context.WithTimeout(context.WithoutCancel(ctx), aftermath+in.patience)
	defer end()
	r.letGo(after)
	r.cutOff(ctx, after)
	r.effects.collect(ctx)
	r.effects.stillArriving()
	o := in.outcome(ctx, r, took, stopped)
	o.Restored, o.Page = restored, r.navigation.lastPage(after)
	o.Dialogs, o.Downloads, o.Pictures = r.effects.dialogs, r.effects.downloads, r.effects.pictures
	r.evidence.keep(after, o)
	r.film.keep(after, o)
	r.collect(o)
	r.keepHAR(after, o)
	r.saveProfile(ctx, o)
	r.warnUnread()
	o.Warnings, o.Truncated = r.reports.warnings, r.reports.truncated()
	o.First, o.Done = lang.Short(r.navigation.first, 2<<10), r.done
	if t.Config.Trace {
		o.Traffic = traffic()
	}
	leave(r.mask, o)
	in.keeps.after = in.keeps.after && o.End == EndCompleted // else something may have been half done
	return o
}

// outcome sums the run up.
func (in *instance) outcome(ctx context.Context, r *Run, took time.Duration, stopped bool) *Outcome {
	o := &Outcome{End: EndCompleted}
	switch {
	case r.crashed || in.dead():
		o.End = EndCrashed
		go in.Close() // a page whose process died leaves a browser that cannot be trusted
	case ending(ctx) != "":
		o.End = EndStopped
		r.tabs.Abort()
		if !r.told(ending(ctx)) {
			r.wasEnded(ctx, nil)
		}
	case ctx.Err() != nil:
		o.End = EndOf(ctx)
		r.tabs.Abort()
	case stopped:
		o.End = EndStopped
	}
	if o.End == EndCrashed && !r.told(CodeBrowserCrashed) {
		r.reports.failed(Failure{Code: CodeBrowserCrashed, Text: "The browser crashed", Path: r.path}, true)
	}
	if o.End != EndCompleted { // what there is so far
		r.last = r.good
	}
	o.Failures, o.Failed = r.reports.errors(), r.reports.first
	if o.Data, o.Last = r.captures.results(); r.returned != nil {
		o.Data, o.Last = r.returned, nil
	}
	if r.task.Config.Trace {
		o.Steps = r.reports.steps
	}
	o.Duration = took
	return o
}

func (in *instance) dead() bool {
	return ended(in.browser) || ended(in)
}

// told reports whether the last failure says already that this was the end.
func (r *Run) told(code Code) bool {
	f := r.reports.latest()
	return f != nil && f.Code == code
}

// Reset gives the next task a context of its own and disposes of the old one, or
// cleans the old one where the next task may have it.
func (in *instance) Reset(ctx context.Context) error {
	in.using.Lock()
	defer in.using.Unlock()
	old := in.context()
	if !old.Used() {
		in.mu.Lock()
		in.through = "" // the next task says so to the door
		in.mu.Unlock()
		return nil
	}
	if in.keep(ctx, old) {
		return nil
	}
	return in.replace(ctx, old)
}

// replace puts a new context in the place of one.
func (in *instance) replace(ctx context.Context, old *browser.Context) error {
	began := time.Now()
	if err := old.Close(ctx); err != nil {
		return err
	}
	// Of a context that was cleaned and not used since, nothing is in the clipboard.
	if cleaned := in.keeps.waits && in.engine.Isolation == IsolateAccount; !cleaned {
		if err := in.browser.WipeClipboard(ctx); err != nil {
			return err
		}
	}
	c, err := in.newContext(ctx, in.browser)
	if err != nil {
		return err
	}
	if in.door != nil {
		in.door.Renew() // last, when the browser has closed the old context's connections
	}
	in.mu.Lock()
	in.tabs, in.closed, in.refs, in.used, in.requests, in.through = c, nil, nil, nil, nil, ""
	in.cold = &coldContext{withActions: old.Handled()}
	in.mu.Unlock()
	in.keeps = keeps{}
	in.engine.pace.replaced.Add(time.Since(began))
	return nil
}

// Save reads what the session needs to continue in another browser.
func (in *instance) Save(ctx context.Context) (json.RawMessage, error) {
	in.using.Lock()
	defer in.using.Unlock()
	in.mu.Lock()
	tabs, closed, lost, requests, through := in.tabs, in.closed, in.lost, in.requests, in.through
	in.mu.Unlock()
	s, err := tabs.Snapshots.Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("saving the session's browser state: %w", err)
	}
	s.References, s.Secrets = in.references().free()-1, in.usedSecrets().all()
	if closed != nil { // still waiting for the session's next request
		s.Tabs, s.Left = closed, s.Left+lost
	}
	s.Sites, s.Around, s.Proxy = tabs.Sites.Lists(), tabs.Surrounded(), through
	if requests != nil {
		if s.Requests, err = json.Marshal(requests); err != nil {
			return nil, fmt.Errorf("saving the session's rules for requests: %w", err)
		}
	}
	return json.Marshal(s)
}

// Restore puts a session's state back. Its tabs are opened by the next Play:
// nothing is loaded that no client asked for.
func (in *instance) Restore(ctx context.Context, state, profile json.RawMessage) error {
	s, err := restoredState(state, profile)
	if err != nil {
		return err
	}
	if s.Around != nil {
		if err := in.context().Surround(ctx, s.Around); err != nil {
			return err
		}
	}
	if err := in.context().Snapshots.Restore(ctx, s); err != nil {
		return err
	}
	for _, list := range s.Sites {
		addSites(in.context(), list)
	}
	in.references().restore(s.References)
	in.usedSecrets().add(s.Secrets...)
	requests, err := parseRequests(s.Requests)
	if err != nil {
		return err
	}
	in.mu.Lock()
	in.requests, in.through = requests, s.Proxy
	in.closed, in.lost = s.Tabs, s.Left
	if in.closed == nil {
		in.closed = []browser.TabState{}
	}
	in.mu.Unlock()
	return nil
}

// reopen opens the tabs of a session that was restored.
func (in *instance) reopen(ctx context.Context, r *Run) (restored bool) {
	in.mu.Lock()
	closed, lost := in.closed, in.lost
	in.closed, in.lost = nil, 0
	in.mu.Unlock()
	if closed == nil {
		return false
	}
	if lost > 0 {
		r.path = ""
		r.warn("the session was restored, but not all of it: %d of the storages of its sites were too large together to be kept", lost)
	}
	if err := r.tabs.Snapshots.Reopen(ctx, closed); err != nil && ctx.Err() == nil {
		r.path = ""
		r.warn("the session was restored, but not all of it: %s", ErrorText(err))
	}
	return true
}
