package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"troupe/persistence"
)

// Imported is what an import has brought.
type Imported struct {
	Records int `json:"records"`
	Files   int `json:"files"`
	Present int `json:"present"` // were there already, and were left alone
}

// Import copies what a single node has kept into the cluster: records with
// their expiry, files with their identifiers. What is there already is left
// alone, so it may be repeated where it was interrupted. The node that the data
// is of must not be in use meanwhile.
//
// Files come first: a record that names a file never comes before it.
func Import(ctx context.Context, from persistence.Store, folder *persistence.Folder, s *Store, f *Files) (Imported, error) {
	var done Imported
	if folder != nil {
		for b, err := range folder.All(ctx) {
			if err != nil {
				return done, fmt.Errorf("import files: %w", err)
			}
			switch err := f.adopt(ctx, folder, b); {
			case errors.Is(err, persistence.ErrConflict):
				done.Present++
			case errors.Is(err, persistence.ErrNotFound): // it has expired
			case err != nil:
				return done, fmt.Errorf("import the file %s: %w", b.ID, err)
			default:
				done.Files++
			}
		}
	}
	all, err := from.List(ctx, "")
	if err != nil {
		return done, fmt.Errorf("import records: %w", err)
	}
	var records, present atomic.Int64
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	places := make(chan struct{}, 16)
	for _, r := range all {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			switch _, err := s.Put(ctx, persistence.Write{Key: r.Key, Value: r.Value, Expires: r.Expires, If: new(uint64)}); {
			case errors.Is(err, persistence.ErrConflict):
				present.Add(1)
			case err != nil:
				cancel(fmt.Errorf("import the record %s: %w", r.Key, err))
			default:
				records.Add(1)
			}
		})
	}
	wg.Wait()
	done.Records, done.Present = int(records.Load()), done.Present+int(present.Load())
	if ctx.Err() != nil {
		return done, context.Cause(ctx)
	}
	return done, s.Sync(ctx)
}

// adopt keeps a file of a folder under the identifier that it has.
func (f *Files) adopt(ctx context.Context, from *persistence.Folder, b persistence.Blob) error {
	if _, err := f.store.Get(ctx, filePrefix+b.ID); err == nil {
		return persistence.ErrConflict
	} else if !errors.Is(err, persistence.ErrNotFound) {
		return err
	}
	b, r, err := from.Open(ctx, b.ID)
	if err != nil {
		return err
	}
	defer r.Close()
	b.Size = 0
	if err := f.putParts(ctx, &b, r); err != nil {
		return err
	}
	return f.describe(ctx, b)
}
