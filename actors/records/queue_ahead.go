package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/persistence"
)

// AheadKey is where a node without others writes down which tasks it may begin soon.
const AheadKey = "queue/ahead"

// Ahead names the tasks that may begin without a sync of their claims: this record, which
// was synced, stands for those. A claim that is only in the system's memory survives the end of
// the process, but not that of the system. Then all of these tasks may have begun.
type Ahead struct {
	Boot string   `json:"boot"` // of the system, see [persistence.Boot]
	Keys []string `json:"keys"` // of their records in the queue
}

// Announce writes down which tasks may begin without a sync of their claims. Tasks that
// were named before need a claim by now, written before this is.
func (u Queue) Announce(ctx context.Context, keys []string) error {
	var w changes
	w.record(AheadKey, time.Time{}, Ahead{Boot: persistence.Boot(), Keys: keys}, persistence.Unknown, true)
	return w.apply(ctx, u.r.Store)
}

// NothingAhead says that all claims are on the disk.
func (u Queue) NothingAhead(ctx context.Context) error {
	if err := u.r.Store.Delete(ctx, AheadKey, nil, true); err != nil && !errors.Is(err, persistence.ErrNotFound) {
		return fmt.Errorf("forget which tasks may have begun: %w", err)
	}
	return nil
}

// ClaimAhead writes claims for the tasks that may have begun before the system ended, and
// have none.
func (u Queue) ClaimAhead(ctx context.Context) error {
	var a Ahead
	rec, err := u.r.Store.Get(ctx, AheadKey)
	if err == nil {
		err = json.Unmarshal(rec.Value, &a)
	}
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read which tasks may have begun: %w", err)
	case a.Boot != "" && a.Boot == persistence.Boot():
		return nil
	}
	for _, key := range a.Keys {
		if err := u.claimAhead(ctx, key); err != nil {
			return fmt.Errorf("claim %s: %w", key, err)
		}
	}
	return u.NothingAhead(ctx)
}

func (u Queue) claimAhead(ctx context.Context, key string) error {
	p, id, ok := backlog.ParseKey(key)
	if !ok {
		return nil
	}
	c, err := u.Turn(ctx, key, id)
	switch {
	case errors.Is(err, persistence.ErrNotFound): // it has ended
		return nil
	case ctx.Err() != nil:
		return err
	case err != nil: // what cannot be read begins no more
		u.r.log.Error().Err(err).Str("key", key).Msg("record not read")
		return nil
	case c.Stale: // it has a claim, or waits elsewhere
		return nil
	}
	t := Task{ID: id, Account: p.Account, Node: u.r.Node, Status: api.TaskPending, Started: time.Now()}
	t.Queue = &TaskQueue{Key: key, Attempts: c.Queued.Attempts + 1, Keep: c.Queued.Keep}
	_, err = u.r.PutTask(ctx, t, nil)
	return err
}
