package fsm

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"troupe/actors/api"
	"troupe/engine"
)

// TestStateInvariants lets random events happen to a worker, fitting or not,
// and checks what must hold whatever happens.
func TestStateInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &stateModel{t: t, owed: map[string]bool{}, sessions: map[string]bool{}}
		c := Condition{Browser: Down}
		for range rapid.IntRange(1, 80).Draw(t, "events") {
			e := m.event(c)
			next, do := Step(c, e)
			m.check(c, e, next, do)
			c = next
		}
	})
}

// stateModel knows what the world around a worker would know.
type stateModel struct {
	t        *rapid.T
	tasks    int
	owed     map[string]bool // clients that have no answer yet
	sessions map[string]bool // open ones
	browser  bool            // there is one, or one is being started
	ready    bool            // and it is up
	cleaning bool            // a reset is under way
	playing  string          // the task on the browser
}

func (m *stateModel) event(c Condition) Event {
	draw := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(m.t, what) }
	account := []string{"anna", "bert"}[draw(2, "account")]
	ids := []string{c.Session, "", "sess_old"}
	switch draw(17, "event") {
	case 0, 1, 2, 3:
		m.tasks++
		o := Claim{Task: fmt.Sprint("t", m.tasks), Account: account,
			Intent: []Intent{Plain, Open, Resume, Close, Override}[draw(5, "intent")]}
		switch o.Intent {
		case Resume, Close:
			o.ID = ids[draw(3, "id")]
		case Open, Override:
			o.Fresh = fmt.Sprint("sess_", m.tasks)
		}
		return ClaimReceived{o}
	case 4:
		if m.browser && !m.ready { // how a launch ends
			return []Event{BrowserUp{}, BrowserUp{Lost: c.Session != ""}, LaunchFailed{}}[draw(3, "launch")]
		}
		return LaunchAllowed{}
	case 5:
		if m.cleaning {
			return ResetDone{OK: draw(2, "reset") == 0}
		}
		return LaunchAllowed{}
	case 6, 7:
		return RunEnded{How: []Ending{OK, Broken, Crashed, NotStarted}[draw(4, "how")]}
	case 8:
		return RunOverdue{}
	case 9:
		return RunStuck{}
	case 10:
		return CancelRequested{Task: c.Claim.Task, Cause: []api.Cause{api.CauseClient, api.CauseAsked}[draw(2, "cause")]}
	case 11:
		return SessionExpired{Session: ids[draw(3, "id")]}
	case 12:
		if m.ready {
			return BrowserLost{}
		}
		return RenewalDue{}
	case 13:
		return []Event{DrainRequested{}, InterruptRequested{}, RemovalRequested{}, AccountRemoved{account}}[draw(4, "drain")]
	case 14:
		m.tasks++
		return []Event{
			LeaseLost{Session: ids[draw(3, "id")]}, SessionTaken{Session: ids[draw(3, "id")]},
			SessionReceived{Session: fmt.Sprint("sess_", m.tasks), Account: account},
		}[draw(3, "owner")]
	case 15:
		return []Event{SessionSaved{}, ResumeRequested{}}[draw(2, "after drain")]
	default:
		return RenewalDue{}
	}
}

func (m *stateModel) check(c Condition, e Event, next Condition, do []Effect) {
	t := m.t
	if cl, ok := e.(ClaimReceived); ok {
		m.owed[cl.Task] = true
	}
	switch e.(type) {
	case BrowserUp:
		m.ready = true
	case LaunchFailed, BrowserLost:
		m.browser, m.ready, m.cleaning = false, false, false
	case ResetDone:
		m.cleaning = false
	case RunEnded:
		m.playing = ""
	}
	claimed := c.Claim.Task
	if cl, ok := e.(ClaimReceived); ok && claimed == "" {
		claimed = cl.Task
	}
	for _, eff := range do {
		m.effect(e, eff, claimed)
	}
	switch {
	case next.Running && (next.Browser != Ready || !next.HasClaim()):
		t.Fatalf("%T: a task runs without a browser or a claim: %+v", e, next)
	case (next.Session == "") != (next.Holder == ""):
		t.Fatalf("%T: a session without a holder, or the other way: %+v", e, next)
	case next.State() == api.Reserved && !m.sessions[next.Session]:
		t.Fatalf("%T: reserved without a session: %+v", e, next)
	case len(m.sessions) > 1 || next.Session != "" && !m.sessions[next.Session]:
		t.Fatalf("%T: sessions %v, but the worker has %q", e, m.sessions, next.Session)
	case next.Running != (m.playing != ""):
		t.Fatalf("%T: running is %v, but %q plays", e, next.Running, m.playing)
	case next.State() == api.Online && !next.Draining && !m.browser:
		t.Fatalf("%T: online without a browser: %+v", e, next)
	case next.Browser == Ready && (!m.ready && !next.Dead || m.cleaning):
		t.Fatalf("%T: ready on a browser that is not: %+v", e, next)
	case next.Browser == Down && !next.Draining && !relaunches(do) && c.Browser != Down:
		t.Fatalf("%T: down, and nobody asks for a browser: %v", e, do)
	}
	if next.Claimable() && next.Refusal(Claim{Task: "next", Intent: Plain}) != "" {
		t.Fatalf("%T: claimable, and a claim is refused: %+v", e, next)
	}
	switch e := e.(type) {
	case RemovalRequested:
		if !next.Draining || next.Session != "" && !(next.Running && next.Ends) {
			t.Fatalf("dismissed, but it goes on: %+v", next)
		}
	case SessionTaken:
		if e.Session != "" && next.Session == e.Session && !(next.Running && next.Ends) {
			t.Fatalf("%s goes on although another node has it: %+v", e.Session, next)
		}
	case LeaseLost:
		if e.Session != "" && c.Session == e.Session && next.HasClaim() && next.Cause == "" {
			t.Fatalf("a task goes on in %s, which another node may have: %+v", e.Session, next)
		}
	case SessionReceived:
		if c.Session == "" && !c.HasClaim() && (next.Session != e.Session || next.State() == api.Online) {
			t.Fatalf("%s was not adopted: %+v", e.Session, next)
		}
	case AccountRemoved:
		if next.Holder == e.Account && !(next.Running && next.Ends) || next.Claim.Account == e.Account && next.Cause == "" {
			t.Fatalf("%s goes on after it was removed: %+v", e.Account, next)
		}
	}
	if c.Ends && !next.Running && (next.Session != "" || next.Ends) {
		t.Fatalf("%T: the session goes on after its end: %+v", e, next)
	}
	for task := range m.owed {
		if task != next.Claim.Task {
			t.Fatalf("%T: %s was neither answered nor sent back", e, task)
		}
	}
	if next.HasClaim() && m.owed[next.Claim.Task] == next.Answered {
		t.Fatalf("%T: %s answered %v, owed %v", e, next.Claim.Task, next.Answered, m.owed[next.Claim.Task])
	}
}

func relaunches(do []Effect) bool {
	for _, eff := range do {
		switch eff.(type) {
		case RequestLaunch, LaunchBrowser:
			return true
		}
	}
	return false
}

func (m *stateModel) effect(e Event, eff Effect, claimed string) {
	t := m.t
	answered := func(task string) {
		if !m.owed[task] {
			t.Fatalf("%T: %s is answered a second time by %T", e, task, eff)
		}
		delete(m.owed, task)
	}
	switch eff := eff.(type) {
	case RefuseClaim:
		answered(e.(ClaimReceived).Task)
	case ReturnClaim:
		answered(claimed)
	case SendAnswer:
		answered(claimed)
		if eff.Session != "" && !m.sessions[eff.Session] {
			t.Fatalf("%T: the answer names %s, which is not open", e, eff.Session)
		}
		if eff.End == engine.EndCompleted && m.playing != "" && !eff.Played {
			t.Fatalf("%T: completed, but it still plays", e)
		}
	case StartRun:
		if m.playing != "" {
			t.Fatalf("%T: a second task on the browser while %s plays", e, m.playing)
		}
		m.playing = claimed
	case ResetBrowser:
		if m.playing != "" || !m.ready || len(m.owed) > 0 && m.owed[claimed] {
			t.Fatalf("%T: reset while %q plays, ready %v, owed %v", e, m.playing, m.ready, m.owed)
		}
		m.cleaning = true
	case CloseBrowser:
		m.browser, m.ready, m.cleaning, m.playing = false, false, false, ""
	case LaunchBrowser:
		if m.browser {
			t.Fatalf("%T: a second browser", e)
		}
		m.browser = true
	case ReceiveSession:
		m.sessions[eff.Session] = true
	case OpenSession:
		m.sessions[eff.Session] = true
	case EndSession:
		delete(m.sessions, eff.Session)
	case RenameSession:
		delete(m.sessions, eff.From)
		m.sessions[eff.To] = true
	}
}
