package cluster

// Leads reports whether a node leads the store.
func Leads(m *Member) bool { return m.server.JetStreamIsStreamLeader("$G", storeStream) }

// Waits is how many wait at a node for news of a task.
func Waits(c *Company) int64 { return c.waits.Load() }
