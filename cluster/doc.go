// Package cluster joins nodes to one service. Its [Router] answers as the actors of one
// node do, whichever node has the worker, task or session. It finds that node by the
// inventories of the others, asks it, and follows sessions that move. Package store
// keeps what the nodes share, and package link carries messages.
//
// A service without other nodes runs nothing of it.
package cluster
