package member

import (
	"context"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"troupe/persistence"
)

const (
	reviveEvery  = 500 * time.Millisecond
	revivePause  = 5 * time.Second // between two attempts
	othersWithin = 2 * time.Second
	fullDisk     = "the disk of the data folder is full, and this node's copy of what the nodes keep in common stands still until there is space"
	givenUpCopy  = "a part of this node's copy of what the nodes keep in common was given up, and it waits until a majority of the others has everything"
	deadCopy     = "this node cannot write its copy of what the nodes keep in common: the log says why"
)

// Stopped says why the node's copy is no longer kept up to date; empty: it is. The
// engine gives it up when its disk is full, and the others go on without it.
func (m *Member) Stopped() string {
	switch {
	case m.Attached(), !gaveUp(m.Engine()):
		return ""
	case !m.room():
		return fullDisk
	case m.waits.Load():
		return givenUpCopy
	}
	return deadCopy
}

// gaveUp reports whether an engine writes nothing more: it has ended all that it
// keeps, as on a full disk mostly, or one of its logs, and waits for a restart.
func gaveUp(s *server.Server) bool {
	return !s.JetStreamEnabled() || strings.Contains(s.Healthz(&server.HealthzOptions{}).Error, "write error")
}

// room reports whether the disk has what a copy needs to go on.
func (m *Member) room() bool {
	free, err := persistence.Free(m.cfg.Dir)
	return m.openable() && (err != nil || free >= persistence.LeastFree(m.cfg.Dir))
}

// leastToOpen is what must be free so that the engine is let near its files. It writes
// some of them anew as it opens them, and what it cannot write it takes for gone.
const leastToOpen = 8 << 20

// openable reports whether the disk has room enough for the copy to be opened. One that
// has less than [Member.room] wants is opened all the same: what it has can be read, also
// where all nodes have as little.
func (m *Member) openable() bool {
	if m.diskFull.Load() {
		return false
	}
	return !persistence.NoRoom(persistence.Gives(m.cfg.Dir, leastToOpen)) // what else is wrong, the engine says
}

// othersHaveAll reports whether what the nodes keep in common is whole without this node: for
// each stream one of the others leads, and a majority has all that was agreed on.
func (m *Member) othersHaveAll(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, othersWithin)
	defer cancel()
	js, err := jetstream.New(m.conn)
	if err != nil {
		return false
	}
	streams := 0
	for list := js.StreamNames(ctx); ; streams++ {
		name, more := <-list.Name()
		if !more {
			return list.Err() == nil && streams > 0
		}
		s, err := js.Stream(ctx, name)
		if err != nil {
			return false
		}
		c := s.CachedInfo().Cluster
		if c == nil || c.Leader == "" || c.Leader == m.cfg.Name {
			return false
		}
		have, of := 1, 1
		for _, r := range c.Replicas {
			of++
			if r.Name != m.cfg.Name && r.Current && !r.Offline {
				have++
			}
		}
		if 2*have <= of {
			return false
		}
	}
}

// restart ends the engine and starts another one in its place.
func (m *Member) restart(ctx context.Context) error {
	m.restarts.Lock()
	defer m.restarts.Unlock()
	m.Engine().Shutdown()
	m.Engine().WaitForShutdown()
	return m.run(ctx)
}

// revive starts the engine's copy again where it was given up, until ctx ends.
func (m *Member) revive(ctx context.Context) {
	for given := false; ctx.Err() == nil; sleep(ctx, reviveEvery) {
		if !given && (!m.Engine().Running() || !gaveUp(m.Engine())) {
			continue
		}
		if !given {
			given = true
			m.whole.Store(false)
			m.cfg.Log.Error().Str("reason", m.Stopped()).Msg("this node has stopped keeping its copy; the others go on")
		}
		if !m.room() || m.waits.Load() && !m.othersHaveAll(ctx) {
			continue
		}
		m.waits.Store(false)
		// Giving up its copy is the engine's last word: it starts anew.
		if err := m.restart(ctx); err != nil {
			m.cfg.Log.Error().Err(err).Msg("the node's copy of what the nodes keep in common cannot be started again")
			sleep(ctx, revivePause)
			continue
		}
		given = false
		m.cfg.Log.Info().Msg("the node's copy can be kept again: the node fetches from the others what it has missed")
		m.background.Go(func() { m.whole.Store(m.Ready(ctx) == nil) })
		sleep(ctx, revivePause)
	}
}
