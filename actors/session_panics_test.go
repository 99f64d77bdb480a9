package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// spoilt is a context that panics when one of its methods is used for the n-th
// time while a kind of message is handled.
type spoilt struct {
	actor.Context
	when *spoiling
}

type spoiling struct {
	kind   string // the message whose handling panics
	at     int    // 0: when the message is read
	more   bool   // once more, when it is tried again
	reads  int
	uses   int
	panics int
}

func (s *spoiling) use(m any) {
	if fmt.Sprintf("%T", m) != s.kind {
		return
	}
	if s.uses++; s.uses > s.at && s.panics == 0 {
		s.panics++
		panic("spoilt")
	}
}

func (c *spoilt) Message() any {
	m := c.Context.Message()
	if look, ok := m.(*peek); ok {
		look.f(c.Actor().(*session))
		close(look.done)
	}
	if s := c.when; s.more && fmt.Sprintf("%T", m) == s.kind && s.panics == 1 {
		if s.reads++; s.reads == 2 { // the first is for the log
			s.panics++
			panic("spoilt")
		}
	}
	c.when.use(m)
	return m
}
func (c *spoilt) Self() *actor.PID         { c.when.use(c.Context.Message()); return c.Context.Self() }
func (c *spoilt) Send(p *actor.PID, m any) { c.when.use(c.Context.Message()); c.Context.Send(p, m) }

// peek is a message that lets a test look at a session, in the session's own turn.
type peek struct {
	f    func(*session)
	done chan struct{}
}

// sessionSeen is all that there is to see of a session.
type sessionSeen struct {
	ID, Timeout, Deadline, Saved, Cache string
	Renamed, Armed                      bool
	Term                                uint64
	OverAfter                           time.Duration // 0: not in a day
}

// spoilSession lets a session that is a minute old handle a message, and tells
// what it was like before and after it. Its worker hears of its end.
func spoilSession(t *testing.T, m any, asked bool, resting bool, s *spoiling) (before, after sessionSeen, reply any, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		seal, err := persistence.NewSeal(make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		store := persistence.NewMemory()
		defer store.Close()
		cfg, err := Config{Engine: noEngine{}, Store: store, Files: persistence.NewMemoryFiles(), Seal: seal, Workers: SharedWorkers("", 1)}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		cfg.decorate = func(next actor.ContextDecoratorFunc) actor.ContextDecoratorFunc {
			return func(ctx actor.Context) actor.Context { return &spoilt{next(ctx), s} }
		}
		n := &nodeParts{cfg: cfg, log: zerolog.Nop(), system: newSystem(zerolog.Nop())}
		if n.records, err = records.Open(cfg.records()); err != nil {
			t.Fatal(err)
		}
		over := make(chan time.Time, 8)
		worker := n.system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			if _, ok := ctx.Message().(*sessionOver); ok {
				over <- time.Now()
			}
		}))
		cache := engine.NewCache()
		cache.Set("k", json.RawMessage(`"v"`))
		began := time.Now()
		pid := n.system.Root.Spawn(newSession(n, worker, recoveredSession{
			rec:   records.Session{ID: "s1", Account: "anna", Worker: "w1", Timeout: 10 * time.Minute, Started: began, Deadline: began.Add(10 * time.Minute)},
			state: records.SessionState{Browser: json.RawMessage(`"saved"`), Cache: cache},
		}))
		synctest.Wait()
		ask1 := func(m any) { _, _ = ask[sessionKept](t.Context(), n.system, pid, m) }
		ask1(&sessionKeep{Still: true})
		if !resting {
			_, _ = ask[sessionBegun](t.Context(), n.system, pid, &sessionBegin{Task: time.Minute})
		}
		time.Sleep(time.Minute)
		look := func(f func(*session)) {
			p := &peek{f, make(chan struct{})}
			n.system.Root.Send(pid, p)
			<-p.done
		}
		see := func(a *session) sessionSeen {
			cached, _ := json.Marshal(a.cache)
			return sessionSeen{
				ID: a.rec.ID, Timeout: a.rec.Timeout.String(), Deadline: a.rec.Deadline.Sub(began).String(), Saved: string(a.saved),
				Cache: string(cached), Renamed: a.renamed, Armed: a.armed, Term: a.term,
			}
		}
		synctest.Wait()
		look(func(a *session) {
			before = see(a)
			if up, ok := m.(*timeUp); ok {
				up.gen = a.gen
			}
			if s.at >= 0 {
				*s = spoiling{at: s.at, more: s.more, kind: fmt.Sprintf("%T", m)}
			}
		})
		at := time.Now()
		if asked {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			q := put(n.system, pid, m)
			select {
			case reply = <-q.asker.answer:
			case <-ctx.Done():
			}
			q.forget()
			cancel()
		} else {
			n.system.Root.Send(pid, m)
		}
		took = time.Since(at)
		synctest.Wait()
		look(func(a *session) {
			s.kind = ""
			after = see(a)
		})
		time.Sleep(24 * time.Hour)
		select {
		case ended := <-over:
			after.OverAfter = ended.Sub(began)
		default:
		}
		n.system.Root.Stop(pid)
		n.system.Root.Stop(worker)
		synctest.Wait()
		n.background.Wait()
		n.background.goroutines.close()
		time.Sleep(2 * time.Second)
	})
	return before, after, reply, took
}

// TestSessionIsAsBeforeAPanic lets a session panic at each of its messages, at
// each place of their handling.
func TestSessionIsAsBeforeAPanic(t *testing.T) {
	for _, tc := range []struct {
		m      func() any
		failed func(any) bool // nil: nobody asks
	}{
		{func() any { return &sessionBegin{Timeout: time.Hour, Task: time.Minute} }, func(r any) bool { b, ok := r.(*sessionBegun); return ok && b.Refusal != nil }},
		{func() any { return &sessionBegin{Task: time.Minute, Wait: true} }, func(r any) bool { b, ok := r.(*sessionBegun); return ok && b.Refusal != nil }},
		{func() any { return &sessionKeep{Saved: true, State: json.RawMessage(`"new"`), Timeout: time.Hour} }, func(r any) bool { k, ok := r.(*sessionKept); return ok && k.Err != "" }},
		{func() any { return &sessionRecall{} }, func(r any) bool { err, ok := r.(error); return ok && errors.As(err, new(*failure)) }},
		{func() any { return &sessionErase{} }, func(r any) bool { e, ok := r.(*sessionErased); return ok && e.Err != "" }},
		{func() any { return &sessionConfirm{Term: 3} }, func(r any) bool { c, ok := r.(*sessionConfirmed); return ok && c.Err != "" }},
		{func() any { return &sessionRename{ID: "s2", Timeout: time.Hour} }, nil},
		{func() any { return &sessionResetTimer{Timeout: time.Hour} }, nil},
		{func() any { return &sessionForget{} }, nil},
		{func() any { return &sessionConfirmed{Term: 3} }, nil},
		{func() any { return &sessionLeaseLost{} }, nil},
		{func() any { return &sessionRepeat{} }, nil},
		{func() any { return &superseded{} }, nil},
		{func() any { return &timeUp{} }, nil},
	} {
		for _, resting := range []bool{true, false} {
			name := fmt.Sprintf("%T/%v", tc.m(), resting)
			unspoilt := &spoiling{at: -1}
			_, control, _, _ := spoilSession(t, tc.m(), tc.failed != nil, resting, unspoilt)
			_, untouched, _, _ := spoilSession(t, &sessionLeaseLost{}, false, resting, &spoiling{at: -1})
			for at := 0; ; at++ {
				s := &spoiling{at: at}
				before, after, reply, took := spoilSession(t, tc.m(), tc.failed != nil, resting, s)
				if s.panics == 0 {
					if at == 0 {
						t.Errorf("%s: nothing panicked", name)
					}
					break
				}
				want := control // it is tried again
				if tc.failed != nil {
					want, want.OverAfter = before, untouched.OverAfter
					if !tc.failed(reply) || took > 0 {
						t.Errorf("%s, panic at %d: answered %+v after %v", name, at, reply, took)
					}
				}
				if after != want {
					t.Errorf("%s, panic at %d: the session is\n%+v, want\n%+v", name, at, after, want)
				}
				if tc.failed != nil {
					continue
				}
				s = &spoiling{at: at, more: true}
				before, after, _, _ = spoilSession(t, tc.m(), false, resting, s)
				if before.OverAfter = untouched.OverAfter; after != before || s.panics != 2 {
					t.Errorf("%s, %d panics, the first at %d: the session is\n%+v, want\n%+v", name, s.panics, at, after, before)
				}
			}
		}
	}
}
