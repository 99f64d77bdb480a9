package member

import (
	"context"
	"maps"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"troupe/cluster/damage"
)

// marksEvery is how often a node that runs writes down how far its logs are.
const marksEvery = 2 * time.Second

// reached is how far the logs of the node are.
func (m *Member) reached() map[string]uint64 {
	last := map[string]uint64{}
	for _, account := range []string{"", "$G"} { // the engine's own, and the store's
		groups := m.Engine().Raftz(&server.RaftzOptions{AccountFilter: account})
		if groups == nil {
			continue
		}
		for _, all := range *groups {
			for name, g := range all {
				last[filepath.Join("jetstream", "$SYS", "_js_", name)] = g.Applied
			}
		}
	}
	for name, seq := range m.LastChanges() {
		last[filepath.Join("jetstream", "$G", "streams", name)] = seq
	}
	return last
}

// LastChanges is the newest change in this node's copy of each stream that it keeps.
func (m *Member) LastChanges() map[string]uint64 {
	last := map[string]uint64{}
	if m.Attached() {
		return last
	}
	all, err := m.Engine().JszAccount(&server.JSzOptions{Account: "$G", Streams: true})
	if err != nil {
		return last
	}
	for _, s := range all.Streams {
		last[s.Name] = s.State.LastSeq
	}
	return last
}

// mark writes down how far the logs are, until ctx ends. With Unsynced nothing is
// certain to be on the disk.
func (m *Member) mark(ctx context.Context) {
	before, err := damage.ReadMarks(m.cfg.Dir)
	written := err == nil && before.Files == nil
	for ; ctx.Err() == nil; sleep(ctx, marksEvery) {
		var k damage.Marks
		if !m.cfg.Unsynced {
			if k.Last = m.reached(); len(k.Last) == 0 {
				continue // the engine is not there yet, or no more
			}
		}
		if written && maps.Equal(k.Last, before.Last) {
			continue
		}
		if err := k.Write(m.cfg.Dir); err != nil {
			m.cfg.Log.Debug().Err(err).Msg("failed to write down how far the node's copy is")
			continue
		}
		before, written = k, true
	}
}

// stopped writes down all that the copy has, once nothing changes it any more.
func (m *Member) stopped() {
	k, err := damage.ReadMarks(m.cfg.Dir)
	if err == nil {
		k.Forget(m.cfg.Dir)
		k.Files, err = damage.ListFiles(m.cfg.Dir)
	}
	if err == nil && k.Files != nil {
		err = k.Write(m.cfg.Dir)
	}
	if err != nil {
		m.cfg.Log.Warn().Err(err).Msg("failed to write down what the node's copy has")
	}
}
