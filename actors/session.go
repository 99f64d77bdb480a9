package actors

import (
	"encoding/json"
	"time"

	"github.com/asynkron/protoactor-go/actor"

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
	rec    sessionRecord
	book   *sessionBook

	cache *engine.Cache
	saved json.RawMessage
	timer *time.Timer
	gen   int // a timer of another generation fired late

	renamed bool // what is on disk has its earlier name
}

// timeUp is what the timer says.
type timeUp struct{ gen int }

// newSession is a session that begins, or goes on with what is known of it.
func newSession(n *nodeParts, worker *actor.PID, rec sessionRecord, state sessionState) *actor.Props {
	book := newSessionBook(n)
	return n.props(func() actor.Actor {
		return &session{worker: worker, rec: rec, book: book, cache: state.Cache, saved: state.Browser}
	})
}

func (s *session) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.arm(ctx)
	case *actor.Stopping, *actor.Restarting:
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
	case *sessionRest:
		s.change(m.Timeout)
		s.rec.Deadline = s.rec.rest(time.Now())
		s.arm(ctx)
	case *sessionErase:
		root, who := ctx.ActorSystem().Root, ctx.Sender()
		s.book.erase(s.rec.ID, func(err error) { root.Send(who, &sessionErased{Err: words(err)}) })
	case *sessionForget:
		s.book.erase(s.rec.ID, nil)
	case *timeUp:
		if m.gen == s.gen {
			ctx.Send(s.worker, &sessionOver{Session: s.rec.ID})
		}
	}
}

// begin lets a request begin. The record gets a deadline after the end of its
// task, so that a session does not run out under a task that nobody is there to
// end. Whether that is on disk matters when somebody is told of the session
// before the task has ended.
func (s *session) begin(ctx actor.Context, m *sessionBegin) {
	s.disarm()
	s.change(m.Timeout)
	s.rec.Deadline = s.rec.rest(time.Now().Add(m.Task))
	reply, root, who := &sessionBegun{Cache: s.cache}, ctx.ActorSystem().Root, ctx.Sender()
	var state []byte
	if s.renamed { // the browser's state comes along
		s.renamed = false
		state, _ = s.state()
	}
	if !m.Wait {
		s.book.write(s.rec, state, nil)
		ctx.Respond(reply)
		return
	}
	s.book.write(s.rec, state, func(err error) {
		reply.Err = words(err)
		root.Send(who, reply)
	})
}

// keep keeps what a request has left.
func (s *session) keep(ctx actor.Context, m *sessionKeep) {
	if m.Saved {
		s.saved = m.State
	}
	if !m.Still {
		s.change(m.Timeout)
		s.rec.Deadline = s.rec.rest(time.Now())
	}
	root, who := ctx.ActorSystem().Root, ctx.Sender()
	state, err := s.state()
	if err != nil {
		ctx.Respond(&sessionKept{Err: words(err)})
		return
	}
	s.book.write(s.rec, state, func(err error) { root.Send(who, &sessionKept{Err: words(err)}) })
}

func (s *session) state() ([]byte, error) {
	return json.Marshal(sessionState{Browser: s.saved, Cache: s.cache})
}

// words is an error in a message.
func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (s *session) change(timeout time.Duration) {
	if timeout > 0 {
		s.rec.Timeout = timeout
	}
}

func (s *session) arm(ctx actor.Context) {
	s.disarm()
	root, self, up := ctx.ActorSystem().Root, ctx.Self(), &timeUp{gen: s.gen}
	s.timer = time.AfterFunc(max(time.Until(s.rec.Deadline), 0), func() { root.Send(self, up) })
}

func (s *session) disarm() {
	s.gen++
	if s.timer != nil {
		s.timer.Stop()
	}
}
