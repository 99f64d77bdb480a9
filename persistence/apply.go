package persistence

import (
	"context"
	"fmt"
)

// Change is one of several changes that follow each other: a write, or a deletion of
// whatever is there.
type Change struct {
	Write
	Delete bool
}

// Apply carries out changes in their order, up to the first that fails: a later one is
// never on the disk without those before it. They are durable together, if any of them is.
// A store that can takes them in one go.
func Apply(ctx context.Context, s Store, changes ...Change) error {
	if b, ok := s.(interface {
		applyAll(ctx context.Context, changes []Change) error
	}); ok {
		return b.applyAll(ctx, changes)
	}
	durable := false
	for _, c := range changes {
		durable = durable || c.Durable
	}
	for i, c := range changes {
		last := durable && i == len(changes)-1 // syncs those before it as well
		var err error
		if c.Delete {
			err = s.Delete(ctx, c.Key, c.If, last)
		} else {
			c.Durable = last
			_, err = s.Put(ctx, c.Write)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// applyAll is [Apply].
func (b *Badger) applyAll(ctx context.Context, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	all, durable := make([]*request, len(changes)), false
	for i, w := range changes {
		c, err := removing(w.Key, w.If, false), error(nil)
		if !w.Delete {
			c, err = putting(w.Write)
		}
		if err == nil {
			err = b.refuses(c)
		}
		if err != nil {
			return fmt.Errorf("write %q: %w", w.Key, err)
		}
		if all[i] = (&request{change: c}); i > 0 {
			all[i].after = all[i-1]
		}
		durable = durable || w.Durable
	}
	last := all[len(all)-1]
	last.durable, last.done = durable, make(chan answer, 1)
	all[0].ctx, all[0].rest = ctx, all[1:]
	return b.submit(ctx, b.requests, all[0]).err
}
