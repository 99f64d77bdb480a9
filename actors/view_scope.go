package actors

import (
	"troupe/actors/fsm"
	"troupe/actors/view"
	"troupe/engine"
)

// scopeOf says which account may see the browser of a worker. Nobody sees a
// browser that is being cleaned, or saved for a session's next one.
func scopeOf(c fsm.Condition, b *browser) view.Scope {
	switch {
	case c.Browser != fsm.Ready:
		return view.Scope{}
	case c.Running:
		return view.Scope{Account: c.Claim.Account, Session: c.Session, Task: c.Claim.Task, Browser: b}
	case c.Session != "":
		return view.Scope{Account: c.Holder, Session: c.Session, Browser: b}
	}
	return view.Scope{}
}

// Instance returns what the browser plays on; nil before it is up.
func (b *browser) Instance() engine.Instance {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inst
}

// Lost reports whether the browser has ended.
func (b *browser) Lost() bool {
	in := b.Instance()
	if in == nil {
		return true
	}
	select {
	case <-in.Gone():
		return true
	default:
		return false
	}
}
