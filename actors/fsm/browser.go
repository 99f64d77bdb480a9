package fsm

import "troupe/engine"

// stepBrowser is the part of step that is about the browser's own life.
func stepBrowser(c Condition, e Event) (Condition, []Effect) {
	switch e := e.(type) {
	case LaunchAllowed:
		if c.Browser == Down && !c.Draining {
			c.Browser = Starting
			return c, []Effect{LaunchBrowser{}}
		}
	case ResumeRequested:
		return resume(c)
	case SessionSaved:
		if c.Browser == Leaving {
			return leave(c)
		}
	case BrowserUp:
		if c.Browser == Starting || c.Browser == Cleaning {
			return browserUp(c, e.Lost)
		}
	case LaunchFailed:
		if c.Browser == Starting || c.Browser == Cleaning {
			return launchFailed(c)
		}
	case BrowserLost:
		return browserLost(c)
	case ResetDone:
		switch {
		case c.Browser != Cleaning:
		case e.OK:
			return becomeReady(c)
		default: // still claimable: a claim waits for the new browser
			return c, []Effect{CloseBrowser{}, LaunchBrowser{}}
		}
	case RenewalDue:
		if c.Browser == Ready && !c.HasClaim() && c.Session == "" {
			c.Browser = Cleaning
			return c, []Effect{CloseBrowser{}, LaunchBrowser{}}
		}
	}
	return c, nil
}

func browserUp(c Condition, lost bool) (Condition, []Effect) {
	var do []Effect
	if lost && c.Session != "" {
		do = append(do, EndSession{c.Session})
		c.Session, c.Holder = "", ""
	}
	if lost || c.Stale { // half of somebody's state may be in it
		c.Browser, c.Stale = Cleaning, false
		return c, append(do, ResetBrowser{})
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

func launchFailed(c Condition) (Condition, []Effect) {
	var do []Effect
	if c.HasClaim() {
		c.Claim = Claim{}
		do = append(do, ReturnClaim{engine.CodeWorkerOffline})
	}
	c.Browser, c.Stale = Down, false
	return c, append(do, RequestLaunch{})
}

func browserLost(c Condition) (Condition, []Effect) {
	switch {
	case c.Running && c.Dead:
		return c, nil
	case c.Running: // it should end by itself; overdue comes soon
		c.Dead = true
		return c, []Effect{BoundRun{}}
	case c.Browser == Ready:
		c.Browser = Down
		return c, []Effect{CloseBrowser{}, RequestLaunch{}}
	case c.Browser == Cleaning:
		return c, []Effect{CloseBrowser{}, LaunchBrowser{}}
	case c.Browser == Leaving:
		return leave(c)
	}
	return c, nil
}
