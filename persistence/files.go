package persistence

import (
	"context"
	"io"
	"time"
)

// Blob describes a file in [Files].
type Blob struct {
	// ID is the file's name: given by the store, unguessable (at least 128
	// random bits), and safe in a URL path.
	ID          string    `json:"id"`
	Account     string    `json:"account"`
	Label       string    `json:"label"` // what a person would call it; never part of a path
	ContentType string    `json:"contentType"`
	Inline      bool      `json:"inline"` // the service made it: a browser may show it
	Size        int64     `json:"size"`
	Created     time.Time `json:"created"`
	Expires     time.Time `json:"expires"` // zero: never

	// Durable makes Put wait until the file would survive a loss of power.
	// Without it the file survives the end of the process.
	Durable bool `json:"-"`
	// Within is how much its account may store, if that is counted.
	Within Allowance `json:"-"`
}

// Files keeps blobs: pictures, downloads, large results.
type Files interface {
	// Put stores what r gives and returns the description with ID, Size and
	// Created. A file that could not be written whole does not exist afterwards.
	Put(ctx context.Context, b Blob, r io.Reader) (Blob, error)
	// Open returns a file, or ErrNotFound when it is not there or has expired.
	Open(ctx context.Context, id string) (Blob, io.ReadSeekCloser, error)
	// Delete removes a file. Deleting a missing file is no error.
	Delete(ctx context.Context, id string) error
	// Sweep removes files that have expired before now and files half written by a
	// killed process, and returns how many it removed.
	Sweep(ctx context.Context, now time.Time) (int, error)
}
