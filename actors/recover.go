package actors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// recoverTimeout bounds the reading of what an earlier process has left.
const recoverTimeout = time.Minute

// recover loads what an earlier process has left, before requests come.
func (n *nodeParts) recover() error {
	ctx, cancel := context.WithTimeout(context.Background(), recoverTimeout)
	defer cancel()
	for _, each := range []func(context.Context) error{n.leases.Open, n.recoverWorkers, n.claimAhead, n.recoverTasks, n.recoverQueue, n.recoverSessions} {
		if err := each(ctx); err != nil {
			return err
		}
	}
	return nil
}

// recoveredSession is a session that goes on after its process or its worker has
// changed.
type recoveredSession struct {
	rec      records.Session
	revision uint64 // of the record; zero: it is yet to be written
	state    records.SessionState
	term     uint64 // of the node's lease, in which this was found out
}

// recoverSessions finds the sessions that go on with their workers, and ends
// those whose time passed while the node was down.
func (n *nodeParts) recoverSessions(ctx context.Context) error {
	mine := map[string]bool{}
	for _, w := range n.cfg.Workers {
		mine[w.ID] = true
	}
	n.recovered = map[string]*recoveredSession{}
	var over []records.Session
	err := records.EachJSON(ctx, n.records, records.SessionPrefix, func(rec records.Session) {
		switch {
		case rec.Node != "" && rec.Node != n.cfg.Node:
			return // another node's by now
		case !mine[rec.Worker]:
			// Another node's, perhaps: its time ends it.
			if !time.Now().Before(rec.Deadline) {
				over = append(over, rec)
			}
			return
		}
		s := n.loadSession(ctx, rec)
		switch other := n.recovered[rec.Worker]; {
		case s == nil:
			over = append(over, rec)
		case other == nil:
			n.recovered[rec.Worker] = s
		case other.rec.Saved.Before(rec.Saved): // it was renamed
			over = append(over, other.rec)
			n.recovered[rec.Worker] = s
		default:
			over = append(over, rec)
		}
	})
	if err != nil {
		return err
	}
	err = records.InParallel(over, func(rec records.Session) error { return n.records.EraseSession(ctx, rec) })
	if err != nil {
		n.log.Error().Err(err).Msg("sessions that are over not removed")
	}
	return n.takeRecovered(ctx)
}

// takeRecovered makes the recovered sessions this process's own, and drops those
// that another node has taken first.
func (n *nodeParts) takeRecovered(ctx context.Context) error {
	var mu sync.Mutex
	return records.InParallel(slices.Collect(maps.Values(n.recovered)), func(s *recoveredSession) error {
		rec, revision, err := n.records.SessionAt(ctx, s.rec.ID)
		if err == nil && n.leases != nil && rec.SameOwner(s.rec) {
			rec, revision, err = n.records.TakeSession(ctx, rec, revision, n.cfg.Node, rec.Worker)
		}
		switch {
		case err == nil && (rec.Node == n.cfg.Node || rec.Node == ""):
			s.rec.Node, s.rec.Epoch, s.revision, s.term = rec.Node, rec.Epoch, revision, n.leases.Term()
			return nil
		case err == nil || errors.Is(err, persistence.ErrNotFound) || errors.Is(err, persistence.ErrConflict):
			mu.Lock()
			delete(n.recovered, s.rec.Worker)
			mu.Unlock()
			return nil
		}
		return fmt.Errorf("take a session over: %w", err)
	})
}

// loadSession reads a session that goes on, and returns nil for one that cannot.
func (n *nodeParts) loadSession(ctx context.Context, rec records.Session) *recoveredSession {
	if !time.Now().Before(rec.Deadline) {
		return nil
	}
	rec.AdjustClock(time.Now())
	state, err := n.records.ReadState(ctx, rec)
	if err != nil {
		n.log.Error().Err(err).Str("worker", rec.Worker).Msg("session lost: its state could not be read")
		return nil
	}
	return &recoveredSession{rec: rec, state: state}
}

// recoverTasks records that the tasks that ran when the node ended have failed.
func (n *nodeParts) recoverTasks(ctx context.Context) error {
	var lost, queued []records.Task
	err := records.EachJSON(ctx, n.records, records.TaskPrefix, func(t records.Task) {
		if t.Queue != nil && n.sharesQueue() {
			return // the node that orders the queue decides
		}
		if t.Status == api.TaskPending && t.Node == n.cfg.Node && t.Queue != nil && n.queue != nil {
			queued = append(queued, t)
		} else if t.Status == api.TaskPending && t.Node == n.cfg.Node {
			t.Status, t.Ended = api.TaskFailed, time.Now()
			lost = append(lost, t)
		}
	})
	if err != nil {
		return err
	}
	err = records.InParallel(lost, func(t records.Task) error {
		if n.records.Node == "" {
			return n.records.EndTask(ctx, t, nil, records.Interrupted(), engine.CodeInterrupted)
		}
		_, err := n.records.InterruptTask(ctx, t.ID, t.Account)
		if errors.Is(err, persistence.ErrNotFound) { // its account was removed meanwhile
			err = nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write down interrupted tasks: %w", err)
	}
	for _, t := range lost {
		n.tellEnd(t, records.Interrupted())
	}
	return n.recoverQueued(ctx, queued)
}

// tellEnd logs how an asynchronous task has ended, because its client may never
// poll.
func (n *nodeParts) tellEnd(t records.Task, out *engine.Outcome) {
	code := outcome.Code(out)
	n.log.Info().Str("task", t.ID).Str("account", persistence.AccountName(t.Account)).Str("worker", t.WorkerID).
		Str("status", string(outcome.Counted(t.Status, code))).Str("end", string(out.End)).Str("code", string(code)).
		Int("failed", len(out.Failures)).Dur("took", t.Ended.Sub(t.Started)).Msg("asynchronous task ended")
}
