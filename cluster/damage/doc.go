// Package damage reads a node's copy of what the nodes share, before the engine opens
// it. The engine cuts a damaged file at the damage and goes on with the rest, and a
// node that lost records in this way can make the others forget them. Marks say how
// much a copy had, so that a file which was cut off or is missing is found, too.
package damage
