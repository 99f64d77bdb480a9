package actors

import "troupe/actors/api"

// taken ends a session that another node has. What is on disk is that node's.
func taken(c condition, session string) (condition, []effect) {
	if c.Session != session || session == "" {
		return c, nil
	}
	if c.Running {
		c.Ends = true
		return cancel(c, api.CauseUnheld)
	}
	var do []effect
	if c.claimed() {
		c, do = cancel(c, api.CauseUnheld)
	}
	c, more := expire(c, session)
	return c, append(do, more...)
}

// adopt makes the worker that of a session that another one had. The state is put
// into a new browser, as after a crash.
func adopt(c condition, e evAdopt) (condition, []effect) {
	if c.Session != "" || c.claimed() {
		return c, nil
	}
	c.Session, c.Holder, c.Stale = e.Session, e.Account, false
	do := []effect{efAdopt{e.Session}}
	switch {
	case c.Browser == down:
		return c, do // the next one gets it
	case c.Draining:
		c.Browser = down
		return c, append(do, efKill{})
	}
	c.Browser = starting
	return c, append(do, efKill{}, efLaunch{})
}
