package backup

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"troupe/persistence"
)

// Records of backups themselves, which are in none.
const (
	prefix      = "backup/"
	stateKey    = prefix + "state"
	restoredKey = prefix + "restored"
)

// State is what a store knows of its backups. All nodes of a cluster share it.
type State struct {
	Store   string   `json:"store"` // a random name
	Done    []Done   `json:"done,omitempty"`
	Failed  *Failed  `json:"failed,omitempty"`  // the last one, if it came to nothing
	Running *Running `json:"running,omitempty"` // the one that is being made
}

// Done is the last good backup at a place.
type Done struct {
	Place   string        `json:"place"`
	Name    string        `json:"name"`
	Node    string        `json:"node,omitempty"`
	At      time.Time     `json:"at"` // its records are of this moment
	Took    time.Duration `json:"took"`
	Records int64         `json:"records"`
	Files   int64         `json:"files"`
	Bytes   int64         `json:"bytes"` // that were written for it
}

// Failed is a backup that came to nothing.
type Failed struct {
	Place string    `json:"place"`
	Node  string    `json:"node,omitempty"`
	At    time.Time `json:"at"`
	Times int       `json:"times"` // in a row
	Why   string    `json:"why"`
}

// Running is a backup that is being made.
type Running struct {
	ID    string    `json:"id"`
	Node  string    `json:"node,omitempty"`
	Began time.Time `json:"began"`
	Seen  time.Time `json:"seen"` // its maker says so now and then
}

// maxPlaces bounds how many places are remembered.
const maxPlaces = 16

// silent is how long a maker may say nothing before it is taken for one that has ended.
const silent = 2 * time.Minute

// RunningError: another backup is being made.
type RunningError struct{ Running }

func (e *RunningError) Error() string {
	at := ""
	if e.Node != "" {
		at = " at the node " + e.Node
	}
	return fmt.Sprintf("a backup is being made%s since %s: wait for its end", at, e.Began.UTC().Format(time.RFC3339))
}

// errTaken: this process was silent for so long that another one has taken over.
var errTaken = errors.New("another node has taken the backup over, because this one was silent")

// at finds the last good backup at a place; an empty place: at any.
func (s *State) at(place string) (d Done) {
	for _, one := range s.Done {
		if (place == "" || one.Place == place) && one.At.After(d.At) {
			d = one
		}
	}
	return d
}

// busy is the backup that is being made, or nil. A clock may have been put back meanwhile.
func (s *State) busy(now time.Time) *Running {
	if s.Running == nil || now.Sub(s.Running.Seen).Abs() > silent {
		return nil
	}
	return s.Running
}

// readState reads the state; a zero revision: there is none.
func readState(ctx context.Context, store persistence.Store) (s State, revision uint64, err error) {
	r, err := store.Get(ctx, stateKey)
	if errors.Is(err, persistence.ErrNotFound) {
		return s, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(r.Value, &s)
	}
	if err != nil {
		return s, 0, fmt.Errorf("read what is known of backups: %w", err)
	}
	return s, r.Revision, nil
}

// change changes the state, however many do at once.
func change(ctx context.Context, store persistence.Store, to func(*State) error) (State, error) {
	for {
		s, revision, err := readState(ctx, store)
		if err != nil {
			return s, err
		}
		if s.Store == "" {
			s.Store = rand.Text()
		}
		if err := to(&s); err != nil {
			return s, err
		}
		text, err := json.Marshal(s)
		if err != nil {
			return s, err
		}
		_, err = persistence.PutOwn(ctx, store, persistence.Write{Key: stateKey, Value: text, If: &revision, Durable: true})
		if errors.Is(err, persistence.ErrConflict) {
			continue
		}
		if err != nil {
			return s, fmt.Errorf("write what is known of backups: %w", err)
		}
		return s, nil
	}
}

// ownStore is the random name of a store.
func ownStore(ctx context.Context, store persistence.Store) (string, error) {
	s, _, err := readState(ctx, store)
	if err == nil && s.Store == "" {
		s, err = change(ctx, store, func(*State) error { return nil })
	}
	return s.Store, err
}

// note writes down how a backup ended.
func (s *State) note(d *Done, f *Failed) {
	if d != nil {
		s.Done = slices.DeleteFunc(s.Done, func(o Done) bool { return o.Place == d.Place })
		s.Done = append(s.Done, *d)
		if len(s.Done) > maxPlaces {
			s.Done = s.Done[len(s.Done)-maxPlaces:]
		}
		s.Failed = nil
		return
	}
	if s.Failed != nil && s.Failed.Place == f.Place {
		f.Times += s.Failed.Times
	}
	s.Failed = f
}
