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

// CrashFrames ends the processes of the tab's frames of other sites.
func (t *Tab) CrashFrames() (n int) {
	for _, s := range t.remote.sessions() {
		s.send("Page.crash", nil)
		n++
	}
	return n
}

// FrameSessions is how many frames in processes of their own the tab knows, and how
// many sessions its browser has in all.
func (t *Tab) FrameSessions() (frames, all int) {
	c := t.context.b.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(t.remote.sessions()), len(c.sessions)
}
