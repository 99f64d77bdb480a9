package browser

import "context"

// RehearseHands is rehearseHands, for the tests from outside.
func (t *Tab) RehearseHands(ctx context.Context) (well int, err error) {
	return t.Script.rehearseHands(ctx)
}

// AskedToLeave is the browser's word that the page was asked to leave.
func (t *Tab) AskedToLeave() {
	t.event("Page.frameRequestedNavigation", []byte(`{"frameId":"`+string(t.id)+`","reason":"formSubmissionGet","url":"http://a.test/","disposition":"currentTab"}`))
}

func ForgetHelp() { helped.Store(false) }

// UnderWay is how many requests of the context are remembered.
func (c *Context) UnderWay() int {
	r := c.Network.current()
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.active)
}

// FramesKnown is how many frames of the tab are.
func (t *Tab) FramesKnown() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.frames)
}

const MaxActive = maxActive
