package cluster

import (
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
)

// TestWhatHasNotChangedIsToldSeldom: nodes that have nothing to say cost each
// other little, and what has changed does not wait for that.
func TestWhatHasNotChangedIsToldSeldom(t *testing.T) {
	t.Parallel()
	began := time.Now()
	worker := api.WorkerInfo{ID: "n1-w1", State: api.Online, Since: began}
	busy := worker
	busy.State, busy.TaskID = api.Reserved, "task_1"
	many := func(first api.WorkerInfo) []api.WorkerInfo {
		return []api.WorkerInfo{first, worker, worker, worker, worker, worker, worker}
	}
	told := link.Inventory{Node: "n1", Sent: began, Workers: many(worker), Held: map[string]int64{"bob": 3}}
	for name, c := range map[string]struct {
		change func(*link.Inventory)
		after  time.Duration
		nodes  int
	}{
		"nothing":                                     {func(*link.Inventory) {}, announceAgain - announceGap, 3},
		"one less of many is free":                    {func(i *link.Inventory) { i.Workers = many(busy) }, announceEvery - announceGap, 3},
		"the share is smaller":                        {func(i *link.Inventory) { i.Held = map[string]int64{"bob": 2} }, announceEvery - announceGap, 3},
		"one more of some wait":                       {func(i *link.Inventory) { i.Waiting++ }, 0, 3},
		"it drains":                                   {func(i *link.Inventory) { i.Draining = true }, 0, 3},
		"a worker node has one of two free":           {func(i *link.Inventory) { i.Workers = []api.WorkerInfo{busy, worker} }, announceEvery - announceGap, 3},
		"a worker node has none free":                 {func(i *link.Inventory) { i.Workers = []api.WorkerInfo{busy, busy} }, 0, 3},
		"one of two is free":                          {func(i *link.Inventory) { i.Workers = []api.WorkerInfo{busy, worker} }, 0, 3},
		"of thirty nodes one less of many is free":    {func(i *link.Inventory) { i.Workers = many(busy) }, announceEvery - announceGap, 30},
		"of a hundred nodes one less of many is free": {func(i *link.Inventory) { i.Workers = many(busy) }, time.Second - announceGap, 100},
		"of a hundred nodes one drains":               {func(i *link.Inventory) { i.Draining = true }, 0, 100},
		"of a thousand nodes the share is smaller":    {func(i *link.Inventory) { i.Held = map[string]int64{"bob": 2} }, announceAgain - announceGap, 1000},
	} {
		told := told
		if strings.Contains(name, "two") || strings.Contains(name, "none") {
			told.Workers = []api.WorkerInfo{worker, worker}
		}
		if strings.HasPrefix(name, "a worker node") {
			told.Role = link.RoleWorker
		}
		now := told
		c.change(&now)
		for after := time.Duration(0); after < 2*announceAgain; after += time.Millisecond {
			now.Sent = began.Add(after)
			if isDue(&now, &told, c.nodes) {
				if after != c.after {
					t.Errorf("%s: told after %v, want %v", name, after, c.after)
				}
				break
			}
			if after > c.after {
				t.Errorf("%s: not told after %v", name, after)
				break
			}
		}
	}
}
