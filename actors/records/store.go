package records

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/runs"
	"troupe/engine"
	"troupe/persistence"
)

// Store reads and writes what the actors keep on disk. All its methods take time:
// do not call them from a mailbox.
type Store struct {
	Store  persistence.Store
	Plain  *persistence.ValueStore
	Sealed *persistence.ValueStore // for what is the client's secret
	Files  persistence.Files
	// SessionFiles are those that clients have given to sessions.
	SessionFiles *persistence.SessionFiles
	Node         string
	log          zerolog.Logger
	// uploads is where the files of waiting tasks are; empty: elsewhere.
	uploads string
	Close   func()
	// OnNotices is called when notices and the ends that they report are on the disk;
	// nil: nobody delivers them.
	OnNotices func([]Notice)

	// Runs is the history; nil: none is kept.
	Runs *runs.History

	seal      *persistence.Seal
	changing  sync.Mutex // one change of endpoints at a time
	mu        sync.Mutex
	endpoints map[string][]Endpoint // by account, as far as they were read
}

// unreadable are the ends of the keys below a prefix of records that were tried and cannot be
// opened: what lists skip, and name.
func (r *Store) unreadable(ctx context.Context, prefix string) (ids []string, err error) {
	if r.seal == nil {
		return nil, nil
	}
	for _, key := range r.seal.Lost(prefix) {
		switch _, err := r.Store.Get(ctx, key); {
		case err == nil:
			ids = append(ids, strings.TrimPrefix(key, prefix))
		case errors.Is(err, persistence.ErrNotFound):
			r.seal.Gone(key)
		default:
			return nil, err
		}
	}
	return ids, nil
}

// Tell says that notices and the ends that they report are on the disk.
func (r *Store) Tell(list []Notice) {
	if r.OnNotices != nil && len(list) > 0 {
		r.OnNotices(list)
	}
}

// Config is what a [Store] is made from. Without Store and Files the records are
// in memory, and without Seal their key ends with the process.
type Config struct {
	Store persistence.Store
	Files persistence.Files
	Seal  *persistence.Seal
	Node  string // empty: there are no others
	Log   zerolog.Logger
	// Uploads is the folder for files of tasks that wait in the queue of a single node.
	Uploads string
	// History says how much of the history of runs is kept; nil: nothing.
	History *runs.Bounds
	Secrets engine.SecretsOf // of an account, which no run has
}

// Open makes a [Store].
func Open(cfg Config) (*Store, error) {
	r := &Store{Store: cfg.Store, Node: cfg.Node, log: cfg.Log, uploads: cfg.Uploads, Close: func() {}}
	if r.Store == nil {
		r.Store = persistence.NewMemory()
		r.Close = func() { _ = r.Store.Close() }
	}
	files, seal := cfg.Files, cfg.Seal
	if files == nil {
		files = persistence.NewMemoryFiles()
	}
	if seal == nil {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails
		var err error
		if seal, err = persistence.NewSeal(key); err != nil {
			return nil, fmt.Errorf("make a sealing key: %w", err)
		}
	}
	r.Files, r.Plain = files, persistence.NewValueStore(r.Store, files)
	r.Sealed, r.seal = r.Plain.Sealed(seal), seal
	r.SessionFiles = persistence.NewSessionFiles(r.Store, files)
	if cfg.History != nil {
		r.Runs = runs.New(runs.Config{Store: r.Store, Values: r.Sealed, Secrets: cfg.Secrets, Bounds: *cfg.History, Log: cfg.Log})
	}
	return r, nil
}

// putJSON writes a value so that it survives a loss of power.
func putJSON(ctx context.Context, s *persistence.ValueStore, key, account string, expires time.Time, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return s.Put(ctx, persistence.Item{Key: key, Account: account, Value: b, Expires: expires, Durable: true})
}

// ReadJSON reads a value into v.
func ReadJSON(ctx context.Context, s *persistence.ValueStore, key string, v any) error {
	b, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	return nil
}

// EachJSON calls f for all records whose keys begin with a prefix. A record that
// cannot be read is logged and skipped.
func EachJSON[T any](ctx context.Context, r *Store, prefix string, f func(T)) error {
	list, err := r.Store.List(ctx, prefix)
	if err != nil {
		return fmt.Errorf("list the records at %s: %w", prefix, err)
	}
	for _, rec := range list {
		var v T
		if err := json.Unmarshal(rec.Value, &v); err != nil {
			r.log.Error().Err(err).Str("key", rec.Key).Msg("record not read")
			continue
		}
		f(v)
	}
	return nil
}
