package fsm

import (
	"troupe/actors/api"
	"troupe/engine"
)

// Step decides everything for a worker: it takes a condition and an event, and
// returns the next condition and the effects to carry out. It knows no time and
// no actors. An event that does not fit the condition came late and changes
// nothing.
func Step(c Condition, e Event) (Condition, []Effect) {
	switch e := e.(type) {
	case ClaimReceived:
		if code := c.Refusal(e.Claim); code != "" {
			return c, []Effect{RefuseClaim{code}}
		}
		c.Claim = e.Claim
		if c.Browser == Ready {
			return begin(c)
		}
		return c, nil // until the browser is clean
	case RunEnded:
		if c.Running {
			return finish(c, e.How, true)
		}
	case RunOverdue:
		return overdue(c)
	case RunStuck:
		if c.Running {
			return finish(c, Broken, false)
		}
	case CancelRequested:
		if c.HasClaim() && c.Claim.Task == e.Task {
			return cancel(c, e.Cause)
		}
	case SessionExpired:
		return expire(c, e.Session)
	case DrainRequested:
		return drain(c)
	case InterruptRequested:
		if c.HasClaim() {
			return cancel(c, api.CauseDrain)
		}
	case RemovalRequested:
		return removeWorker(c)
	case AccountRemoved:
		return removeAccount(c, e.Account)
	case LeaseLost:
		if c.HasClaim() && c.Session == e.Session {
			return cancel(c, api.CauseLeaseLost)
		}
	case SessionTaken:
		return taken(c, e.Session)
	case SessionReceived:
		return adopt(c, e)
	default:
		return stepBrowser(c, e)
	}
	return c, nil
}

// begin starts what was claimed, on a browser that is ready for it.
func begin(c Condition) (Condition, []Effect) {
	var do []Effect
	switch o := c.Claim; {
	case o.Intent == Open || o.Intent == Override && c.Session == "":
		c.Session, c.Holder, c.Opened = o.Fresh, o.Account, true
		do = append(do, OpenSession{c.Session})
	case o.Intent == Override:
		// The browser keeps its state under a new name. The session counts as one
		// that existed: a client that goes away loses nothing.
		do = append(do, RenameSession{From: c.Session, To: o.Fresh})
		c.Session = o.Fresh
	}
	c.Running = true // even with nothing to play: its session is written down
	return c, append(do, StartRun{})
}

// finish ends the claim: its answer, its session, its browser, in this order.
func finish(c Condition, how Ending, played bool) (Condition, []Effect) {
	if how == NotStarted { // a refusal names no session
		c.Ends, how = c.Ends || c.Opened, OK
	}
	if c.Dead {
		how = Crashed
	}
	var do []Effect
	if !c.Answered {
		end := engine.EndCompleted
		if c.Running {
			end = c.end()
		}
		do = append(do, SendAnswer{End: end, Played: played, Session: c.KeptSession()})
	}
	keeps, dirty := c.keeps(), c.Running
	if c.Session != "" && !keeps {
		do = append(do, EndSession{c.Session})
		c.Session, c.Holder, dirty = "", "", true
	}
	if keeps {
		do = append(do, RestartSessionTimer{c.Session})
	}
	c = Condition{Browser: c.Browser, Session: c.Session, Holder: c.Holder, Draining: c.Draining}
	switch {
	case c.Draining:
		c.Browser = Down
		return c, append(do, CloseBrowser{})
	case how == Crashed:
		c.Browser = Down
		return c, append(do, CloseBrowser{}, RequestLaunch{})
	case how == Broken && keeps:
		c.Browser = Starting
		return c, append(do, CloseBrowser{}, LaunchBrowser{})
	case how == Broken:
		c.Browser = Cleaning
		return c, append(do, CloseBrowser{}, LaunchBrowser{})
	case !keeps && dirty:
		c.Browser = Cleaning
		return c, append(do, ResetBrowser{})
	}
	return c, do
}

// overdue answers a client whose task does not stop. The task itself gets some
// more time, so that a session is not lost to a moment's delay; a dead browser
// gets none.
func overdue(c Condition) (Condition, []Effect) {
	switch {
	case !c.Running:
		return c, nil
	case c.Dead:
		return finish(c, Crashed, false)
	case c.Answered:
		return c, nil
	}
	c.Answered = true
	return c, []Effect{SendAnswer{End: c.end(), Session: c.KeptSession()}}
}

func cancel(c Condition, cause api.Cause) (Condition, []Effect) {
	if !c.Running { // it waits for a clean browser, and has touched nothing
		c.Claim = Claim{}
		return c, []Effect{SendAnswer{End: endOf(cause)}}
	}
	c.Orphan = c.Orphan || cause == api.CauseClient
	if c.Cause != "" {
		return c, nil
	}
	c.Cause = cause
	return c, []Effect{StopRun{cause}}
}

func expire(c Condition, session string) (Condition, []Effect) {
	if c.Session != session || session == "" || c.HasClaim() {
		return c, nil
	}
	c.Session, c.Holder = "", ""
	do := []Effect{EndSession{session}}
	switch c.Browser {
	case Ready:
		c.Browser = Cleaning
		do = append(do, ResetBrowser{})
	case Starting:
		c.Stale = true
	}
	return c, do
}

// removeAccount ends what a removed account has here: its task, and its session.
func removeAccount(c Condition, account string) (Condition, []Effect) {
	switch {
	case c.HasClaim() && c.Claim.Account == account:
		c.Ends = c.Running
		return cancel(c, api.CauseRemoved)
	case c.Holder == account:
		return expire(c, c.Session)
	}
	return c, nil
}
