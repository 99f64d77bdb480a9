package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// Bounds of what is kept of a session.
const (
	maxKept         = 200       // steps, the last ones
	maxKeptBytes    = 256 << 10 // of them
	maxActions      = 5000      // that one session runs for a model
	journalLifetime = time.Hour // after the last call; a session lives for half of that unused
)

// Kept is what is known of a session that no task says: which sites it may see, and
// what was done in it. Nothing of a page is in it.
type Kept struct {
	Sites   []string   `json:"sites,omitempty"`
	Actions int        `json:"actions"` // that were run in all
	Steps   []KeptStep `json:"steps,omitempty"`
	Left    int        `json:"left,omitempty"` // earlier steps that are no longer kept
}

// KeptStep is an action that succeeded, with selectors for the references in it.
type KeptStep struct {
	Action    json.RawMessage `json:"action"`
	Selectors json.RawMessage `json:"selectors,omitempty"`
}

// add keeps the last steps within the bounds.
func (k *Kept) add(steps []KeptStep) {
	k.Steps = append(k.Steps, steps...)
	size := 0
	for i := len(k.Steps) - 1; i >= 0; i-- {
		size += len(k.Steps[i].Action) + len(k.Steps[i].Selectors)
		if len(k.Steps)-i > maxKept || size > maxKeptBytes {
			k.Left += i + 1
			k.Steps = append([]KeptStep(nil), k.Steps[i+1:]...)
			return
		}
	}
}

// Journal keeps what is known of the sessions of accounts. A session without an entry
// has the zero one.
type Journal interface {
	// Load returns the entry of a session.
	Load(ctx context.Context, account, session string) (Kept, error)
	// Change lets f change the entry of a session, again where somebody else has
	// changed it meanwhile.
	Change(ctx context.Context, account, session string, f func(*Kept)) error
	// Forget removes the entry of a session that has ended.
	Forget(ctx context.Context, account, session string) error
}

// memory is a [Journal] that ends with the process.
type memory struct {
	mu  sync.Mutex
	all map[string]*memoryEntry
}

type memoryEntry struct {
	kept Kept
	used time.Time
}

// NewMemory makes a journal for one client, that ends with the process.
func NewMemory() Journal { return &memory{all: map[string]*memoryEntry{}} }

func (m *memory) Load(_ context.Context, account, session string) (Kept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.all[account+"/"+session]; e != nil {
		k := e.kept
		k.Steps = append([]KeptStep(nil), k.Steps...)
		return k, nil
	}
	return Kept{}, nil
}

func (m *memory) Change(_ context.Context, account, session string, f func(*Kept)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for key, e := range m.all {
		if now.Sub(e.used) > journalLifetime {
			delete(m.all, key)
		}
	}
	e := m.all[account+"/"+session]
	if e == nil {
		e = &memoryEntry{}
		m.all[account+"/"+session] = e
	}
	e.used = now
	f(&e.kept)
	return nil
}

func (m *memory) Forget(_ context.Context, account, session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, account+"/"+session)
	return nil
}
