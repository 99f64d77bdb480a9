package cluster

// Leads reports whether a node leads the store.
func Leads(m *Member) bool { return m.server.JetStreamIsStreamLeader("$G", storeStream) }
