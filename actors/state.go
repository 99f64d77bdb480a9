package actors

import (
	"troupe/actors/api"
	"troupe/engine"
)

// step is everything a worker decides: what an event makes of its condition,
// and what has to be done. It knows no time and no actors. An event that does
// not fit the condition came late, and changes nothing.
func step(c condition, e event) (condition, []effect) {
	switch e := e.(type) {
	case evClaim:
		if code := c.refusal(e.order); code != "" {
			return c, []effect{efRefuse{code}}
		}
		c.Order = e.order
		if c.Browser == ready {
			return begin(c)
		}
		return c, nil // until the browser is clean
	case evEnded:
		if c.Running {
			return finish(c, e.How, true)
		}
	case evOverdue:
		return overdue(c)
	case evStuck:
		if c.Running {
			return finish(c, broken, false)
		}
	case evCancel:
		if c.claimed() && c.Order.Task == e.Task {
			return cancel(c, e.Cause)
		}
	case evExpired:
		return expire(c, e.Session)
	case evDrain:
		return drain(c)
	case evInterrupt:
		if c.claimed() {
			return cancel(c, api.CauseDrain)
		}
	case evDismiss:
		return dismiss(c)
	case evDisown:
		return disown(c, e.Account)
	case evUnheld:
		if c.claimed() && c.Session == e.Session {
			return cancel(c, api.CauseUnheld)
		}
	case evTaken:
		return taken(c, e.Session)
	case evAdopt:
		return adopt(c, e)
	default:
		return stepBrowser(c, e)
	}
	return c, nil
}

// begin starts what was claimed, on a browser that is ready for it.
func begin(c condition) (condition, []effect) {
	var do []effect
	switch o := c.Order; {
	case o.Intent == open || o.Intent == seize && c.Session == "":
		c.Session, c.Holder, c.Opened = o.Fresh, o.Account, true
		do = append(do, efOpen{c.Session})
	case o.Intent == seize:
		// The browser keeps its state under a new name. The session counts as one
		// that existed: a client that goes away loses nothing.
		do = append(do, efRename{From: c.Session, To: o.Fresh})
		c.Session = o.Fresh
	}
	c.Running = true // even with nothing to play: its session is written down
	return c, append(do, efRun{})
}

// finish ends the claim: its answer, its session, its browser, in this order.
func finish(c condition, how ending, played bool) (condition, []effect) {
	if how == unbegun { // a refusal names no session
		c.Ends, how = c.Ends || c.Opened, fine
	}
	if c.Dead {
		how = crashed
	}
	var do []effect
	if !c.Answered {
		end := engine.EndCompleted
		if c.Running {
			end = c.end()
		}
		do = append(do, efAnswer{End: end, Played: played, Session: c.kept()})
	}
	keeps, dirty := c.keeps(), c.Running
	if c.Session != "" && !keeps {
		do = append(do, efForget{c.Session})
		c.Session, c.Holder, dirty = "", "", true
	}
	if keeps {
		do = append(do, efRest{c.Session})
	}
	c = condition{Browser: c.Browser, Session: c.Session, Holder: c.Holder, Draining: c.Draining}
	switch {
	case c.Draining:
		c.Browser = down
		return c, append(do, efKill{})
	case how == crashed:
		c.Browser = down
		return c, append(do, efKill{}, efRelaunch{})
	case how == broken && keeps:
		c.Browser = starting
		return c, append(do, efKill{}, efLaunch{})
	case how == broken:
		c.Browser = cleaning
		return c, append(do, efKill{}, efLaunch{})
	case !keeps && dirty:
		c.Browser = cleaning
		return c, append(do, efReset{})
	}
	return c, do
}

// overdue answers a client whose task does not stop. The task itself gets some
// more time, so that a session is not lost to a moment's delay; a dead browser
// gets none.
func overdue(c condition) (condition, []effect) {
	switch {
	case !c.Running:
		return c, nil
	case c.Dead:
		return finish(c, crashed, false)
	case c.Answered:
		return c, nil
	}
	c.Answered = true
	return c, []effect{efAnswer{End: c.end(), Session: c.kept()}}
}

func cancel(c condition, cause api.Cause) (condition, []effect) {
	if !c.Running { // it waits for a clean browser, and has touched nothing
		c.Order = order{}
		return c, []effect{efAnswer{End: endOf(cause)}}
	}
	c.Orphan = c.Orphan || cause == api.CauseClient
	if c.Cause != "" {
		return c, nil
	}
	c.Cause = cause
	return c, []effect{efStop{cause}}
}

func expire(c condition, session string) (condition, []effect) {
	if c.Session != session || session == "" || c.claimed() {
		return c, nil
	}
	c.Session, c.Holder = "", ""
	do := []effect{efForget{session}}
	switch c.Browser {
	case ready:
		c.Browser = cleaning
		do = append(do, efReset{})
	case starting:
		c.Stale = true
	}
	return c, do
}

// disown ends what a removed account has here: its task, and its session.
func disown(c condition, account string) (condition, []effect) {
	switch {
	case c.claimed() && c.Order.Account == account:
		c.Ends = c.Running
		return cancel(c, api.CauseRemoved)
	case c.Holder == account:
		return expire(c, c.Session)
	}
	return c, nil
}
