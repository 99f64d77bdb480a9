// Package member makes this process a node of the cluster: it runs the engine (NATS
// with JetStream) that replicates what the nodes share. It has the node's
// configuration, its certificates and its view of the others' health. It does not know
// which records are stored, nor which messages go between nodes.
package member
