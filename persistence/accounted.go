package persistence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// Lister is [Files] that can list their files.
type Lister interface {
	// All gives the descriptions of all files that are there whole, in no order.
	All(ctx context.Context) iter.Seq2[Blob, error]
}

// Accounted is [Files] whose bytes are counted, and refused, by a [Ledger]. What
// other nodes store in the same files is known after each recount.
type Accounted struct {
	files  Files
	ledger *Ledger
}

// NewAccounted counts what is stored in files.
func NewAccounted(files Files, l *Ledger) *Accounted { return &Accounted{files, l} }

// Put implements [Files]. It gives [ErrQuota] or [ErrFull] as soon as one byte too
// many comes.
func (a *Accounted) Put(ctx context.Context, b Blob, r io.Reader) (Blob, error) {
	held, err := a.ledger.Hold(b.Account, b.Within, 0, 1)
	if err != nil {
		return Blob{}, fmt.Errorf("keep a file: %w", err)
	}
	defer held.Release()
	kept, err := a.files.Put(ctx, b, held.Reader(r))
	if err == nil {
		held.Keep(kept)
	}
	return kept, err
}

// Adopt implements [Adopter] if the files below do. Adopted files are counted, but
// not refused: they were stored elsewhere before.
func (a *Accounted) Adopt(ctx context.Context, b Blob, r io.Reader) error {
	below, ok := a.files.(Adopter)
	if !ok {
		return fmt.Errorf("take over a file: %w", errors.ErrUnsupported)
	}
	held, err := a.ledger.Hold(b.Account, Allowance{}, b.Size, 1)
	if err != nil {
		return fmt.Errorf("take over a file: %w", err)
	}
	defer held.Release()
	if err = below.Adopt(ctx, b, r); err == nil {
		held.Keep(b)
	}
	return err
}

// Open implements [Files].
func (a *Accounted) Open(ctx context.Context, id string) (Blob, io.ReadSeekCloser, error) {
	return a.files.Open(ctx, id)
}

// All implements [Lister] if the files below do.
func (a *Accounted) All(ctx context.Context) iter.Seq2[Blob, error] {
	if below, ok := a.files.(Lister); ok {
		return below.All(ctx)
	}
	return func(yield func(Blob, error) bool) {
		yield(Blob{}, fmt.Errorf("list the files: %w", errors.ErrUnsupported))
	}
}

// Delete implements [Files].
func (a *Accounted) Delete(ctx context.Context, id string) error {
	err := a.files.Delete(ctx, id)
	if err == nil {
		a.ledger.Drop(id)
	}
	return err
}

// Sweep implements [Files].
func (a *Accounted) Sweep(ctx context.Context, now time.Time) (int, error) {
	over := a.ledger.Expired(now)
	n, err := a.files.Sweep(ctx, now)
	if err == nil {
		for _, id := range over {
			a.ledger.Drop(id)
		}
	}
	return n, err
}

// Expire deletes the files whose time is over, without looking for others: between
// two sweeps, so that an account has its room again soon.
func (a *Accounted) Expire(ctx context.Context, now time.Time) (n int, err error) {
	for _, id := range a.ledger.Expired(now) {
		if e := a.Delete(ctx, id); e != nil {
			err = e
			continue
		}
		n++
	}
	return n, err
}

// Recount counts the stored files again, while others may be stored and deleted.
func (a *Accounted) Recount(ctx context.Context) error {
	l, files := a.ledger, a.files
	below, ok := files.(Lister)
	if l == nil || !ok {
		return nil
	}
	l.mu.Lock()
	if l.counting {
		l.mu.Unlock()
		return nil
	}
	l.counting, l.added, l.dropped = true, map[string]bool{}, map[string]bool{}
	l.mu.Unlock()
	found := map[string]Blob{}
	var failed error
	for b, err := range below.All(ctx) {
		if err != nil {
			failed = fmt.Errorf("count the files: %w", err)
			break
		}
		found[b.ID] = b
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counting = false
	for id, b := range found {
		if _, known := l.ids[id]; !known && !l.dropped[id] {
			l.add(b)
		}
	}
	if failed == nil { // what was not seen may be there all the same otherwise
		for id := range l.ids {
			if _, there := found[id]; !there && !l.added[id] {
				l.drop(id)
			}
		}
	}
	l.added, l.dropped = nil, nil
	return failed
}

// Reader reserves room for what it reads, before it can be written.
func (h *Hold) Reader(r io.Reader) io.Reader {
	if h == nil {
		return r
	}
	return heldReader{h, r}
}

type heldReader struct {
	hold *Hold
	r    io.Reader
}

func (h heldReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if full := h.hold.Grow(int64(n), 0); full != nil {
		return 0, full
	}
	return n, err
}

var _ Adopter = (*Accounted)(nil)
