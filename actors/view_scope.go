package actors

import (
	"troupe/actors/fsm"
	"troupe/engine"
)

// sceneOf says whose the browser of a worker is. A browser that is being made
// clean, or saved for a session's next one, is nobody's.
func sceneOf(c fsm.Condition, b *browser) scene {
	switch {
	case c.Browser != fsm.Ready:
		return scene{}
	case c.Running:
		return scene{c.Claim.Account, c.Session, c.Claim.Task, b}
	case c.Session != "":
		return scene{account: c.Holder, session: c.Session, browser: b}
	}
	return scene{}
}

// instance is what the browser plays on; nil before it is up.
func (b *browser) Instance() engine.Instance {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inst
}

// lost reports whether the browser has ended.
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
