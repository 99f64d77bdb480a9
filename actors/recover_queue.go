package actors

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"troupe/actors/backlog"
	"troupe/actors/records"
	"troupe/persistence"
)

// claimAhead takes tasks for begun whose claims may be lost.
func (n *nodeParts) claimAhead(ctx context.Context) error {
	if n.cfg.Node != "" {
		return nil
	}
	return n.records.Queue().ClaimAhead(ctx)
}

// nothingAhead says at a stop that all claims are on the disk, so that the next start takes
// no task for begun that has not.
func (n *nodeParts) nothingAhead(ctx context.Context) {
	if n.cfg.Node != "" || n.queue == nil {
		return
	}
	if err := n.records.Queue().NothingAhead(ctx); err != nil {
		n.log.Error().Err(err).Msg("it is not written that all claims of the queue are on the disk")
	}
}

// recoverQueued decides about the tasks of the queue that ran when the process ended:
// the end that was written, another attempt, or interrupted.
func (n *nodeParts) recoverQueued(ctx context.Context, all []records.Task) error {
	err := records.InParallel(all, func(t records.Task) error {
		if t.Queue.Waiting {
			return nil
		}
		_, err := n.decideOver(ctx, t, records.Interrupted())
		return err
	})
	if err != nil {
		return fmt.Errorf("write down interrupted tasks of the queue: %w", err)
	}
	return nil
}

// manySurveyed is after how many keys there is much garbage.
const manySurveyed = 50_000

// recoverQueue counts what waits in the queue.
func (n *nodeParts) recoverQueue(ctx context.Context) error {
	n.book = backlog.NewBook(n.cfg.Clock)
	if n.sharesQueue() {
		return n.sweepFetched()
	}
	if n.queue == nil {
		return nil
	}
	found := func(p backlog.Place, _ string, size int64, number uint64) { n.book.Found(p, size, number) }
	if err := n.records.Queue().Survey(ctx, found); err != nil {
		return err
	}
	n.queued.Store(int64(n.book.Len()))
	if n.book.Len() > manySurveyed { // the next collection may be minutes away
		n.background.Go(debug.FreeOSMemory)
	}
	return n.sweepUploads(ctx)
}

// sweepUploads removes the files of tasks that are not in the queue.
func (n *nodeParts) sweepUploads(ctx context.Context) error {
	if n.cfg.QueuedUploads == "" {
		return nil
	}
	folders, err := filepath.Glob(filepath.Join(n.cfg.QueuedUploads, "*", "*"))
	if err != nil {
		return fmt.Errorf("look at the files of queued tasks: %w", err)
	}
	for _, folder := range folders {
		account, id := filepath.Base(filepath.Dir(folder)), filepath.Base(folder)
		_, q, err := n.records.Queue().Find(ctx, account, id)
		switch {
		case errors.Is(err, persistence.ErrNotFound), err == nil && q.Uploads != folder:
			_ = os.RemoveAll(folder)
		case err != nil:
			return err
		}
	}
	return nil
}
