// Package cluster joins nodes to one service: its [Router] answers as the actors of
// one node do, whichever node has what is asked for. It knows from the others'
// inventories who may have it, asks there, and follows sessions that move. What the
// nodes share is stored by package store, and messages are carried by package link.
//
// Nothing of it runs in a service that was not told of other nodes.
package cluster
