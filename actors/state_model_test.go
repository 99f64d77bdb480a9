package actors

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
		c := condition{Browser: down}
		for range rapid.IntRange(1, 80).Draw(t, "events") {
			e := m.event(c)
			next, do := step(c, e)
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

func (m *stateModel) event(c condition) event {
	draw := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(m.t, what) }
	account := []string{"anna", "bert"}[draw(2, "account")]
	ids := []string{c.Session, "", "sess_old"}
	switch draw(17, "event") {
	case 0, 1, 2, 3:
		m.tasks++
		o := order{Task: fmt.Sprint("t", m.tasks), Account: account,
			Intent: []intent{plain, open, goOn, shut, seize}[draw(5, "intent")]}
		switch o.Intent {
		case goOn, shut:
			o.ID = ids[draw(3, "id")]
		case open, seize:
			o.Fresh = fmt.Sprint("sess_", m.tasks)
		}
		return evClaim{o}
	case 4:
		if m.browser && !m.ready { // how a launch ends
			return []event{evUp{}, evUp{Lost: c.Session != ""}, evFailed{}}[draw(3, "launch")]
		}
		return evLaunch{}
	case 5:
		if m.cleaning {
			return evReset{OK: draw(2, "reset") == 0}
		}
		return evLaunch{}
	case 6, 7:
		return evEnded{How: []ending{fine, broken, crashed, unbegun}[draw(4, "how")]}
	case 8:
		return evOverdue{}
	case 9:
		return evStuck{}
	case 10:
		return evCancel{Task: c.Order.Task, Cause: []api.Cause{api.CauseClient, api.CauseAsked}[draw(2, "cause")]}
	case 11:
		return evExpired{Session: ids[draw(3, "id")]}
	case 12:
		if m.ready {
			return evGone{}
		}
		return evRenew{}
	case 13:
		return []event{evDrain{}, evInterrupt{}, evDismiss{}, evDisown{account}}[draw(4, "drain")]
	case 14:
		m.tasks++
		return []event{
			evUnheld{Session: ids[draw(3, "id")]}, evTaken{Session: ids[draw(3, "id")]},
			evAdopt{Session: fmt.Sprint("sess_", m.tasks), Account: account},
		}[draw(3, "owner")]
	case 15:
		return []event{evSuspended{}, evResume{}}[draw(2, "after drain")]
	default:
		return evRenew{}
	}
}

func (m *stateModel) check(c condition, e event, next condition, do []effect) {
	t := m.t
	if cl, ok := e.(evClaim); ok {
		m.owed[cl.Task] = true
	}
	switch e.(type) {
	case evUp:
		m.ready = true
	case evFailed, evGone:
		m.browser, m.ready, m.cleaning = false, false, false
	case evReset:
		m.cleaning = false
	case evEnded:
		m.playing = ""
	}
	claimed := c.Order.Task
	if cl, ok := e.(evClaim); ok && claimed == "" {
		claimed = cl.Task
	}
	for _, eff := range do {
		m.effect(e, eff, claimed)
	}
	switch {
	case next.Running && (next.Browser != ready || !next.claimed()):
		t.Fatalf("%T: a task runs without a browser or a claim: %+v", e, next)
	case (next.Session == "") != (next.Holder == ""):
		t.Fatalf("%T: a session without a holder, or the other way: %+v", e, next)
	case next.state() == api.Reserved && !m.sessions[next.Session]:
		t.Fatalf("%T: reserved without a session: %+v", e, next)
	case len(m.sessions) > 1 || next.Session != "" && !m.sessions[next.Session]:
		t.Fatalf("%T: sessions %v, but the worker has %q", e, m.sessions, next.Session)
	case next.Running != (m.playing != ""):
		t.Fatalf("%T: running is %v, but %q plays", e, next.Running, m.playing)
	case next.state() == api.Online && !next.Draining && !m.browser:
		t.Fatalf("%T: online without a browser: %+v", e, next)
	case next.Browser == ready && (!m.ready && !next.Dead || m.cleaning):
		t.Fatalf("%T: ready on a browser that is not: %+v", e, next)
	case next.Browser == down && !next.Draining && !relaunches(do) && c.Browser != down:
		t.Fatalf("%T: down, and nobody asks for a browser: %v", e, do)
	}
	if next.claimable() && next.refusal(order{Task: "next", Intent: plain}) != "" {
		t.Fatalf("%T: claimable, and a claim is refused: %+v", e, next)
	}
	switch e := e.(type) {
	case evDismiss:
		if !next.Draining || next.Session != "" && !(next.Running && next.Ends) {
			t.Fatalf("dismissed, but it goes on: %+v", next)
		}
	case evTaken:
		if e.Session != "" && next.Session == e.Session && !(next.Running && next.Ends) {
			t.Fatalf("%s goes on although another node has it: %+v", e.Session, next)
		}
	case evUnheld:
		if e.Session != "" && c.Session == e.Session && next.claimed() && next.Cause == "" {
			t.Fatalf("a task goes on in %s, which another node may have: %+v", e.Session, next)
		}
	case evAdopt:
		if c.Session == "" && !c.claimed() && (next.Session != e.Session || next.state() == api.Online) {
			t.Fatalf("%s was not adopted: %+v", e.Session, next)
		}
	case evDisown:
		if next.Holder == e.Account && !(next.Running && next.Ends) || next.Order.Account == e.Account && next.Cause == "" {
			t.Fatalf("%s goes on after it was removed: %+v", e.Account, next)
		}
	}
	if c.Ends && !next.Running && (next.Session != "" || next.Ends) {
		t.Fatalf("%T: the session goes on after its end: %+v", e, next)
	}
	for task := range m.owed {
		if task != next.Order.Task {
			t.Fatalf("%T: %s was neither answered nor sent back", e, task)
		}
	}
	if next.claimed() && m.owed[next.Order.Task] == next.Answered {
		t.Fatalf("%T: %s answered %v, owed %v", e, next.Order.Task, next.Answered, m.owed[next.Order.Task])
	}
}

func relaunches(do []effect) bool {
	for _, eff := range do {
		switch eff.(type) {
		case efRelaunch, efLaunch:
			return true
		}
	}
	return false
}

func (m *stateModel) effect(e event, eff effect, claimed string) {
	t := m.t
	answered := func(task string) {
		if !m.owed[task] {
			t.Fatalf("%T: %s is answered a second time by %T", e, task, eff)
		}
		delete(m.owed, task)
	}
	switch eff := eff.(type) {
	case efRefuse:
		answered(e.(evClaim).Task)
	case efGiveUp:
		answered(claimed)
	case efAnswer:
		answered(claimed)
		if eff.Session != "" && !m.sessions[eff.Session] {
			t.Fatalf("%T: the answer names %s, which is not open", e, eff.Session)
		}
		if eff.End == engine.EndCompleted && m.playing != "" && !eff.Played {
			t.Fatalf("%T: completed, but it still plays", e)
		}
	case efRun:
		if m.playing != "" {
			t.Fatalf("%T: a second task on the browser while %s plays", e, m.playing)
		}
		m.playing = claimed
	case efReset:
		if m.playing != "" || !m.ready || len(m.owed) > 0 && m.owed[claimed] {
			t.Fatalf("%T: reset while %q plays, ready %v, owed %v", e, m.playing, m.ready, m.owed)
		}
		m.cleaning = true
	case efKill:
		m.browser, m.ready, m.cleaning, m.playing = false, false, false, ""
	case efLaunch:
		if m.browser {
			t.Fatalf("%T: a second browser", e)
		}
		m.browser = true
	case efAdopt:
		m.sessions[eff.Session] = true
	case efOpen:
		m.sessions[eff.Session] = true
	case efForget:
		delete(m.sessions, eff.Session)
	case efRename:
		delete(m.sessions, eff.From)
		m.sessions[eff.To] = true
	}
}
