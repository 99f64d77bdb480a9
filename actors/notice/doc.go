// Package notice delivers notices: signed requests that tell receivers of the ends of
// tasks and batches. What is to be delivered is on the disk before the end is. Each
// receiver has a line of its own, so that a slow one holds up no other. See
// docs/decisions/0026-notices-are-an-outbox.md.
package notice
