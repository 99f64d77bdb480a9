package browser

// Crashed reports whether the process of the current tab's page has died.
func (c *Context) Crashed() bool {
	t := c.Current()
	return t != nil && t.Crashed()
}

// Fallen is closed when the process of the page dies that is the current tab's
// now. It is nil without a tab.
func (c *Context) Fallen() <-chan struct{} {
	if t := c.Current(); t != nil {
		return t.fallen
	}
	return nil
}
