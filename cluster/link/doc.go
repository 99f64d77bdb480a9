// Package link carries messages between nodes: their types, their encoding, and a
// transport that asks, answers and tells over the engine's connection. Receivers fetch
// large messages in pieces. The package decides nothing about workers,
// and does not know which nodes are up.
package link
