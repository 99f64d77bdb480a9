package schedule

import (
	"slices"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"pgregory.net/rapid"

	"troupe/actors/api"
	"troupe/actors/fsm"
)

// TestSelectPrefersTheLastAccount compares the selection with a plain list of when each
// worker was used last and by whom. Nobody is refused a worker that is free.
func TestSelectPrefersTheLastAccount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type worker struct {
			name, last string
			used       int // number of its last task; zero: none
			busy       bool
			unclean    bool // it is being cleaned after that
		}
		n := rapid.IntRange(1, 6).Draw(t, "workers")
		var specs []api.WorkerSpec
		var model []*worker
		for i := range n {
			specs = append(specs, api.WorkerSpec{ID: string(rune('a' + i)), Name: string(rune('a' + i))})
			model = append(model, &worker{name: specs[i].ID})
		}
		start := time.Now()
		r := NewRoster(specs, func(api.WorkerSpec) *actor.PID { return nil }, start)
		r.PreferLast = rapid.Bool().Draw(t, "prefers")
		tasks := 0
		report := func(w *worker) {
			r.Apply(WorkerStatus{Worker: w.name, Seq: r.Slots[w.name].Seq, State: api.Online, Ready: !w.unclean, Claimable: true}, start.Add(time.Duration(tasks)*time.Second))
		}
		for _, w := range model {
			report(w)
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if busy := slices.IndexFunc(model, func(w *worker) bool { return w.busy }); busy >= 0 && rapid.Bool().Draw(t, "ends") {
				tasks++
				w := model[busy]
				w.busy, w.used, w.unclean = false, tasks, rapid.Bool().Draw(t, "is cleaned")
				report(w)
				continue
			}
			if unclean := slices.IndexFunc(model, func(w *worker) bool { return w.unclean }); unclean >= 0 && rapid.Bool().Draw(t, "is clean") {
				model[unclean].unclean = false
				report(model[unclean])
				continue
			}
			account := rapid.SampledFrom([]string{"ada", "bob", "cleo"}).Draw(t, "account")
			var want []*worker // in the order of preference
			for _, w := range model {
				if !w.busy && !w.unclean {
					want = append(want, w)
				}
			}
			cleaned := len(want) == 0 // no other is free
			for _, w := range model {
				if cleaned && w.unclean {
					want = append(want, w)
				}
			}
			got := r.Select(account, true, func(*Slot) bool { return true })
			if len(want) == 0 {
				if got != nil {
					t.Fatalf("%s gets a busy worker", account)
				}
				continue
			}
			if got == nil {
				t.Fatalf("%s gets none of %d free workers", account, len(want))
			}
			mine := slices.DeleteFunc(slices.Clone(want), func(w *worker) bool { return w.last != account })
			best := func(of []*worker, latest bool) int {
				all := of[0].used
				for _, w := range of {
					if latest {
						all = max(all, w.used)
					} else {
						all = min(all, w.used)
					}
				}
				return all
			}
			chosen := model[slices.IndexFunc(model, func(w *worker) bool { return w.name == got.Spec.ID })]
			switch {
			case cleaned && r.PreferLast && len(mine) > 0:
				if chosen.last != account || chosen.used != best(mine, false) {
					t.Fatalf("%s gets %+v of %d that are being cleaned after its own tasks", account, *chosen, len(mine))
				}
			case cleaned:
				if chosen.used != best(want, false) {
					t.Fatalf("%s gets %+v, which is not the one cleaned for longest", account, *chosen)
				}
			case r.PreferLast && len(mine) > 0:
				if chosen.last != account || chosen.used != best(mine, true) {
					t.Fatalf("%s gets %+v of %d that it has used", account, *chosen, len(mine))
				}
			case r.PreferLast:
				if chosen.used != best(want, false) {
					t.Fatalf("%s gets %+v, which is not the one unused for longest", account, *chosen)
				}
			case chosen.used != best(want, true):
				t.Fatalf("%s gets %+v, which is not the last used", account, *chosen)
			}
			chosen.busy, chosen.unclean, chosen.last = true, false, account
			r.Assign(got, &Job{Claim: fsm.Claim{Task: "t", Account: account}})
			r.Apply(WorkerStatus{Worker: chosen.name, Seq: got.Seq, State: api.Busy, Task: "t"}, start)
		}
	})
}
