package actors

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
)

// session holds what one session keeps between its requests: the timer, the
// data cache and the browser's saved state, in memory and on disk. It is an actor
// of its own because it outlives the browser, and may one day outlive its worker.
//
// It reports the end of its time and nothing else: the worker alone decides
// what that means, because only the worker knows whether a task runs.
type session struct {
	worker *actor.PID
	rec    records.Session
	book   *sessionBook

	cache *engine.Cache
	saved json.RawMessage
	timer *time.Timer
	ticks *time.Timer // for the profile
	gen   int         // a timer of another generation fired late
	armed bool        // the timer runs, or has fired

	last    bool          // the profile is being saved for the last time
	over    bool          // the session has ended: nothing of it goes on elsewhere
	unused  time.Duration // how long before its end the last task had used it
	renamed bool          // what is on disk has its earlier name

	// term is the last term of the node's lease in which the session was known to
	// be the node's. It is not used in another one.
	term uint64
}

// timeUp tells the session that its timer has fired.
type timeUp struct{ gen int }

// newSession is a session that begins, or goes on with what is known of it.
func newSession(n *nodeParts, worker *actor.PID, k recoveredSession) *actor.Props {
	book := newSessionBook(n, k)
	return n.props(func() actor.Actor {
		return &session{worker: worker, rec: k.rec, book: book, cache: k.state.Cache, saved: k.state.Browser, term: k.term}
	})
}

func (s *session) handle(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.book.node.sessions.add(ctx.Self())
		s.recoverProfile(ctx)
		s.describe(ctx, false)
		s.arm(ctx)
	case *actor.Stopping:
		s.endProfile(ctx)
		s.book.node.sessions.remove(ctx.Self())
		s.disarm()
	case *sessionBegin:
		s.begin(ctx, m)
	case *sessionKeep:
		s.keep(ctx, m)
	case *sessionRecall:
		ctx.Respond(&sessionRecalled{State: s.saved})
	case *sessionRename:
		s.disarm()
		s.book.rename(s.rec.ID)
		s.rec.ID, s.rec.Timeout, s.cache, s.renamed = m.ID, m.Timeout, engine.NewCache(), true
		s.setLabel(m.Label)
		s.describe(ctx, true)
	case *sessionResetTimer:
		s.setTimeout(m.Timeout)
		s.rec.Deadline = s.rec.DeadlineFrom(time.Now().Add(-s.unused))
		s.unused = 0
		s.describe(ctx, false)
		s.arm(ctx)
	case *sessionErase:
		root, sender := ctx.ActorSystem().Root, ctx.Sender()
		s.book.erase(s.rec, func(err error) { root.Send(sender, &sessionErased{Err: errorText(err)}) })
	case *sessionForget:
		s.over = true
		s.book.erase(s.rec, nil)
	case *sessionConfirm:
		s.confirm(ctx, m.Term)
	case *sessionConfirmed:
		s.term = m.Term
	case *sessionLeaseLost:
		ctx.Send(s.worker, &workerLeaseLost{Session: s.rec.ID})
	case *superseded:
		ctx.Send(s.worker, &sessionTaken{Session: s.rec.ID})
	case *sessionRepeat:
		if s.armed {
			s.armAfter(ctx, max(time.Until(s.rec.Deadline), again))
		}
	case *profileTick:
		s.tick(ctx)
		ctx.Send(s.worker, &profileDue{Session: s.rec.ID})
	case *profileSaved:
		s.onProfileSaved(ctx, m)
	case *timeUp:
		if m.gen == s.gen && !s.savesLast(ctx) {
			ctx.Send(s.worker, &sessionOver{Session: s.rec.ID})
		}
	}
}

// begin lets a request begin. The record gets a deadline after the end of its
// task, so that the session does not expire under a running task. With Wait the
// reply comes when the record is on disk: clients learn of the session before the
// task has ended.
func (s *session) begin(ctx actor.Context, m *sessionBegin) {
	if !s.book.node.leases.Serves(s.term) {
		ctx.Respond(&sessionBegun{Refusal: leaseLost()})
		return
	}
	s.disarm()
	s.setTimeout(m.Timeout)
	s.setLabel(m.Label)
	if s.ticks == nil {
		s.tick(ctx)
	}
	s.rec.Deadline = s.rec.DeadlineFrom(time.Now().Add(m.Task))
	s.describe(ctx, true)
	s.book.node.sessions.addCache(ctx.Self(), s.cache)
	reply, root, sender := &sessionBegun{}, ctx.ActorSystem().Root, ctx.Sender()
	var state []byte
	if s.renamed { // the browser's state comes along
		s.renamed = false
		state, _ = s.state()
	}
	if !m.Wait {
		s.write(ctx, state, nil)
		ctx.Respond(reply)
		return
	}
	log := s.book.node.log
	s.write(ctx, state, func(err error) {
		if err != nil {
			log.Error().Err(err).Msg("session not written")
			reply.Refusal = api.RefusalFor(err)
		}
		root.Send(sender, reply)
	})
}

// keep keeps what a request has left.
func (s *session) keep(ctx actor.Context, m *sessionKeep) {
	if m.Saved {
		s.saved = m.State
	}
	if !m.Still {
		s.setTimeout(m.Timeout)
		s.unused = m.Unused
		s.rec.Deadline = s.rec.DeadlineFrom(time.Now().Add(-s.unused))
		s.describe(ctx, false)
	}
	root, sender := ctx.ActorSystem().Root, ctx.Sender()
	state, err := s.state()
	if err != nil {
		ctx.Respond(&sessionKept{Err: errorText(err)})
		return
	}
	s.write(ctx, state, func(err error) { root.Send(sender, &sessionKept{Err: errorText(err)}) })
}

// write keeps the session as it is now. Should it be another node's by then, its
// worker learns that.
func (s *session) write(ctx actor.Context, state []byte, over func(error)) {
	s.note(ctx)
	root, self, n := ctx.ActorSystem().Root, ctx.Self(), s.book.node
	s.book.write(s.rec, state, func(err error) {
		if errors.Is(err, api.ErrSessionTaken) {
			root.Send(self, &superseded{})
		}
		switch {
		case over != nil:
			over(err)
		case err != nil:
			n.log.Error().Err(err).Msg("session not written")
		}
	})
}

// confirm writes the record in a new term of the node's lease. Another node that
// was about to take the session finds it changed. If another node has taken it,
// the write finds that out.
func (s *session) confirm(ctx actor.Context, term uint64) {
	root, self, sender := ctx.ActorSystem().Root, ctx.Self(), ctx.Sender()
	s.write(ctx, nil, func(err error) {
		if err == nil {
			root.Send(self, &sessionConfirmed{Term: term})
		}
		if errors.Is(err, api.ErrSessionTaken) {
			err = nil
		}
		root.Send(sender, &sessionConfirmed{Term: term, Err: errorText(err)})
	})
}

func (s *session) state() ([]byte, error) {
	return json.Marshal(records.SessionState{Browser: s.saved, Cache: s.cache})
}

// errorText is an error as text in a message.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (s *session) setTimeout(timeout time.Duration) {
	if timeout > 0 {
		s.rec.Timeout = timeout
	}
}

func (s *session) setLabel(label string) {
	if label != "" {
		s.rec.Label = label
	}
}

// describe lets the account of the session know how it is now.
func (s *session) describe(ctx actor.Context, runs bool) {
	s.note(ctx)
	s.book.node.sessions.describe(ctx.Self(), &s.rec, runs)
}

func (s *session) arm(ctx actor.Context) {
	s.last = false
	s.armAfter(ctx, max(time.Until(s.rec.Deadline), 0))
}

func (s *session) armAfter(ctx actor.Context, d time.Duration) {
	s.disarm()
	s.timer, s.armed = sendLater(ctx, d, ctx.Self(), &timeUp{gen: s.gen}), true
}

func (s *session) disarm() {
	s.gen++
	s.armed = false
	if s.timer != nil {
		s.timer.Stop()
	}
}
