package persistence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/persistence/sealed"
)

const (
	// resealed is how many keys are read at a time, and resealing how many records at once.
	resealed  = 256
	resealing = 16
	// resealAttempts is how often a record is read again that somebody has changed.
	resealAttempts = 5
)

// ResealedFrom is the field of an object with a sealed field that says of which revision
// the object is the same, sealed again: whoever wrote that one may write over it.
const ResealedFrom = "resealed"

// SealedRecords are all records of a store that are sealed: those of the register in
// package sealed.
type SealedRecords struct {
	Store Store
	Files Files
	Seal  *Seal
}

// PrefixCount counts records by the prefix of their keys.
type PrefixCount struct {
	Prefix string `json:"prefix"`
	Count  int    `json:"count"`
}

// Resealed counts what a change of the key has done.
type Resealed struct {
	Records int           // were sealed with another key, and are with the one in use now
	Lost    []PrefixCount // no key opens them
}

// byPrefix counts, from several goroutines.
type byPrefix struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *byPrefix) add(prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[prefix]++
}

func (c *byPrefix) list() (all []PrefixCount) {
	for prefix, n := range c.n {
		all = append(all, PrefixCount{prefix, n})
	}
	slices.SortFunc(all, func(a, b PrefixCount) int { return strings.Compare(a.Prefix, b.Prefix) })
	return all
}

// Reseal seals again what another key than the one in use has sealed. A record that its
// owner writes meanwhile is left to the owner.
func (s SealedRecords) Reseal(ctx context.Context) (done Resealed, err error) {
	var lost, changed byPrefix
	for _, k := range sealed.Kinds() {
		err := eachKey(ctx, s.Store, k.Prefix, func(key string) error {
			was, err := s.resealOne(ctx, k, key)
			if errors.Is(err, ErrSealed) {
				lost.add(k.Prefix)
				return nil
			}
			if was {
				changed.add("")
			}
			return err
		})
		if err != nil {
			return Resealed{changed.n[""], lost.list()}, err
		}
	}
	return Resealed{changed.n[""], lost.list()}, nil
}

// resealOne seals one record, again where somebody has changed it in between.
func (s SealedRecords) resealOne(ctx context.Context, k sealed.Kind, key string) (changed bool, err error) {
	for range resealAttempts {
		changed, err = s.resealOnce(ctx, k, key)
		if !errors.Is(err, ErrConflict) {
			break
		}
	}
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return changed && err == nil, err
}

func (s SealedRecords) resealOnce(ctx context.Context, k sealed.Kind, key string) (bool, error) {
	r, err := s.Store.Get(ctx, key)
	if err != nil {
		return false, err
	}
	closed, err := s.closedIn(ctx, k, r)
	if err != nil || closed == nil {
		return false, err
	}
	plain, newest, err := s.Seal.open(key, closed)
	s.Seal.note(key, err != nil)
	if err != nil || newest {
		return false, err
	}
	if k.Form == sealed.Value {
		return true, s.putValue(ctx, r, plain)
	}
	value, err := s.Seal.Close(key, plain)
	if err == nil && k.Form == sealed.Field {
		value, err = withField(r, k.Field, value)
	}
	if err == nil {
		_, err = s.Store.Put(ctx, Write{Key: key, Value: value, Expires: r.Expires, If: &r.Revision, Durable: true})
	}
	return true, err
}

func (s SealedRecords) putValue(ctx context.Context, r Record, plain []byte) error {
	it := Item{Key: r.Key, Value: plain, Expires: r.Expires, Durable: true, Over: &r.Revision}
	if file := fileIn(r); file != "" {
		b, f, err := s.Files.Open(ctx, file)
		if err != nil {
			return err
		}
		it.Account = b.Account
		if err := f.Close(); err != nil {
			return err
		}
	}
	return NewValueStore(s.Store, s.Files).Sealed(s.Seal).Put(ctx, it)
}

// closedIn is what of a record is sealed; nil: nothing.
func (s SealedRecords) closedIn(ctx context.Context, k sealed.Kind, r Record) ([]byte, error) {
	switch k.Form {
	case sealed.Whole:
		return r.Value, nil
	case sealed.Field:
		if fileIn(r) != "" { // such records are small where they have the field
			return nil, nil
		}
		fields := map[string]json.RawMessage{}
		if err := json.Unmarshal(unmarked(r.Value), &fields); err != nil {
			return nil, fmt.Errorf("read %s: %w", r.Key, err)
		}
		var closed []byte
		if v, there := fields[k.Field]; there {
			if err := json.Unmarshal(v, &closed); err != nil {
				return nil, fmt.Errorf("read %s: %w", r.Key, err)
			}
		}
		return closed, nil
	}
	return (&ValueStore{store: s.Store, files: s.Files}).read(ctx, r)
}

// unmarked is the JSON of a record with fields, which may be one of a [ValueStore].
func unmarked(value []byte) []byte { return bytes.TrimPrefix(value, []byte{inline}) }

// withField is a record with another value in a field.
func withField(r Record, field string, value []byte) ([]byte, error) {
	fields := map[string]json.RawMessage{}
	whole := unmarked(r.Value)
	mark := r.Value[:len(r.Value)-len(whole)]
	err := json.Unmarshal(whole, &fields)
	for name, v := range map[string]any{field: value, ResealedFrom: r.Revision} {
		if err == nil {
			fields[name], err = json.Marshal(v)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.Key, err)
	}
	b, err := json.Marshal(fields)
	return append(bytes.Clone(mark), b...), err
}

// OnlyOld counts the records that only another key than the one in use opens. It looks at
// all records of the store, whatever their prefix: another release may seal what this one
// does not know.
func (s SealedRecords) OnlyOld(ctx context.Context) ([]PrefixCount, error) {
	var old byPrefix
	err := eachKey(ctx, s.Store, "", func(key string) error {
		r, err := s.Store.Get(ctx, key)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		k, known := sealed.Of(key)
		forms := []sealed.Kind{k}
		if !known {
			head, _, _ := strings.Cut(key, "/")
			k.Prefix = head + "/"
			forms = []sealed.Kind{{Form: sealed.Value}, {Form: sealed.Whole}}
		}
		for _, form := range forms {
			closed, err := s.closedIn(ctx, form, r)
			if err != nil && known && !errors.Is(err, ErrNotFound) {
				return err
			}
			if err != nil || closed == nil {
				continue
			}
			if _, newest, err := s.Seal.open(key, closed); err == nil && !newest {
				old.add(k.Prefix)
			}
		}
		return nil
	})
	return old.list(), err
}

// surveyPause is how long a survey rests after each part of the keys: it runs beside all
// that clients ask for.
const surveyPause = 100 * time.Millisecond

// Survey tries to open all that is sealed. What cannot be opened is in [Seal.Unreadable]
// afterwards.
func (s SealedRecords) Survey(ctx context.Context) error {
	for _, k := range sealed.Kinds() {
		n := 0
		err := eachKeyOf(ctx, s.Store, k.Prefix, 1, func(key string) error {
			if n++; n%resealed == 0 {
				select {
				case <-time.After(surveyPause):
				case <-ctx.Done():
				}
			}
			return s.look(ctx, k, key)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// look finds out whether a record can be opened.
func (s SealedRecords) look(ctx context.Context, k sealed.Kind, key string) error {
	r, err := s.Store.Get(ctx, key)
	var closed []byte
	if err == nil {
		closed, err = s.closedIn(ctx, k, r)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		s.Seal.note(key, false)
		return nil
	case err != nil:
		return err
	case closed == nil:
		s.Seal.note(key, false)
		return nil
	}
	_, _, err = s.Seal.open(key, closed)
	s.Seal.note(key, err != nil)
	return nil
}

// Recheck looks again at what could not be opened: it may be gone, or written anew.
func (s SealedRecords) Recheck(ctx context.Context) error {
	for _, key := range s.Seal.lostKeys() {
		if k, known := sealed.Of(key); known {
			if err := s.look(ctx, k, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachKey calls f for all keys of a prefix, for several at once.
func eachKey(ctx context.Context, store Store, prefix string, f func(key string) error) error {
	return eachKeyOf(ctx, store, prefix, resealing, f)
}

func eachKeyOf(ctx context.Context, store Store, prefix string, most int, f func(key string) error) error {
	for after := ""; ; {
		list, err := store.Keys(ctx, prefix, after, resealed)
		if err != nil {
			return fmt.Errorf("list what is sealed: %w", err)
		}
		errs := make([]error, len(list))
		turns := make(chan struct{}, most)
		var wg sync.WaitGroup
		for i, k := range list {
			after = k.Key
			turns <- struct{}{}
			wg.Go(func() {
				if err := f(k.Key); err != nil {
					errs[i] = fmt.Errorf("open %s: %w", k.Key, err)
				}
				<-turns
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		if len(list) < resealed || ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}
