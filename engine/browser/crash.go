package browser

// Crashed reports whether the process of the current tab's page has died.
func (c *Context) Crashed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.tabs) > 0 && c.tabs[len(c.tabs)-1].Crashed()
}

// Fallen is closed when the process of the page dies that is the current tab's
// now. It is nil without a tab.
func (c *Context) Fallen() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tabs) == 0 {
		return nil
	}
	return c.tabs[len(c.tabs)-1].fallen
}
