package fsm

import "troupe/engine"

// drain stops the worker when it can. Its session is saved first, and goes on
// when the worker comes back.
func drain(c Condition) (Condition, []Effect) {
	if c.Draining {
		return c, nil
	}
	c.Draining = true
	var do []Effect
	switch {
	case c.Running:
		return c, nil // finish closes the browser
	case c.HasClaim():
		c.Claim = Claim{}
		do = append(do, EfGiveUp{engine.CodeWorkerOffline})
	case c.Browser == Ready && c.Session != "":
		c.Browser = Leaving
		return c, []Effect{EfSuspend{c.Session}}
	case c.Browser == Down, c.Browser == Leaving:
		return c, nil
	}
	c.Browser, c.Stale = Down, false
	return c, append(do, EfKill{})
}

// leave closes a browser whose session is saved. A worker that was resumed
// meanwhile gets a new one.
func leave(c Condition) (Condition, []Effect) {
	if c.Draining {
		c.Browser = Down
		return c, []Effect{EfKill{}}
	}
	c.Browser = Starting
	return c, []Effect{EfKill{}, EfLaunch{}}
}

// resume takes a drain back, however far it has come.
func resume(c Condition) (Condition, []Effect) {
	if !c.Draining {
		return c, nil
	}
	c.Draining = false
	if c.Browser == Down {
		c.Browser = Starting
		return c, []Effect{EfLaunch{}}
	}
	return c, nil // its task goes on, or its session is still being saved
}

// dismiss is a drain for good: the session ends.
func dismiss(c Condition) (Condition, []Effect) {
	if c.Running {
		c.Ends = true
		return drain(c)
	}
	var do []Effect
	if c.Session != "" {
		do = append(do, EfForget{c.Session})
		c.Session, c.Holder = "", ""
	}
	if c.Browser == Leaving { // what is being saved is of no use any more
		c.Draining, c.Browser = true, Down
		return c, append(do, EfKill{})
	}
	c, more := drain(c)
	return c, append(do, more...)
}
