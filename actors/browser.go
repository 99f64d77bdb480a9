package actors

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/fsm"
	"troupe/engine"
)

// browser is one attempt to have a browser, from before its launch to its end.
// Messages carry it, so that messages of an earlier browser are recognised.
type browser struct {
	worker     string
	background *taskGroup
	ctx        context.Context // ends when the browser is not wanted any more
	cancel     context.CancelFunc

	mu     sync.Mutex
	inst   engine.Instance
	closed bool

	upSince time.Time // the rest belongs to the worker
	// restored: it was started for a session that had another one before, and
	// no task of the session knows yet.
	restored bool
	tasks    int
	renewal  *time.Timer

	heavy atomic.Bool // its last check found it over the limit of memory
}

type (
	// launched says how a launch ended. lost: the browser is there, but without
	// the state of its session.
	launched struct {
		browser *browser
		lost    bool
		err     error
	}
	// browserGone says that a browser has died.
	browserGone struct{ browser *browser }
	// renew says that a browser has become old or large.
	renew struct {
		browser *browser
		heavy   bool
	}
	// suspended says that all that could be saved of a session is.
	suspended struct{ browser *browser }
)

// adopt keeps the instance, unless the browser is not wanted any more.
func (b *browser) adopt(inst engine.Instance) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.inst = inst
	return true
}

// unwanted reports whether the browser was closed on purpose: its end needs no
// handling then.
func (b *browser) unwanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// close ends the browser, or the attempt to start it. It waits for nothing.
func (b *browser) close() {
	if b == nil {
		return
	}
	b.mu.Lock()
	inst, was := b.inst, b.closed
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	if b.renewal != nil {
		b.renewal.Stop()
	}
	if inst != nil && !was {
		b.background.Go(inst.Close)
	}
}

// used counts a task.
func (b *browser) used() { b.tasks++ }

// early reports whether the browser ended before it proved that it works.
func (b *browser) early(stable time.Duration) bool {
	return b == nil || b.upSince.IsZero() || b.tasks == 0 && time.Since(b.upSince) < stable
}

// launch starts a browser outside of the mailbox. When a session holds the
// worker, its saved state is restored before anything else uses the browser.
func (w *worker) launch(ctx actor.Context) {
	root, self := ctx.ActorSystem().Root, ctx.Self()
	live, cancel := context.WithCancel(context.Background())
	b := &browser{worker: w.spec.ID, background: &w.node.background, ctx: live, cancel: cancel, restored: w.survives.session.pid != nil}
	w.browser = b
	node, session := w.node, w.survives.session.pid
	node.background.Go(func() {
		inst, err := node.launch(live, b.worker)
		if err != nil {
			root.Send(self, &launched{browser: b, err: err})
			return
		}
		if !b.adopt(inst) {
			inst.Close()
			return
		}
		m := &launched{browser: b}
		if session != nil {
			m.lost, m.err = b.restore(node, session)
		}
		root.Send(self, m)
		b.monitor(node, func(event any) { root.Send(self, event) })
	})
}

// restore puts the session's state into the browser. A browser that died of it
// is one that could not be started; any other failure loses the session.
func (b *browser) restore(n *nodeParts, session *actor.PID) (lost bool, err error) {
	err = restore(b.ctx, n, b.inst, session)
	if err == nil || b.ctx.Err() != nil {
		return false, nil
	}
	if f := new(failure); errors.As(err, &f) { // by our fault: the state is still there
		b.close()
		return false, err
	}
	select {
	case <-b.inst.Gone():
		b.close()
		return false, err
	default:
		n.log.Error().Err(err).Str("worker", b.worker).Msg("session lost: it could not be put back")
		return true, nil
	}
}

func (w *worker) onLaunched(ctx actor.Context, m *launched) {
	if m.browser != w.browser {
		return
	}
	if m.err != nil {
		if !errors.Is(m.err, context.Canceled) { // else the browser was closed on purpose
			w.log.Error().Err(m.err).Msg("browser not started")
		}
		w.apply(ctx, fsm.LaunchFailed{})
		return
	}
	b := w.browser
	b.upSince = time.Now()
	if age := w.node.cfg.Browser.RenewAge; age > 0 {
		root, self := ctx.ActorSystem().Root, ctx.Self()
		b.renewal = time.AfterFunc(age, func() { root.Send(self, &renew{browser: b}) })
	}
	w.apply(ctx, fsm.BrowserUp{Lost: m.lost})
}

// clean resets the browser outside of the mailbox, or replaces it when it is due.
func (w *worker) clean(ctx actor.Context) {
	if w.browser.due(w.node.cfg.Browser) {
		w.browser.close()
		w.launch(ctx)
		return
	}
	root, self, r := ctx.ActorSystem().Root, ctx.Self(), &resetting{node: w.node, began: time.Now()}
	r.send = func(err error) { root.Send(self, &resetDone{r, err}) }
	w.reset = r
	r.run(w.browser.ctx, w.browser.inst)
}

// suspend saves the session that holds the worker, outside of the mailbox.
func (w *worker) suspend(ctx actor.Context) {
	root, self := ctx.ActorSystem().Root, ctx.Self()
	b, inst, node, session := w.browser, w.browser.inst, w.node, w.survives.session.pid
	node.background.Go(func() {
		if p := node.sessions.profileOf(session); p != nil {
			ctx, cancel := context.WithTimeout(b.ctx, profileSaveTime)
			p.saveLogged(ctx, inst, b.worker)
			cancel()
		}
		ctx, cancel := context.WithTimeout(b.ctx, node.cfg.Session.SaveTimeout)
		defer cancel()
		if err := keepSession(ctx, node, inst, session, &sessionKeep{Still: true}); err != nil {
			node.log.Warn().Err(err).Str("worker", b.worker).Msg("session not saved")
		}
		root.Send(self, &suspended{browser: b})
	})
}
