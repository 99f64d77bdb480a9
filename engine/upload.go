package engine

import (
	"context"
	"io"
)

// Fetcher gets a file by its URL through the outbound rules.
type Fetcher func(ctx context.Context, url string, limit int64) (name string, body io.ReadCloser, err error)
