package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"troupe/persistence"
)

// Backup is a backup that was found.
type Backup struct {
	*Manifest
	at    Place
	chain []*Manifest
	files []file
}

// Find finds a backup by its name; empty: the newest one.
func Find(ctx context.Context, at Place, name string) (*Backup, error) {
	l, err := List(ctx, at, "")
	if err != nil {
		return nil, err
	}
	m, err := l.find(name)
	if err != nil {
		return nil, err
	}
	chain, err := chainOf(l.Stores[m.Store], m)
	if err != nil {
		return nil, fmt.Errorf("the backup %s: %w", m.Name, err)
	}
	files, err := readList(ctx, at, m)
	if err != nil {
		return nil, err
	}
	return &Backup{m, at, chain, files}, nil
}

// Check reads the whole backup, and compares all checksums and counts.
func (b *Backup) Check(ctx context.Context) error {
	if err := checkRecords(ctx, b.at, b.chain, nil); err != nil {
		return err
	}
	there, err := b.at.List(ctx, path.Join(b.Store, "files")+"/")
	if err != nil {
		return err
	}
	return checkFiles(ctx, b.at, b.Manifest, b.files, there, func(*file) bool { return true })
}

// Into is where a backup is restored: all of it is empty, or has a part of the same backup.
type Into struct {
	Store   persistence.Store
	Files   persistence.Adopter
	Uploads string // folder for the files of queued tasks; empty: they are among Files
	// Without are keys of records that are left out.
	Without []string
}

// Restored is what a restore has done.
type Restored struct {
	Backup  string           `json:"backup"` // "store/backup"
	From    string           `json:"from"`
	Of      time.Time        `json:"of"` // the moment that the records are of
	Began   time.Time        `json:"began"`
	Ended   time.Time        `json:"ended"` // zero: it has not ended
	Node    string           `json:"node,omitempty"`
	Seen    time.Time        `json:"seen"`
	Records map[string]int64 `json:"records"`
	Expired int64            `json:"expired"` // records and files whose time was over
	Files   int64            `json:"files"`
}

// writers is how many records are written at a time.
const writers = 32

// Restore puts everything into a store and its files: the files first, as their owners do.
// It can be repeated.
func (b *Backup) Restore(ctx context.Context, to Into, r *Restored) error {
	now := time.Now()
	r.Records, r.Files, r.Expired = map[string]int64{}, 0, 0
	for i := range b.files {
		f := &b.files[i]
		if !f.Expires.IsZero() && !now.Before(f.Expires) {
			r.Expired++
			continue
		}
		if err := b.restoreFile(ctx, f, to); err != nil {
			return fmt.Errorf("restore the file %s: %w", f.key(), err)
		}
		r.Files++
	}
	writing, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	records := make(chan persistence.Record, writers)
	for range writers {
		wg.Go(func() {
			for one := range records {
				if writing.Err() != nil {
					continue
				}
				if _, err := to.Store.Put(writing, persistence.Write{Key: one.Key, Value: one.Value, Expires: one.Expires}); err != nil {
					stop(fmt.Errorf("restore the record %s: %w", one.Key, err))
				}
			}
		})
	}
	err := checkRecords(writing, b.at, b.chain, func(one persistence.Record) error {
		if !one.Expires.IsZero() && !now.Before(one.Expires) {
			r.Expired++
			return nil
		}
		if slices.Contains(to.Without, one.Key) {
			return nil
		}
		r.Records[persistence.KindOf(one.Key)]++
		select {
		case records <- one:
			return nil
		case <-writing.Done():
			return context.Cause(writing)
		}
	})
	close(records)
	wg.Wait()
	if err = errors.Join(err, context.Cause(writing)); err != nil {
		return err
	}
	return to.Store.Sync(ctx)
}

func (b *Backup) restoreFile(ctx context.Context, f *file, to Into) error {
	if f.Upload != "" {
		if to.Uploads == "" {
			return errors.New("it is of a queued task of a single node")
		}
		return b.restoreUpload(ctx, f, to)
	}
	// The file below is written while it is read: what is read is whole only at the end.
	r, w := io.Pipe()
	read := make(chan error, 1)
	go func() {
		err := f.read(ctx, b.at, b.Manifest, w)
		w.CloseWithError(err)
		read <- err
	}()
	blob := f.Blob
	blob.Durable = false
	err := to.Files.Adopt(ctx, blob, r)
	r.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	no := <-read
	if errors.Is(err, persistence.ErrConflict) { // an earlier try has restored it
		return nil
	}
	if err == nil && errors.Is(no, io.ErrClosedPipe) {
		no = nil
	}
	return errors.Join(err, no)
}

func (b *Backup) restoreUpload(ctx context.Context, f *file, to Into) (err error) {
	at := filepath.Join(to.Uploads, filepath.FromSlash(f.Upload))
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(at, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.read(ctx, b.at, b.Manifest, out), out.Sync(), out.Close())
}

// Mark writes down in a store that a backup was restored into it.
func Mark(ctx context.Context, store persistence.Store, r *Restored, only *uint64) (uint64, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	return store.Put(ctx, persistence.Write{Key: restoredKey, Value: text, Durable: true, If: only})
}

// Marked reads what [Mark] has written; a zero revision: nothing.
func Marked(ctx context.Context, store persistence.Store) (*Restored, uint64, error) {
	rec, err := store.Get(ctx, restoredKey)
	if errors.Is(err, persistence.ErrNotFound) {
		return nil, 0, nil
	}
	var r Restored
	if err == nil {
		err = json.Unmarshal(rec.Value, &r)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read what was restored: %w", err)
	}
	return &r, rec.Revision, nil
}

// Empty reports whether a store has no records but those of backups. Used says one that it
// has.
func Empty(ctx context.Context, store persistence.Store) (used string, err error) {
	for after := ""; ; {
		keys, err := store.Keys(ctx, "", after, 64)
		if err != nil {
			return "", err
		}
		for _, k := range keys {
			if !ours(k.Key) {
				return k.Key, nil
			}
			after = k.Key
		}
		if len(keys) < 64 {
			return "", nil
		}
	}
}
