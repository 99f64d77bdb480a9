// Package link carries messages between nodes: their types, their form on the line,
// and a transport that asks, answers and tells over the engine's connection. What is
// too large for one message is fetched in pieces. It decides nothing about workers,
// and does not know which nodes are up.
package link
