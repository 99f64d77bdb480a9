package persistence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxInline is how large a value may be to be kept in the store itself. A
// store is good at many small values; a large one would be copied each time the
// store tidies up.
const maxInline = 256 << 10

// How the record of a value begins: what follows is the value, or the identifier
// of the file that has it.
const (
	inline  = 'v'
	outside = 'f'
)

// ValueStore keeps values of any size by key: small ones in a [Store], large ones in
// [Files], with a record in the store that says where. Do not write the same key
// from two places at once.
type ValueStore struct {
	store Store
	files Files
	seal  *Seal // nil: values are kept as they are

	ledger *Ledger // counts the records of accounts; nil: nobody does
}

// Inline returns the record of a small value.
func Inline(value []byte) []byte { return append([]byte{inline}, value...) }

// NewValueStore returns a value store of a store and files. Where the files are [Accounted], the
// records count as well.
func NewValueStore(store Store, files Files) *ValueStore {
	s := &ValueStore{store: store, files: files}
	if a, ok := files.(*Accounted); ok {
		s.ledger = a.ledger
	}
	return s
}

// Sealed returns the same store for values that only the owner of the key can
// read. A value is sealed for the key of its record.
func (s *ValueStore) Sealed(seal *Seal) *ValueStore {
	return &ValueStore{store: s.store, files: s.files, seal: seal, ledger: s.ledger}
}

// Item is a value to be kept.
type Item struct {
	Key     string
	Account string // whose file it is, if it becomes one
	Value   []byte
	Expires time.Time
	Durable bool
	// New keeps it only where nothing has the key yet: otherwise it is
	// [ErrConflict].
	New bool
	// Known is what the caller knows of the record that has the key now.
	Known Known
	// Over keeps it only over this revision of the record; nil: over any.
	Over *uint64
}

// Put keeps a value. The file of the value that it replaces is removed.
func (s *ValueStore) Put(ctx context.Context, it Item) error {
	_, err := s.PutRevision(ctx, it)
	return err
}

// PutRevision is Put. It returns the revision of the new record.
func (s *ValueStore) PutRevision(ctx context.Context, it Item) (uint64, error) {
	v, err := s.Change(ctx, it)
	if err != nil {
		return 0, err
	}
	revision, err := PutOwn(ctx, s.store, v.Write)
	return revision, v.Done(ctx, err)
}

// ValueChange is a change of a value that is about to be made, for [Apply].
// [ValueChange.Done] must follow.
type ValueChange struct {
	Change
	of      *ValueStore
	account string
	before  Record
	file    string // that was written ahead; empty: none
}

// Change prepares to keep a value.
func (s *ValueStore) Change(ctx context.Context, it Item) (*ValueChange, error) {
	var before Record
	if it.Known != Absent {
		var err error
		if before, err = s.store.Get(ctx, it.Key); err != nil && !errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("keep %s: %w", it.Key, err)
		}
	}
	value := it.Value
	if s.seal != nil {
		var err error
		if value, err = s.seal.Close(it.Key, value); err != nil {
			return nil, err
		}
	}
	var file string
	record := Inline(value)
	if len(value) > maxInline {
		b, err := s.files.Put(ctx, Blob{
			Account: it.Account, Label: it.Key, ContentType: "application/octet-stream", Expires: it.Expires, Durable: it.Durable,
		}, bytes.NewReader(value))
		if err != nil {
			return nil, fmt.Errorf("keep %s: %w", it.Key, err)
		}
		file = b.ID
		record = append([]byte{outside}, file...)
	}
	w := Write{Key: it.Key, Value: record, Expires: it.Expires, Durable: it.Durable, Known: it.Known}
	if w.If = it.Over; it.New {
		w.If = new(uint64)
	}
	return &ValueChange{Change: Change{Write: w}, of: s, account: it.Account, before: before, file: file}, nil
}

// Counted is a change of a record of an account that is no value, and that was not counted
// before.
func (s *ValueStore) Counted(account string, w Write) *ValueChange {
	return &ValueChange{Change: Change{Write: w}, of: s, account: account}
}

// Removal prepares to delete a value.
func (s *ValueStore) Removal(ctx context.Context, key string) (*ValueChange, error) {
	before, err := s.store.Get(ctx, key)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("delete %s: %w", key, err)
	}
	return &ValueChange{Change: Change{Write: Write{Key: key}, Delete: true}, of: s, before: before}, nil
}

// Done says whether the change was made. The file of the value that was there is removed
// then, or the one that was to be there.
func (v *ValueChange) Done(ctx context.Context, err error) error {
	switch {
	case err != nil && v.Delete:
		return fmt.Errorf("delete %s: %w", v.Key, err)
	case err != nil:
		err = fmt.Errorf("keep %s: %w", v.Key, err)
		if v.file != "" {
			now, no := v.of.store.Get(ctx, v.Key)
			if no == nil && fileIn(now) == v.file { // a change behind this one has failed
				return err
			}
			if errors.Is(err, ErrNoQuorum) && no != nil && !errors.Is(no, ErrNotFound) { // nobody knows whether the record names it
				return err
			}
		}
		return errors.Join(err, v.of.drop(ctx, v.file))
	}
	v.of.ledger.Wrote(v.account, v.before, v.Change)
	return v.of.drop(ctx, fileIn(v.before))
}

// Full says why an account can keep no more values, or nil.
func (s *ValueStore) Full(account string, within Allowance) error {
	return s.ledger.Full(account, within)
}

// Get returns a value, or [ErrNotFound].
func (s *ValueStore) Get(ctx context.Context, key string) ([]byte, error) {
	value, _, err := s.GetRevision(ctx, key)
	return value, err
}

// Size is how many bytes a value has as it is kept, or [ErrNotFound]. It loads no file.
func (s *ValueStore) Size(ctx context.Context, key string) (int64, error) {
	r, err := s.store.Get(ctx, key)
	if err != nil {
		return 0, err
	}
	id := fileIn(r)
	if id == "" {
		return int64(len(r.Value)), nil
	}
	b, f, err := s.files.Open(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("look how large %s is: %w", key, err)
	}
	return b.Size, f.Close()
}

// GetRevision returns a value with the revision of its record, or [ErrNotFound].
func (s *ValueStore) GetRevision(ctx context.Context, key string) ([]byte, uint64, error) {
	value, r, err := s.get(ctx, key)
	return value, r.Revision, err
}

// GetSmall returns a value, and whether its record has all of it: then nothing else needs
// to be removed with the record.
func (s *ValueStore) GetSmall(ctx context.Context, key string) (value []byte, small bool, err error) {
	value, r, err := s.get(ctx, key)
	return value, fileIn(r) == "", err
}

func (s *ValueStore) get(ctx context.Context, key string) ([]byte, Record, error) {
	r, err := s.store.Get(ctx, key)
	if err != nil {
		return nil, r, err
	}
	value, err := s.read(ctx, r)
	if err == nil && s.seal != nil {
		value, err = s.seal.Open(key, value)
	}
	if err != nil {
		return nil, r, fmt.Errorf("read %s: %w", key, err)
	}
	return value, r, nil
}

func (s *ValueStore) read(ctx context.Context, r Record) ([]byte, error) {
	if len(r.Value) == 0 || r.Value[0] != inline && r.Value[0] != outside {
		return nil, errors.New("the record does not hold a value")
	}
	if r.Value[0] == inline {
		return r.Value[1:], nil
	}
	_, f, err := s.files.Open(ctx, string(r.Value[1:]))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// DeleteOf is Delete of a value that is an account's, where its key does not say so.
func (s *ValueStore) DeleteOf(ctx context.Context, account, key string, durable bool) error {
	v, err := s.Removal(ctx, key)
	if err != nil {
		return err
	}
	v.account = account
	return v.Done(ctx, s.store.Delete(ctx, key, nil, durable))
}

// Delete removes a value with its file. Deleting a missing value is no error.
func (s *ValueStore) Delete(ctx context.Context, key string, durable bool) error {
	v, err := s.Removal(ctx, key)
	if err != nil {
		return err
	}
	return v.Done(ctx, s.store.Delete(ctx, key, nil, durable))
}

// fileIn is the file that a record names; empty: none.
func fileIn(r Record) string {
	if len(r.Value) > 0 && r.Value[0] == outside {
		return string(r.Value[1:])
	}
	return ""
}

// FileOf is the file that has the value of a record, by what is in the record; empty: none.
func FileOf(value []byte) string {
	if id := fileIn(Record{Value: value}); IsFileID(id) {
		return id
	}
	return ""
}

func (s *ValueStore) drop(ctx context.Context, file string) error {
	if file == "" {
		return nil
	}
	if err := s.files.Delete(ctx, file); err != nil {
		return fmt.Errorf("remove the file of a value: %w", err)
	}
	return nil
}
