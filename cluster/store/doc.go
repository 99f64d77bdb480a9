// Package store is the replicated [persistence.Store] and [persistence.Files]: records
// are messages of one JetStream stream, and files of another. Each node keeps an index
// in memory, which follows the stream. The package does not know what records are
// about, nor which other readers they have.
package store
