package actors_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// TestSessionsFollowTheModel lets three accounts open, use, take over and close
// sessions on four workers at random, while time passes, browsers die and the
// node is restarted or dies, and checks each answer and each worker's state
// against a model that knows nothing of actors.
func TestSessionsFollowTheModel(t *testing.T) {
	fewer(t, 40, 150) // each starts several nodes
	rapid.Check(t, func(rt *rapid.T) {
		var moves []sessionMove
		for range rapid.IntRange(1, 30).Draw(rt, "moves") {
			moves = append(moves, drawSessionMove(rt))
		}
		var wrong string
		testkit.Run(t, testkit.Options{Workers: 4}, func(_ *testing.T, k *testkit.Kit) {
			m := &sessionModel{kit: k, workers: map[string]*modelSession{}}
			for i, move := range moves {
				m.play(move)
				m.look()
				if m.wrong != "" {
					wrong = fmt.Sprintf("move %d, %+v: %s", i+1, move, m.wrong)
					return
				}
			}
			if n := k.Node.Sessions(); n != len(m.workers) {
				wrong = fmt.Sprintf("%d session actors, want %d", n, len(m.workers))
			}
		})
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// modelSession is a session as its clients know it.
type modelSession struct {
	id, account string
	timeout     time.Duration
	deadline    time.Time
	tasks       int  // whose traces its browser has
	saved       int  // whose traces are saved
	restored    bool // its next answer says so
}

type sessionModel struct {
	kit     *testkit.Kit
	workers map[string]*modelSession // by worker: the session that holds it
	ever    []*modelSession
	wrong   string
}

func (m *sessionModel) fail(format string, args ...any) {
	if m.wrong == "" {
		m.wrong = fmt.Sprintf(format, args...)
	}
}

var modelWorkers = []string{"", "w1", "w2", "w3", "w4"}

func (m *sessionModel) held(account string) (n int) {
	for _, s := range m.workers {
		if s.account == account {
			n++
		}
	}
	return n
}

func (m *sessionModel) where(s *modelSession) string {
	for w, other := range m.workers {
		if other == s {
			return w
		}
	}
	return ""
}

func (m *sessionModel) play(mv sessionMove) {
	k := m.kit
	switch mv.what {
	case "pass":
		time.Sleep(mv.pass)
	case "kill":
		w := modelWorkers[mv.id%4+1]
		k.Engine.Kill(w)
		m.died(w)
	case "restart", "die":
		m.down(mv)
	case "die in a task":
		if s := m.any(mv.id); s != nil && m.where(s) != "" {
			m.kit.Start(testkit.Pro(s.account), testkit.Task(testkit.Continue(s.id)), lasting(time.Minute))
			k.AwaitIdle()
			s.deadline = time.Now().Add(engine.DefaultTimeout + s.timeout)
			m.down(mv)
		}
	default:
		m.request(mv)
	}
}

// died lets a browser come back without what was not saved.
func (m *sessionModel) died(w string) {
	if s := m.workers[w]; s != nil {
		s.tasks, s.restored = s.saved, true
	}
	time.Sleep(2 * time.Second)
}

// down ends the node for a while.
func (m *sessionModel) down(mv sessionMove) {
	if mv.what == "restart" {
		m.kit.Node.Stop()
	} else {
		m.kit.Crash()
	}
	time.Sleep(mv.pass)
	m.kit.Boot()
	for _, s := range m.workers {
		s.tasks, s.restored = s.saved, true
	}
}

func (m *sessionModel) any(id int) *modelSession {
	if len(m.ever) == 0 {
		return nil
	}
	return m.ever[id%len(m.ever)]
}

// request sends a request and compares its answer with what the model expects.
func (m *sessionModel) request(mv sessionMove) {
	opts := []testkit.Option{testkit.Lasting(mv.timeout)}
	id, target := "sess_never", modelWorkers[mv.worker]
	s := m.any(mv.id)
	if s != nil {
		id = s.id
	}
	if target != "" {
		opts = append(opts, testkit.On(target))
	}
	if mv.empty && mv.what != "plain" {
		opts = append(opts, testkit.Empty())
	}
	want, holder := engine.Code(""), (*modelSession)(nil)
	switch mv.what {
	case "preserve":
		opts = append(opts, testkit.Preserve())
		want = m.mayOpen(mv.account, target)
	case "plain":
		want = m.mayClaim(target)
	case "override":
		opts = append(opts, testkit.Override())
		want, holder = m.override(mv.account, target)
	case "continue", "close":
		if mv.what == "close" {
			opts = append(opts, testkit.Close(id))
		} else {
			opts = append(opts, testkit.Continue(id), testkit.Preserve())
		}
		if w := m.where(s); s == nil || w == "" || s.account != mv.account || target != "" && target != w {
			want = engine.CodeSessionMismatch
		}
		holder = s
	}
	played := !mv.empty || mv.what == "plain"
	x := m.kit.Do(testkit.Pro(mv.account), testkit.Task(opts...), testkit.Script{Crash: mv.crash})
	switch {
	case x.Refusal != nil && x.Refusal.Code != want:
		m.fail("refused with %s (%s), want %q", x.Refusal.Code, x.Refusal.Text, want)
	case x.Refusal == nil && want != "":
		m.fail("ended %s, want it refused with %s", x.Outcome.End, want)
	case x.Refusal == nil:
		m.answered(mv, x, holder, played)
	}
	if played && mv.crash && x.Refusal == nil {
		m.died(x.WorkerID)
	}
}

// answered makes the model what the answer says it is.
func (m *sessionModel) answered(mv sessionMove, x *api.Executed, s *modelSession, played bool) {
	w := x.WorkerID
	if s == nil {
		if m.workers[w] != nil {
			m.fail("played on %s, which a session holds", w)
		}
		s = &modelSession{account: mv.account, timeout: engine.DefaultSessionTimeout}
	} else if mv.what == "override" {
		s = m.workers[w] // which of the account's
		if s == nil || s.account != mv.account {
			m.fail("took over %s, which the account does not hold", w)
			return
		}
		s.timeout = engine.DefaultSessionTimeout
	}
	if played {
		if !mv.crash {
			if r, err := testkit.ResultOf(x.Outcome); err != nil || len(r.Before) != s.tasks {
				m.fail("sees %v, want %d tasks (%v)", r.Before, s.tasks, err)
			}
			s.tasks++
		}
		if x.Outcome.Restored != s.restored {
			m.fail("restored is %v, want %v", x.Outcome.Restored, s.restored)
		}
		s.restored = false
	}
	if mv.what == "close" || mv.what == "plain" {
		delete(m.workers, w)
		if x.SessionID != "" {
			m.fail("the answer names session %s", x.SessionID)
		}
		return
	}
	if (x.SessionID == s.id) != (mv.what == "continue") || x.SessionID == "" {
		m.fail("the answer names session %q after %q", x.SessionID, s.id)
	}
	if s.id != x.SessionID {
		old := *s
		s.id = x.SessionID
		m.ever = append(m.ever, s)
		for i, e := range m.ever[:len(m.ever)-1] {
			if e == s { // the name of before leads nowhere
				m.ever[i] = &old
			}
		}
	}
	if mv.timeout > 0 {
		s.timeout = mv.timeout
	}
	m.workers[w], s.saved, s.deadline = s, s.tasks, time.Now().Add(s.timeout)
}

// mayOpen says why the account gets no new session.
func (m *sessionModel) mayOpen(account, target string) engine.Code {
	switch {
	case target != "" && m.workers[target] != nil:
		return engine.CodeWorkerReserved
	case m.held(account) >= 2: // half of the shared workers
		return engine.CodeSessionLimit
	default:
		return m.mayClaim(target)
	}
}

func (m *sessionModel) mayClaim(target string) engine.Code {
	switch {
	case target != "" && m.workers[target] != nil:
		return engine.CodeWorkerReserved
	case target == "" && len(m.workers) == 4:
		return engine.CodeNoWorkerAvailable
	default:
		return ""
	}
}

func (m *sessionModel) override(account, target string) (engine.Code, *modelSession) {
	for w, s := range m.workers {
		if s.account == account && (target == "" || target == w) {
			return "", s
		}
	}
	return m.mayOpen(account, target), nil
}

// look ends what has run out in the model, and compares every worker with it.
func (m *sessionModel) look() {
	m.kit.AwaitIdle()
	for w, s := range m.workers {
		if !time.Now().Before(s.deadline) {
			delete(m.workers, w)
		}
	}
	for _, w := range modelWorkers[1:] {
		info, want, id := m.kit.Worker(w), api.Online, ""
		if s := m.workers[w]; s != nil {
			want, id = api.Reserved, s.id
		}
		if info.State != want || info.Session != id {
			m.fail("%s is %s with session %q, want %s with %q", w, info.State, info.Session, want, id)
		}
	}
	if n := len(kept(m.kit)); n != 2*len(m.workers) {
		m.fail("on disk: %v, want %d sessions", kept(m.kit), len(m.workers))
	}
}
