package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"troupe/engine"
	"troupe/persistence"
)

// takeSession writes down that a session has another owner, if nothing has changed
// since its record was read.
func (r *records) takeSession(ctx context.Context, rec sessionRecord, over uint64, node, worker string) (sessionRecord, uint64, error) {
	rec = rec.taken(node, worker)
	b, err := json.Marshal(rec)
	if err != nil {
		return rec, 0, err
	}
	revision, err := r.store.Put(ctx, persistence.Write{
		Key: sessionPrefix + rec.ID, Value: b, Expires: rec.Deadline.Add(unclaimed), If: &over, Durable: true,
	})
	return rec, revision, err
}

// sessionAt reads a session's record with its revision.
func (r *records) sessionAt(ctx context.Context, id string) (rec sessionRecord, revision uint64, err error) {
	if len(id) > sessionIDMost {
		return rec, 0, persistence.ErrNotFound
	}
	found, err := r.store.Get(ctx, sessionPrefix+id)
	if err != nil {
		return rec, 0, err
	}
	if err := json.Unmarshal(found.Value, &rec); err != nil {
		return rec, 0, fmt.Errorf("read session %s: %w", id, err)
	}
	return rec, found.Revision, nil
}

// eraseSession removes what is on disk of a session, whoever has it.
func (r *records) eraseSession(ctx context.Context, rec sessionRecord) error {
	errs := []error{r.store.Delete(ctx, sessionPrefix+rec.ID, nil, true)}
	for _, epoch := range slices.Compact([]uint64{rec.State, rec.Epoch}) {
		errs = append(errs, r.sealed.Delete(ctx, stateKey(rec.ID, epoch), true))
	}
	return errors.Join(errs...)
}

// readState reads the state of a session. One that never was saved has none.
func (r *records) readState(ctx context.Context, rec sessionRecord) (sessionState, error) {
	s := sessionState{Cache: engine.NewCache()}
	err := readJSON(ctx, r.sealed, stateKey(rec.ID, rec.State), &s)
	if errors.Is(err, persistence.ErrNotFound) {
		return s, nil
	}
	return s, err
}
