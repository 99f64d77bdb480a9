package actors

import "troupe/engine"

// stepBrowser is the part of step that is about the browser's own life.
func stepBrowser(c condition, e event) (condition, []effect) {
	switch e := e.(type) {
	case evLaunch:
		if c.Browser == down && !c.Draining {
			c.Browser = starting
			return c, []effect{efLaunch{}}
		}
	case evResume:
		return resume(c)
	case evSuspended:
		if c.Browser == leaving {
			return leave(c)
		}
	case evUp:
		if c.Browser == starting || c.Browser == cleaning {
			return up(c, e.Lost)
		}
	case evFailed:
		if c.Browser == starting || c.Browser == cleaning {
			return failed(c)
		}
	case evGone:
		return gone(c)
	case evReset:
		switch {
		case c.Browser != cleaning:
		case e.OK:
			return becomeReady(c)
		default: // still claimable: a claim waits for the new browser
			return c, []effect{efKill{}, efLaunch{}}
		}
	case evRenew:
		if c.Browser == ready && !c.claimed() && c.Session == "" {
			c.Browser = cleaning
			return c, []effect{efKill{}, efLaunch{}}
		}
	}
	return c, nil
}

func up(c condition, lost bool) (condition, []effect) {
	var do []effect
	if lost && c.Session != "" {
		do = append(do, efForget{c.Session})
		c.Session, c.Holder = "", ""
	}
	if lost || c.Stale { // half of somebody's state may be in it
		c.Browser, c.Stale = cleaning, false
		return c, append(do, efReset{})
	}
	return becomeReady(c)
}

func becomeReady(c condition) (condition, []effect) {
	c.Browser = ready
	if c.claimed() {
		return begin(c)
	}
	return c, nil
}

func failed(c condition) (condition, []effect) {
	var do []effect
	if c.claimed() {
		c.Order = order{}
		do = append(do, efGiveUp{engine.CodeWorkerOffline})
	}
	c.Browser, c.Stale = down, false
	return c, append(do, efRelaunch{})
}

func gone(c condition) (condition, []effect) {
	switch {
	case c.Running && c.Dead:
		return c, nil
	case c.Running: // it should end by itself; overdue comes soon
		c.Dead = true
		return c, []effect{efHurry{}}
	case c.Browser == ready:
		c.Browser = down
		return c, []effect{efKill{}, efRelaunch{}}
	case c.Browser == cleaning:
		return c, []effect{efKill{}, efLaunch{}}
	case c.Browser == leaving:
		return leave(c)
	}
	return c, nil
}
