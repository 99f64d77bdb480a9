package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"troupe/persistence"
)

// Adopt implements [persistence.Adopter].
func (f *Files) Adopt(ctx context.Context, b persistence.Blob, r io.Reader) error {
	if _, err := f.store.Get(ctx, FilePrefix+b.ID); err == nil {
		return persistence.ErrConflict
	} else if !errors.Is(err, persistence.ErrNotFound) {
		return err
	}
	b.Size = 0
	err := f.putParts(ctx, &b, r)
	if err == nil {
		err = f.describe(ctx, b)
	}
	if err != nil { // what is of it there is replaced by the next try, or swept
		return fmt.Errorf("take over a file: %w", err)
	}
	return nil
}

var _ persistence.Adopter = (*Files)(nil)
