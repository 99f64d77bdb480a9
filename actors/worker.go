package actors

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/actors/schedule"
	"troupe/actors/view"
)

// survivingState is what a worker keeps when it is restarted after a panic.
type survivingState struct {
	cond    fsm.Condition
	seq     uint64 // of the last claim it has seen
	started bool   // its first launch was allowed

	recovered *recoveredSession // what it goes on with and has no actor yet
	session   heldSession
}

// heldSession is the actor of the session that holds a worker, with the session's
// identifier and account. It outlives a panic of the worker.
type heldSession struct {
	pid        *actor.PID
	id, holder string
}

// worker owns one browser. Its mailbox serialises what reaches the browser;
// [fsm.Step] decides what to do, and the worker carries it out without ever
// waiting for anything.
type worker struct {
	spec     api.WorkerSpec
	node     *nodeParts
	log      zerolog.Logger
	survives *survivingState

	claim      *claim     // the present claim
	run        *run       // the play of it, nil when nothing plays
	browser    *browser   // the present one, or the one that is starting
	reset      *resetting // the reset that is under way
	adopts     *recoveredSession
	reported   schedule.WorkerStatus // what pool knows
	screencast *view.Screencast      // what accounts see of it
}

func newWorker(spec api.WorkerSpec, node *nodeParts) *actor.Props {
	mem := &survivingState{cond: fsm.Condition{Browser: fsm.Down}}
	if s := node.recovered[spec.ID]; s != nil {
		mem.recovered, mem.cond.Session, mem.cond.Holder = s, s.rec.ID, s.rec.Account
	}
	seen := node.screencasts.Add(spec, node.background.Go)
	return node.props(func() actor.Actor {
		return &worker{spec: spec, node: node, survives: mem, screencast: seen, log: node.log.With().Str("worker", spec.ID).Logger()}
	})
}

func (w *worker) Receive(ctx actor.Context) {
	defer w.answerPanic(ctx)
	switch m := ctx.Message().(type) {
	case *actor.Started:
		w.start(ctx)
	case *actor.Restarting:
		w.guarded(func() { w.abandon(ctx) })
	case *actor.Stopping:
		w.guarded(func() { w.stop(ctx) })
	case *launch:
		w.apply(ctx, fsm.LaunchAllowed{})
	case *launched:
		w.onLaunched(ctx, m)
	case *browserGone:
		if m.browser == w.browser && !m.browser.unwanted() {
			w.log.Warn().Msg("browser died")
			w.apply(ctx, fsm.BrowserLost{})
		}
	case *claim:
		w.onClaim(ctx, m)
	case *ended:
		if m.run == w.run {
			w.apply(ctx, fsm.RunEnded{How: m.how})
		}
	case *late:
		w.onLate(ctx, m)
	case *resetDone:
		if m.resetting == w.reset {
			w.reset = nil
			if m.err != nil {
				w.log.Warn().Err(m.err).Msg("browser replaced: it could not be reset")
			}
			w.apply(ctx, fsm.ResetDone{OK: m.err == nil})
			if w.survives.cond.Idle() { // a task that waits was sent here while the browser was cleaned
				w.browser.inst.Warm()
			}
		}
	case *suspended:
		if m.browser == w.browser {
			w.apply(ctx, fsm.SessionSaved{})
		}
	case *renew:
		if m.browser == w.browser && (!m.heavy || m.browser.tasks > 0) {
			w.apply(ctx, fsm.RenewalDue{})
		}
	case *sessionOver:
		w.apply(ctx, fsm.SessionExpired{Session: m.Session})
	case *profileDue:
		w.saveProfile(ctx, m)
	case *workerLeaseLost:
		w.apply(ctx, fsm.LeaseLost{Session: m.Session})
	case *sessionTaken:
		w.log.Warn().Str("session", m.Session).Msg("session dropped: another node has it")
		w.apply(ctx, fsm.SessionTaken{Session: m.Session})
	case *workerAdopt:
		w.onAdopt(ctx, m)
	case *workerCancel:
		w.apply(ctx, fsm.CancelRequested{Task: m.Task, Cause: m.Cause})
	case *workerDrain:
		w.run.isLast()
		w.apply(ctx, fsm.DrainRequested{})
	case *workerResume:
		w.apply(ctx, fsm.ResumeRequested{})
	case *workerInterrupt:
		w.run.isLast()
		w.apply(ctx, fsm.InterruptRequested{})
	case *workerRetire:
		w.run.isLast()
		w.apply(ctx, fsm.RemovalRequested{})
	case *workerEndAccount:
		w.apply(ctx, fsm.AccountRemoved{Account: m.Account})
	case *workerReport:
		w.reported = schedule.WorkerStatus{}
		w.reportStatus(ctx)
	}
}

// start asks for a browser. One that comes after a panic has to wait for it.
func (w *worker) start(ctx actor.Context) {
	if w.survives.started {
		w.resumeAfterPanic(ctx)
		return
	}
	w.survives.started = true
	if w.survives.recovered != nil {
		w.spawnSession(ctx, *w.survives.recovered)
	}
	w.apply(ctx, fsm.LaunchAllowed{})
}

func (w *worker) onClaim(ctx actor.Context, m *claim) {
	w.survives.seq = m.Seq
	if code := w.survives.cond.Refusal(m.Claim); code == "" {
		w.claim = m
	}
	w.apply(ctx, fsm.ClaimReceived{Claim: m.Claim})
}

// onAdopt takes over a session that another worker had. Pool has reserved this
// worker for it. If the worker has another session all the same, it tells pool.
func (w *worker) onAdopt(ctx actor.Context, m *workerAdopt) {
	w.survives.seq, w.adopts = m.Seq, &m.session
	w.apply(ctx, fsm.SessionReceived{Session: m.session.rec.ID, Account: m.session.rec.Account})
	w.adopts = nil
}

func (w *worker) onLate(ctx actor.Context, m *late) {
	if m.run != w.run {
		return
	}
	if m.stuck {
		w.log.Error().Str("task", m.run.claim.Execute.TaskID).Msg("browser closed: its task did not stop")
		w.apply(ctx, fsm.RunStuck{})
	} else {
		w.apply(ctx, fsm.RunOverdue{})
	}
}

// apply handles an event. Pool gets the new status before any answer is sent, so
// that clients that act on the answer find pool up to date.
func (w *worker) apply(ctx actor.Context, e fsm.Event) {
	before, done := w.survives.cond, false
	next, do := fsm.Step(before, e)
	w.survives.cond = next
	defer func() {
		if !done { // a panic: what there was to answer is still there
			w.survives.cond = before
		}
	}()
	w.screencast.Change(scopeOf(next, w.browser)) // before anything begins on the browser
	if !returnsClaim(do) {                        // what is sent back carries the status
		w.reportStatus(ctx)
	}
	for _, eff := range do {
		w.carryOut(ctx, e, eff)
	}
	if !w.survives.cond.HasClaim() {
		w.claim = nil
	}
	if !w.survives.cond.Running {
		w.run = nil
	}
	done = true
}

// returnsClaim reports whether a claim goes back to pool.
func returnsClaim(do []fsm.Effect) bool {
	return slices.ContainsFunc(do, func(e fsm.Effect) bool {
		switch e.(type) {
		case fsm.RefuseClaim, fsm.ReturnClaim:
			return true
		default:
			return false
		}
	})
}

// reportStatus sends pool the worker's status if it has changed.
func (w *worker) reportStatus(ctx actor.Context) {
	if n := w.status(); n != w.reported {
		w.reported = n
		ctx.Send(w.node.pool, &n)
	}
}

func (w *worker) status() schedule.WorkerStatus {
	c := w.survives.cond
	return schedule.WorkerStatus{
		Worker:    w.spec.ID,
		Seq:       w.survives.seq,
		State:     c.State(),
		Ready:     c.Browser == fsm.Ready,
		Claimable: c.Claimable(),
		Session:   c.Session,
		Holder:    c.Holder,
		Task:      c.Claim.Task,
		Account:   c.Claim.Account,
		Drained:   c.Draining && !c.HasClaim() && c.Browser == fsm.Down,
	}
}

// stop answers everybody, with what the end of the service means for them.
func (w *worker) stop(ctx actor.Context) {
	w.apply(ctx, fsm.DrainRequested{})
	w.apply(ctx, fsm.InterruptRequested{})
	w.apply(ctx, fsm.RunStuck{})
	w.browser.close()
	w.leaveSession(ctx)
}
