package fsm

import (
	"troupe/actors/api"
	"troupe/engine"
)

// BrowserState is how far a worker's browser is.
type BrowserState string

// The states of a browser.
const (
	Down     BrowserState = "down"     // there is none, and the supervisor says when to try again
	Starting BrowserState = "starting" // it is being launched
	Ready    BrowserState = "ready"    // it waits for a task, plays one, or keeps a session
	Cleaning BrowserState = "cleaning" // it is being reset or replaced between tasks; a claim waits
	Leaving  BrowserState = "leaving"  // its session is being saved before it is closed
)

// Intent is what a request wants of sessions.
type Intent string

// The intents.
const (
	Plain    Intent = "plain"    // nothing
	Open     Intent = "open"     // preserve: reserve the worker
	Resume   Intent = "go-on"    // continue the session with this id
	Close    Intent = "shut"     // close the session with this id
	Override Intent = "override" // take over what the account has reserved, or open
)

// IntentOf reads a task's intent. An empty session object counts as none.
func IntentOf(t *engine.Task) Intent {
	s := t.Session
	switch {
	case s == nil:
		return Plain
	case s.Override:
		return Override
	case s.Close:
		return Close
	case s.ID != "":
		return Resume
	case s.Preserve:
		return Open
	default:
		return Plain
	}
}

// Claim is what a worker needs to know of a task to decide on it.
type Claim struct {
	Task    string
	Account string
	Intent  Intent
	ID      string // the session that the request names
	Fresh   string // the id of the session that the request opens, if it opens one
}

// Condition is all that decides what a worker does next. Its public state is
// derived from it and never stored, so the two cannot disagree.
type Condition struct {
	Browser  BrowserState
	Session  string    // the session that holds the worker
	Holder   string    // the account of that session
	Claim    Claim     // the claim; its Task is empty without one
	Running  bool      // the claim is being played; else it waits for a clean browser
	Answered bool      // its client has its answer although it still runs
	Opened   bool      // it has opened the session that holds the worker
	Orphan   bool      // its client went away
	Ends     bool      // the session ends with the claim, whatever was asked for
	Cause    api.Cause // why it was cancelled
	Dead     bool      // its browser died under it
	Stale    bool      // the browser that is starting puts back a session that has ended
	Draining bool
}

// State is what others see.
func (c Condition) State() api.State {
	switch {
	case c.HasClaim():
		return api.Busy
	case c.Browser == Down || c.Browser == Starting:
		return api.Offline
	case c.Session != "":
		return api.Reserved
	default:
		return api.Online
	}
}

// HasClaim reports whether the worker has a task, running or not.
func (c Condition) HasClaim() bool { return c.Claim.Task != "" }

// Claimable reports whether a claim without a session would be taken.
func (c Condition) Claimable() bool {
	return c.State() == api.Online && !c.Draining && c.Browser != Leaving
}

// Idle reports whether the browser is clean and nobody has it.
func (c Condition) Idle() bool { return c.Claimable() && c.Browser == Ready }

// Refusal says why the worker does not take a claim; empty: it takes it.
// Permanent reasons come before temporary ones.
func (c Condition) Refusal(o Claim) engine.Code {
	named := o.Intent == Resume || o.Intent == Close
	switch {
	case named && (o.ID != c.Session || o.Account != c.Holder || o.ID == ""):
		return engine.CodeSessionMismatch
	case c.HasClaim():
		return engine.CodeWorkerBusy
	case c.Draining || c.Browser == Down || c.Browser == Starting || c.Browser == Leaving:
		return engine.CodeWorkerOffline
	case c.Session == "" || named:
		return ""
	case o.Intent == Override && o.Account == c.Holder:
		return ""
	default:
		return engine.CodeWorkerReserved
	}
}

// keeps reports whether a session holds the worker after the present claim.
func (c Condition) keeps() bool {
	return c.Session != "" && c.Claim.Intent != Close && !c.Ends && !(c.Opened && c.Orphan)
}

// KeptSession is the session that the claim's answer names.
func (c Condition) KeptSession() string {
	if !c.keeps() {
		return ""
	}
	return c.Session
}

// end is how a claim ends that does not say so itself.
func (c Condition) end() engine.End {
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
	if c == api.CauseDrain || c == api.CauseLeaseLost {
		return engine.EndInterrupted
	}
	return engine.EndCancelled
}
