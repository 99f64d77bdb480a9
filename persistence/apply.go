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

// ApplyEach carries out several lists of changes as [Apply] does each, and tells what came of
// each, in their order. They are independent of each other. A store that can takes all in one
// go; the first ones need not wait until later ones are synced.
func ApplyEach(ctx context.Context, s Store, lists [][]Change, then func(i int, err error)) {
	if b, ok := s.(interface {
		applyEach(ctx context.Context, lists [][]Change, then func(i int, err error))
	}); ok {
		b.applyEach(ctx, lists, then)
		return
	}
	for i, changes := range lists {
		then(i, Apply(ctx, s, changes...))
	}
}

// Groups reports whether a store takes what [ApplyEach] is given in one go.
func Groups(s Store) bool {
	g, ok := s.(interface{ groups() bool })
	return ok && g.groups()
}

func (b *Badger) groups() bool { return true }

func (m *memory) groups() bool { return true }

// applyAll is [Apply]: nobody sees some of the changes and not the others.
func (m *memory) applyAll(ctx context.Context, changes []Change) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	for _, w := range changes {
		c, err := removing(w.Key, w.If, w.Durable), error(nil)
		if !w.Delete {
			c, err = putting(w.Write)
		}
		if err == nil {
			_, _, err = m.carryOut(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *Late) groups() bool { return Groups(l.Store) }

// applyAll is [Apply].
func (b *Badger) applyAll(ctx context.Context, changes []Change) error {
	all, err := b.chain(ctx, changes)
	if len(all) == 0 {
		return err
	}
	all[0].rest = all[1:]
	return b.submit(ctx, b.requests, all[0]).err
}

// applyEach is [ApplyEach].
func (b *Badger) applyEach(ctx context.Context, lists [][]Change, then func(i int, err error)) {
	errs := make([]error, len(lists))
	var all []*request
	last := make([]*request, len(lists))
	for i, changes := range lists {
		var more []*request
		if more, errs[i] = b.chain(ctx, changes); len(more) > 0 {
			all, last[i] = append(all, more...), more[len(more)-1]
		}
	}
	var err error
	if len(all) > 0 {
		all[0].rest = all[1:]
		err = b.hand(ctx, b.requests, all[0])
	}
	for i, r := range last {
		if r != nil && err != nil {
			errs[i] = err
		} else if r != nil {
			errs[i] = r.wait(ctx).err
		}
		then(i, errs[i])
	}
}

// chain makes the requests for changes that follow each other. The last one is answered.
func (b *Badger) chain(ctx context.Context, changes []Change) ([]*request, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	all, durable := make([]*request, len(changes)), false
	for i, w := range changes {
		c, err := removing(w.Key, w.If, false), error(nil)
		if c.known = w.Known; !w.Delete {
			c, err = putting(w.Write)
		}
		if err == nil {
			err = b.refuses(c)
		}
		if err != nil {
			return nil, fmt.Errorf("write %q: %w", w.Key, err)
		}
		if c.durable = false; i > 0 {
			all[i] = &request{change: c, after: all[i-1]}
		} else {
			all[i] = &request{change: c, ctx: ctx}
		}
		durable = durable || w.Durable
	}
	last := all[len(all)-1]
	last.durable, last.done = durable, make(chan answer, 1)
	return all, nil
}
