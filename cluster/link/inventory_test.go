package link

import (
	"fmt"
	"slices"
	"testing"

	"troupe/actors/api"
)

// TestNews: others hear at once of what decides where they send something, and
// of one more free worker among many when it is time.
func TestNews(t *testing.T) {
	t.Parallel()
	state := func(free, of int) *Inventory {
		i := &Inventory{Node: "n1"}
		for n := range of {
			w := api.WorkerInfo{ID: fmt.Sprint(n), State: api.Online}
			if n >= free {
				w.State, w.TaskID = api.Busy, "t"
			}
			i.Workers = append(i.Workers, w)
		}
		return i
	}
	with := func(i *Inventory, f func(i *Inventory)) *Inventory {
		i.Workers = slices.Clone(i.Workers)
		f(i)
		return i
	}
	for name, c := range map[string]struct {
		told, now *Inventory
		want      bool
	}{
		"nothing":                  {state(8, 16), state(8, 16), false},
		"one of many is free":      {state(8, 16), state(9, 16), false},
		"one of many is taken":     {state(9, 16), state(8, 16), false},
		"the last is taken":        {state(1, 16), state(0, 16), true},
		"one is free again":        {state(0, 16), state(1, 16), true},
		"few are free":             {state(4, 16), state(5, 16), true},
		"nearly all are taken":     {state(16, 16), state(2, 16), true},
		"a worker more":            {state(8, 16), state(8, 17), true},
		"a session":                {state(8, 16), with(state(8, 16), func(i *Inventory) { i.Workers[9].Session = "s" }), true},
		"a worker without browser": {state(8, 16), with(state(8, 16), func(i *Inventory) { i.Workers[9].State = api.Offline }), true},
		"a worker is drained":      {state(8, 16), with(state(8, 16), func(i *Inventory) { i.Workers[9].Draining = true }), true},
		"it drains":                {state(8, 16), with(state(8, 16), func(i *Inventory) { i.Draining = true }), true},
		"its clients wait":         {state(8, 16), with(state(8, 16), func(i *Inventory) { i.Waiting = 2 }), true},
		"fewer of them wait":       {with(state(0, 16), func(i *Inventory) { i.Waiting = 3 }), with(state(0, 16), func(i *Inventory) { i.Waiting = 2 }), false},
		"an owned one is taken": {with(state(16, 16), func(i *Inventory) { i.Workers[0].Owner = "a" }),
			with(state(16, 16), func(i *Inventory) { i.Workers[0].Owner, i.Workers[0].State = "a", api.Busy }), true},
	} {
		if got := c.now.Changed(c.told); got != c.want {
			t.Errorf("%s: is it news? %v", name, got)
		}
	}
}
