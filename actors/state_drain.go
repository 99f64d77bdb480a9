package actors

import "troupe/engine"

// drain stops the worker when it can. Its session is saved first, and goes on
// when the worker comes back.
func drain(c condition) (condition, []effect) {
	if c.Draining {
		return c, nil
	}
	c.Draining = true
	var do []effect
	switch {
	case c.Running:
		return c, nil // finish closes the browser
	case c.claimed():
		c.Order = order{}
		do = append(do, efGiveUp{engine.CodeWorkerOffline})
	case c.Browser == ready && c.Session != "":
		c.Browser = leaving
		return c, []effect{efSuspend{c.Session}}
	case c.Browser == down, c.Browser == leaving:
		return c, nil
	}
	c.Browser, c.Stale = down, false
	return c, append(do, efKill{})
}

// leave closes a browser whose session is saved. A worker that was told to
// come back meanwhile gets a new one.
func leave(c condition) (condition, []effect) {
	if c.Draining {
		c.Browser = down
		return c, []effect{efKill{}}
	}
	c.Browser = starting
	return c, []effect{efKill{}, efLaunch{}}
}

// resume takes a drain back, however far it has come.
func resume(c condition) (condition, []effect) {
	if !c.Draining {
		return c, nil
	}
	c.Draining = false
	if c.Browser == down {
		c.Browser = starting
		return c, []effect{efLaunch{}}
	}
	return c, nil // its task goes on, or its session is still being saved
}

// dismiss is a drain after which nothing comes back: the session ends here.
func dismiss(c condition) (condition, []effect) {
	if c.Running {
		c.Ends = true
		return drain(c)
	}
	var do []effect
	if c.Session != "" {
		do = append(do, efForget{c.Session})
		c.Session, c.Holder = "", ""
	}
	if c.Browser == leaving { // what is being saved is of no use any more
		c.Draining, c.Browser = true, down
		return c, append(do, efKill{})
	}
	c, more := drain(c)
	return c, append(do, more...)
}
