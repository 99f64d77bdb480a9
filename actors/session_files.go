package actors

import (
	"context"
	"errors"
	"path"

	"troupe/engine"
	"troupe/persistence"
)

// sessionFiles are the files of one session, for the client that is attached to it.
type sessionFiles struct {
	kept             *persistence.SessionFiles
	account, session string
}

// Open is part of [engine.SessionFiles].
func (f *sessionFiles) Open(ctx context.Context, name string) (*engine.GivenFile, error) {
	found, r, err := f.kept.Open(ctx, f.account, f.session, name)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &engine.GivenFile{ID: found.ID, Name: found.Name, Size: found.Size, ReadCloser: r}, nil
}

// Sent is part of [engine.SessionFiles].
func (f *sessionFiles) Sent(ctx context.Context, url string) error {
	return f.kept.Sent(ctx, f.account, f.session, path.Base(url))
}
