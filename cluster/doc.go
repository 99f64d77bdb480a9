// Package cluster joins nodes to one service: what they keep in common is
// replicated by an engine in the process (NATS with JetStream), and messages go
// between them over the same connections. It alone knows that engine.
//
// Nothing of it runs in a service that was not told of other nodes.
package cluster
