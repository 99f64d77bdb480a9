package persistence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"troupe/persistence/owned"
)

// SessionFile is a file of a session: one that its client has given to it, or one that a page has
// sent.
type SessionFile struct {
	ID      string    `json:"id"` // in [Files]
	Name    string    `json:"name"`
	Type    string    `json:"type"`
	Size    int64     `json:"size"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	// Download tells that a page has sent it. Its bytes are kept as those of tasks are.
	Download bool `json:"download,omitempty"`
}

// sessionFilePrefix is followed by the account's identifier, the session and the file.
const sessionFilePrefix = "session-file/"

var _ = owned.Register(owned.Kind{Prefix: sessionFilePrefix, By: owned.Key})

// Bounds of the files that one session has been given. A browser takes no more bytes either.
const (
	MaxSessionFiles     = 100
	MaxSessionFileBytes = 200 << 20
	MaxSessionDownloads = 300 // that are listed: the newest
)

// SessionFiles keeps the files of sessions. They end with the session, or at their own time.
type SessionFiles struct {
	store Store
	files Files
}

// NewSessionFiles keeps records in a store, and the bytes in files.
func NewSessionFiles(store Store, files Files) *SessionFiles {
	return &SessionFiles{store: store, files: files}
}

func sessionFileKey(account, session, id string) string {
	return sessionFilePrefix + account + "/" + session + "/" + id
}

// Give keeps a file for a session, in the place of one that it was given under the same name.
func (f *SessionFiles) Give(ctx context.Context, session string, b Blob, r io.Reader) (SessionFile, error) {
	b, err := f.files.Put(ctx, b, r)
	if err != nil {
		return SessionFile{}, fmt.Errorf("keep a file of a session: %w", err)
	}
	made := SessionFile{ID: b.ID, Name: b.Label, Type: b.ContentType, Size: b.Size, Created: b.Created, Expires: b.Expires}
	var before []SessionFile
	err = InTurn(ctx, f.store, "session-files/"+session, func(ctx context.Context) error {
		had, err := f.List(ctx, b.Account, session)
		if err != nil {
			return err
		}
		n, size := 1, made.Size
		for _, one := range had {
			switch {
			case one.Download:
				continue
			case one.Name == made.Name:
				before = append(before, one)
				continue
			}
			n++
			size += one.Size
		}
		if n > MaxSessionFiles || size > MaxSessionFileBytes {
			return fmt.Errorf("%w: a session has at most %d files and %d MiB of them", ErrTooMany, MaxSessionFiles, MaxSessionFileBytes>>20)
		}
		return f.note(ctx, b.Account, session, made)
	})
	if err != nil {
		return SessionFile{}, errors.Join(fmt.Errorf("note a file of a session: %w", err), f.files.Delete(context.WithoutCancel(ctx), made.ID))
	}
	for _, old := range before {
		if err := f.drop(ctx, b.Account, session, old); err != nil {
			return SessionFile{}, err
		}
	}
	return made, nil
}

func (f *SessionFiles) note(ctx context.Context, account, session string, one SessionFile) error {
	value, err := json.Marshal(one)
	if err == nil {
		_, err = f.store.Put(ctx, Write{Key: sessionFileKey(account, session, one.ID), Value: value, Expires: one.Expires, Durable: true})
	}
	return err
}

// Sent lists a file among those of a session that was kept already: a page has sent it.
func (f *SessionFiles) Sent(ctx context.Context, account, session, id string) error {
	b, r, err := f.files.Open(ctx, id)
	if err == nil {
		err = r.Close()
	}
	if err == nil {
		err = f.note(ctx, account, session, SessionFile{ID: b.ID, Name: b.Label, Type: b.ContentType, Size: b.Size, Created: b.Created, Expires: b.Expires, Download: true})
	}
	if err != nil {
		return fmt.Errorf("list a download of a session: %w", err)
	}
	all, err := f.List(ctx, account, session)
	all = slices.DeleteFunc(all, func(one SessionFile) bool { return !one.Download })
	for over := len(all) - MaxSessionDownloads; over > 0; over-- {
		err = errors.Join(err, f.store.Delete(ctx, sessionFileKey(account, session, all[over-1].ID), nil, false))
	}
	return err
}

// List returns the files of a session, the oldest first.
func (f *SessionFiles) List(ctx context.Context, account, session string) ([]SessionFile, error) {
	records, err := f.store.List(ctx, sessionFileKey(account, session, ""))
	if err != nil {
		return nil, fmt.Errorf("list the files of a session: %w", err)
	}
	all := make([]SessionFile, 0, len(records))
	for _, r := range records {
		one, err := sessionFileOf(r)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b SessionFile) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all, nil
}

// Find finds a file of a session by its name, or by its identifier; [ErrNotFound]: it has none such.
// What was given goes before what was sent, and the last that was sent before the others.
func (f *SessionFiles) Find(ctx context.Context, account, session, name string) (SessionFile, error) {
	all, err := f.List(ctx, account, session)
	if err != nil {
		return SessionFile{}, err
	}
	slices.Reverse(all)
	for _, is := range []func(SessionFile) bool{
		func(one SessionFile) bool { return one.Name == name && !one.Download },
		func(one SessionFile) bool { return one.Name == name },
		func(one SessionFile) bool { return one.ID == name },
	} {
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i], nil
		}
	}
	return SessionFile{}, ErrNotFound
}

// Open finds a file of a session as Find does, and opens it.
func (f *SessionFiles) Open(ctx context.Context, account, session, name string) (SessionFile, io.ReadSeekCloser, error) {
	found, err := f.Find(ctx, account, session, name)
	if err != nil {
		return found, nil, err
	}
	_, r, err := f.files.Open(ctx, found.ID)
	return found, r, err
}

// Remove removes a file of a session with its bytes. One that is not there is [ErrNotFound].
func (f *SessionFiles) Remove(ctx context.Context, account, session, name string) error {
	found, err := f.Find(ctx, account, session, name)
	if err != nil {
		return err
	}
	return f.drop(ctx, account, session, found)
}

// drop removes the bytes first: as long as the record is there, it can be repeated.
func (f *SessionFiles) drop(ctx context.Context, account, session string, one SessionFile) error {
	return f.dropAt(ctx, sessionFileKey(account, session, one.ID), one)
}

func (f *SessionFiles) dropAt(ctx context.Context, key string, one SessionFile) error {
	err := f.files.Delete(ctx, one.ID)
	if err == nil {
		err = f.store.Delete(ctx, key, nil, true)
	}
	if err != nil {
		return fmt.Errorf("remove a file of a session: %w", err)
	}
	return nil
}

// End removes the files of a session that ends. Those that pages have sent stay at their addresses,
// as those of tasks do. It may be repeated.
func (f *SessionFiles) End(ctx context.Context, account, session string) error {
	return f.end(ctx, sessionFileKey(account, session, ""))
}

// EndAll removes those of all sessions of an account.
func (f *SessionFiles) EndAll(ctx context.Context, account string) error {
	return f.end(ctx, sessionFilePrefix+account+"/")
}

func (f *SessionFiles) end(ctx context.Context, prefix string) error {
	records, err := f.store.List(ctx, prefix)
	for _, r := range records {
		one, e := sessionFileOf(r)
		switch {
		case e != nil:
		case one.Download:
			e = f.store.Delete(ctx, r.Key, nil, true)
		default:
			e = f.dropAt(ctx, r.Key, one)
		}
		err = errors.Join(err, e)
	}
	return err
}

func sessionFileOf(r Record) (one SessionFile, err error) {
	if err = json.Unmarshal(r.Value, &one); err != nil {
		return one, fmt.Errorf("read the file of a session at %s: %w", r.Key, err)
	}
	return one, nil
}
