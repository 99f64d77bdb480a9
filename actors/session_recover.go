package actors

import (
	"context"
	"time"
)

// recoverTimeout bounds the reading of what an earlier process has left.
const recoverTimeout = time.Minute

// recover takes over what an earlier process has left, before anybody can ask
// for it.
func (n *nodeParts) recover() error {
	ctx, cancel := context.WithTimeout(context.Background(), recoverTimeout)
	defer cancel()
	for _, each := range []func(context.Context) error{n.recoverWorkers, n.recoverTasks, n.recoverSessions} {
		if err := each(ctx); err != nil {
			return err
		}
	}
	return nil
}

// keptSession is a session that goes on.
type keptSession struct {
	rec   sessionRecord
	state sessionState
}

// recoverSessions finds the sessions that go on with their workers, and ends
// those whose time passed while the node was down.
func (n *nodeParts) recoverSessions(ctx context.Context) error {
	mine := map[string]bool{}
	for _, w := range n.cfg.Workers {
		mine[w.ID] = true
	}
	n.kept = map[string]*keptSession{}
	var over []string
	err := eachJSON(ctx, n.records, sessionPrefix, func(rec sessionRecord) {
		if !mine[rec.Worker] {
			// Another node's, perhaps: its time ends it.
			if !time.Now().Before(rec.Deadline) {
				over = append(over, rec.ID)
			}
			return
		}
		s := n.revive(ctx, rec)
		switch other := n.kept[rec.Worker]; {
		case s == nil:
			over = append(over, rec.ID)
		case other == nil:
			n.kept[rec.Worker] = s
		case other.rec.Saved.Before(rec.Saved): // it was renamed
			over = append(over, other.rec.ID)
			n.kept[rec.Worker] = s
		default:
			over = append(over, rec.ID)
		}
	})
	if err != nil {
		return err
	}
	err = together(over, func(id string) error { return n.records.eraseSession(ctx, id) })
	if err != nil {
		n.log.Error().Err(err).Msg("sessions that are over not removed")
	}
	return nil
}

// revive reads a session that goes on, and returns nil for one that cannot.
func (n *nodeParts) revive(ctx context.Context, rec sessionRecord) *keptSession {
	if !time.Now().Before(rec.Deadline) {
		return nil
	}
	rec.heed(time.Now())
	state, err := n.records.readState(ctx, rec.ID)
	if err != nil {
		n.log.Error().Err(err).Str("worker", rec.Worker).Msg("session lost: its state could not be read")
		return nil
	}
	return &keptSession{rec: rec, state: state}
}
