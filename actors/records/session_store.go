package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"troupe/engine"
	"troupe/persistence"
)

// TakeSession writes a new owner into a session's record, if the record has not
// changed since it was read.
func (r *Store) TakeSession(ctx context.Context, rec Session, over uint64, node, worker string) (Session, uint64, error) {
	rec = rec.TakenBy(node, worker)
	b, err := json.Marshal(rec)
	if err != nil {
		return rec, 0, err
	}
	revision, err := persistence.PutOwn(ctx, r.Store, persistence.Write{
		Key: SessionPrefix + rec.ID, Value: b, Expires: rec.Deadline.Add(SessionGrace), If: &over, Durable: true,
	})
	return rec, revision, err
}

// SessionAt reads a session's record with its revision.
func (r *Store) SessionAt(ctx context.Context, id string) (rec Session, revision uint64, err error) {
	if len(id) > maxSessionID {
		return rec, 0, persistence.ErrNotFound
	}
	found, err := r.Store.Get(ctx, SessionPrefix+id)
	if err != nil {
		return rec, 0, err
	}
	if err := json.Unmarshal(found.Value, &rec); err != nil {
		return rec, 0, fmt.Errorf("read session %s: %w", id, err)
	}
	return rec, found.Revision, nil
}

// EraseSession removes what is on disk of a session, whichever node owns it.
func (r *Store) EraseSession(ctx context.Context, rec Session) error {
	errs := []error{r.Store.Delete(ctx, SessionPrefix+rec.ID, nil, true), r.SessionFiles.End(ctx, rec.Account, rec.ID)}
	for _, epoch := range slices.Compact([]uint64{rec.State, rec.Epoch}) {
		errs = append(errs, r.Sealed.DeleteOf(ctx, rec.Account, StateKey(rec.ID, epoch), true))
	}
	return errors.Join(errs...)
}

// ReadState reads the state of a session; empty if it was never saved.
func (r *Store) ReadState(ctx context.Context, rec Session) (SessionState, error) {
	s := SessionState{Cache: engine.NewCache()}
	err := ReadJSON(ctx, r.Sealed, StateKey(rec.ID, rec.State), &s)
	if errors.Is(err, persistence.ErrNotFound) {
		return s, nil
	}
	return s, err
}
