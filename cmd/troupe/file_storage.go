package main

import (
	"context"
	"sync"
	"syscall"
	"time"

	"troupe/engine"
	"troupe/persistence"
)

// The share of the disk that files of clients never get, so that the store can
// write whatever they do: what the store itself wants, and a part of the disk.
const (
	minSpare  = 64 << 20
	sparePart = 20 // one of so many
	maxSpare  = 2 << 30
)

// account counts what files keep from now on.
func (s *service) account(files persistence.Files) {
	s.ledger = persistence.NewLedger(s.Storage<<20, spare(s.data))
	s.files = persistence.NewAccounted(files, s.ledger)
}

// allowance is how much an account of a plan may keep.
func (s *service) allowance(p engine.Plan) persistence.Allowance {
	l := (*s.plans.Load())[p]
	return persistence.Allowance{Bytes: l.StorageBytes, Files: l.StorageFiles}
}

// spare says how many bytes files may still take of the disk of a folder. It looks
// a few times a second at most. Where it cannot look, it does not know.
func spare(dir string) func() (int64, bool) {
	const often = 250 * time.Millisecond
	var mu sync.Mutex
	var looked time.Time
	var free int64
	var known bool
	return func() (int64, bool) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(looked) < often {
			return free, known
		}
		var disk syscall.Statfs_t
		looked, known = time.Now(), syscall.Statfs(dir, &disk) == nil
		if known {
			block := int64(disk.Bsize)
			free = int64(disk.Bavail)*block - minSpare - min(int64(disk.Blocks)*block/sparePart, maxSpare)
		}
		return free, known
	}
}

const (
	sweepEvery   = 10 * time.Minute // looks at all files, and for what a killed process left
	expireEvery  = time.Minute      // removes those whose time is known to be over
	countingTime = 3 * time.Second  // that the start waits until the files are counted
	countAgain   = 10 * time.Second // and 50 times as long as it took, before records are counted for an account that is full
)

// sweep counts the files that are there, and removes now and then those whose time
// is over. The returned function ends it.
func (s *service) sweep() func() error {
	ctx, cancel := context.WithCancel(context.Background())
	counted, done := make(chan struct{}), make(chan struct{})
	say := func(err error, doing string) {
		if err != nil && ctx.Err() == nil {
			s.log.Error().Err(err).Msg("failed to " + doing)
		}
	}
	go func() {
		defer close(done)
		say(s.files.Recount(ctx), "count the stored files")
		var again time.Time
		records := func() {
			if s.Cluster.worker() { // the nodes that keep them do it
				return
			}
			began := time.Now()
			say(s.ledger.CountRecords(ctx, s.store), "count the records of accounts")
			again = time.Now().Add(max(countAgain, 50*time.Since(began)))
		}
		records()
		close(counted)
		tick := time.NewTicker(expireEvery)
		defer tick.Stop()
		for last := (time.Time{}); ; {
			now := time.Now()
			var n int
			var err error
			switch {
			case s.Cluster.worker(): // the nodes that keep them do it
			case now.Sub(last) < sweepEvery-expireEvery/2:
				n, err = s.files.Expire(ctx, now)
			default:
				if !last.IsZero() && now.After(again) {
					records()
				}
				last = now
				if n, err = s.files.Sweep(ctx, now); s.shared != nil && !s.S3.on() { // other nodes keep files, too
					say(s.files.Recount(ctx), "count the stored files")
				}
			}
			say(err, "remove old files")
			if n > 0 {
				s.log.Info().Int("files", n).Msg("old files were removed")
			}
			for waiting := true; waiting; {
				select {
				case <-ctx.Done():
					return
				case <-s.ledger.Doubts():
					if time.Now().After(again) {
						records()
					}
				case <-tick.C:
					waiting = false
				}
			}
		}
	}()
	select {
	case <-counted:
	case <-time.After(countingTime):
		s.log.Warn().Msg("stored files are still being counted: until that is done, accounts can store more than their plan allows")
	}
	return func() error { cancel(); <-done; return nil }
}
