package cluster

import "crypto/tls"

// Leads reports whether a node leads the store.
func Leads(m *Member) bool { return m.server.JetStreamIsStreamLeader("$G", storeStream) }

// Waits is how many wait at a node for news of a task.
func Waits(c *Company) int64 { return c.waits.Load() }

// Transport is the TLS that a node speaks.
func (c Config) Transport() (*tls.Config, error) { return c.transport() }
