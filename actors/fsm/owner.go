package fsm

import "troupe/actors/api"

// taken ends a session that another node has. The record on disk is that node's.
func taken(c Condition, session string) (Condition, []Effect) {
	if c.Session != session || session == "" {
		return c, nil
	}
	if c.Running {
		c.Ends = true
		return cancel(c, api.CauseLeaseLost)
	}
	var do []Effect
	if c.HasClaim() {
		c, do = cancel(c, api.CauseLeaseLost)
	}
	c, more := expire(c, session)
	return c, append(do, more...)
}

// adopt gives the worker a session that another one had. Its state is restored
// into a new browser, as after a crash.
func adopt(c Condition, e SessionReceived) (Condition, []Effect) {
	if c.Session != "" || c.HasClaim() {
		return c, nil
	}
	c.Session, c.Holder, c.Stale = e.Session, e.Account, false
	do := []Effect{ReceiveSession{e.Session}}
	switch {
	case c.Browser == Down:
		return c, do // the next one gets it
	case c.Draining:
		c.Browser = Down
		return c, append(do, CloseBrowser{})
	}
	c.Browser = Starting
	return c, append(do, CloseBrowser{}, LaunchBrowser{})
}
