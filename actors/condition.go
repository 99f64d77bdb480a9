package actors

import (
	"troupe/actors/api"
	"troupe/engine"
)

// browserState is how far a worker's browser is.
type browserState string

const (
	down     browserState = "down"     // there is none, and the supervisor says when to try again
	starting browserState = "starting" // it is being launched
	ready    browserState = "ready"    // it waits for a task, plays one, or keeps a session
	cleaning browserState = "cleaning" // it is being reset or replaced between tasks; a claim waits
	leaving  browserState = "leaving"  // its session is being saved before it is closed
)

// intent is what a request wants of sessions.
type intent string

const (
	plain intent = "plain"    // nothing
	open  intent = "open"     // preserve: reserve the worker
	goOn  intent = "go-on"    // continue the session with this id
	shut  intent = "shut"     // close the session with this id
	seize intent = "override" // take over what the account has reserved, or open
)

// intentOf reads a task's intent. A session object that asks for nothing is
// none.
func intentOf(t *engine.Task) intent {
	s := t.Session
	switch {
	case s == nil:
		return plain
	case s.Override:
		return seize
	case s.Close:
		return shut
	case s.ID != "":
		return goOn
	case s.Preserve:
		return open
	default:
		return plain
	}
}

// order is what a worker has to know of a claim to decide on it.
type order struct {
	Task    string
	Account string
	Intent  intent
	ID      string // the session that the request names
	Fresh   string // the id of the session that the request opens, if it opens one
}

// condition is all that decides what a worker does next. Its public state is
// read off it, never stored beside it, so the two cannot disagree.
type condition struct {
	Browser  browserState
	Session  string    // the session that holds the worker
	Holder   string    // the account of that session
	Order    order     // the claim; its Task is empty when there is none
	Running  bool      // the claim is being played; else it waits for a clean browser
	Answered bool      // its client has its answer although it still runs
	Opened   bool      // it has opened the session that holds the worker
	Orphan   bool      // its client went away
	Ends     bool      // the session ends with the claim, whatever was asked for
	Cause    api.Cause // why it was told to end
	Dead     bool      // its browser died under it
	Stale    bool      // the browser that is starting puts back a session that has ended
	Draining bool
}

// state is what others see.
func (c condition) state() api.State {
	switch {
	case c.claimed():
		return api.Busy
	case c.Browser == down || c.Browser == starting:
		return api.Offline
	case c.Session != "":
		return api.Reserved
	default:
		return api.Online
	}
}

func (c condition) claimed() bool { return c.Order.Task != "" }

// claimable reports whether a claim without a session would be taken.
func (c condition) claimable() bool {
	return c.state() == api.Online && !c.Draining && c.Browser != leaving
}

// refusal says why the worker does not take an order, or nothing. What can
// never succeed comes before what may succeed later.
func (c condition) refusal(o order) engine.Code {
	named := o.Intent == goOn || o.Intent == shut
	switch {
	case named && (o.ID != c.Session || o.Account != c.Holder || o.ID == ""):
		return engine.CodeSessionMismatch
	case c.claimed():
		return engine.CodeWorkerBusy
	case c.Draining || c.Browser == down || c.Browser == starting || c.Browser == leaving:
		return engine.CodeWorkerOffline
	case c.Session == "" || named:
		return ""
	case o.Intent == seize && o.Account == c.Holder:
		return ""
	default:
		return engine.CodeWorkerReserved
	}
}

// keeps reports whether a session holds the worker after the present claim.
func (c condition) keeps() bool {
	return c.Session != "" && c.Order.Intent != shut && !c.Ends && !(c.Opened && c.Orphan)
}

// kept is the session that the claim's answer names.
func (c condition) kept() string {
	if !c.keeps() {
		return ""
	}
	return c.Session
}

// end is how a claim ends that does not say so itself.
func (c condition) end() engine.End {
	switch {
	case c.Dead:
		return engine.EndCrashed
	case c.Cause == "":
		return engine.EndTimeout
	default:
		return endOf(c.Cause)
	}
}

// endOf is how a task ends that was cancelled for a cause.
func endOf(c api.Cause) engine.End {
	if c == api.CauseDrain || c == api.CauseUnheld {
		return engine.EndInterrupted
	}
	return engine.EndCancelled
}
