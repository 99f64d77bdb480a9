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
		do = append(do, ReturnClaim{engine.CodeWorkerOffline})
	case c.Browser == Ready && c.Session != "":
		c.Browser = Leaving
		return c, []Effect{SaveSession{c.Session}}
	case c.Browser == Down, c.Browser == Leaving:
		return c, nil
	}
	c.Browser, c.Stale = Down, false
	return c, append(do, CloseBrowser{})
}

// leave closes a browser whose session is saved. A worker that was resumed
// meanwhile gets a new one.
func leave(c Condition) (Condition, []Effect) {
	if c.Draining {
		c.Browser = Down
		return c, []Effect{CloseBrowser{}}
	}
	c.Browser = Starting
	return c, []Effect{CloseBrowser{}, LaunchBrowser{}}
}

// resume takes a drain back, however far it has come.
func resume(c Condition) (Condition, []Effect) {
	if !c.Draining {
		return c, nil
	}
	c.Draining = false
	if c.Browser == Down {
		c.Browser = Starting
		return c, []Effect{LaunchBrowser{}}
	}
	return c, nil // its task goes on, or its session is still being saved
}

// removeWorker is a drain for good: the session ends.
func removeWorker(c Condition) (Condition, []Effect) {
	if c.Running {
		c.Ends = true
		return drain(c)
	}
	var do []Effect
	if c.Session != "" {
		do = append(do, EndSession{c.Session})
		c.Session, c.Holder = "", ""
	}
	if c.Browser == Leaving { // what is being saved is of no use any more
		c.Draining, c.Browser = true, Down
		return c, append(do, CloseBrowser{})
	}
	c, more := drain(c)
	return c, append(do, more...)
}
