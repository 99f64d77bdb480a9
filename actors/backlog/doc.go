// Package backlog decides which queued task runs next: its place, its turn, how many
// workers the queue may have, and whether a task that failed runs again. It has no
// store and no clock. The actors read and write the records: see
// docs/decisions/0022-a-queue-of-records.md.
package backlog
