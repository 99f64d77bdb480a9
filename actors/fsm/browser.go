package fsm

import "troupe/engine"

// stepBrowser is the part of step that is about the browser's own life.
func stepBrowser(c Condition, e Event) (Condition, []Effect) {
	switch e := e.(type) {
	case EvLaunch:
		if c.Browser == Down && !c.Draining {
			c.Browser = Starting
			return c, []Effect{EfLaunch{}}
		}
	case EvResume:
		return resume(c)
	case EvSuspended:
		if c.Browser == Leaving {
			return leave(c)
		}
	case EvUp:
		if c.Browser == Starting || c.Browser == Cleaning {
			return up(c, e.Lost)
		}
	case EvFailed:
		if c.Browser == Starting || c.Browser == Cleaning {
			return failed(c)
		}
	case EvGone:
		return gone(c)
	case EvReset:
		switch {
		case c.Browser != Cleaning:
		case e.OK:
			return becomeReady(c)
		default: // still claimable: a claim waits for the new browser
			return c, []Effect{EfKill{}, EfLaunch{}}
		}
	case EvRenew:
		if c.Browser == Ready && !c.HasClaim() && c.Session == "" {
			c.Browser = Cleaning
			return c, []Effect{EfKill{}, EfLaunch{}}
		}
	}
	return c, nil
}

func up(c Condition, lost bool) (Condition, []Effect) {
	var do []Effect
	if lost && c.Session != "" {
		do = append(do, EfForget{c.Session})
		c.Session, c.Holder = "", ""
	}
	if lost || c.Stale { // half of somebody's state may be in it
		c.Browser, c.Stale = Cleaning, false
		return c, append(do, EfReset{})
	}
	return becomeReady(c)
}

func becomeReady(c Condition) (Condition, []Effect) {
	c.Browser = Ready
	if c.HasClaim() {
		return begin(c)
	}
	return c, nil
}

func failed(c Condition) (Condition, []Effect) {
	var do []Effect
	if c.HasClaim() {
		c.Claim = Claim{}
		do = append(do, EfGiveUp{engine.CodeWorkerOffline})
	}
	c.Browser, c.Stale = Down, false
	return c, append(do, EfRelaunch{})
}

func gone(c Condition) (Condition, []Effect) {
	switch {
	case c.Running && c.Dead:
		return c, nil
	case c.Running: // it should end by itself; overdue comes soon
		c.Dead = true
		return c, []Effect{EfHurry{}}
	case c.Browser == Ready:
		c.Browser = Down
		return c, []Effect{EfKill{}, EfRelaunch{}}
	case c.Browser == Cleaning:
		return c, []Effect{EfKill{}, EfLaunch{}}
	case c.Browser == Leaving:
		return leave(c)
	}
	return c, nil
}
