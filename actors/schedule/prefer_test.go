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
		report := func(id string) {
			s := r.Slots[id]
			r.Apply(WorkerStatus{Worker: id, Seq: s.Seq, State: api.Online, Ready: true, Claimable: true}, start)
		}
		for _, s := range specs {
			report(s.ID)
		}
		tasks := 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if busy := slices.IndexFunc(model, func(w *worker) bool { return w.busy }); busy >= 0 && rapid.Bool().Draw(t, "ends") {
				tasks++
				w := model[busy]
				w.busy, w.used = false, tasks
				s := r.Slots[w.name]
				r.Apply(WorkerStatus{Worker: w.name, Seq: s.Seq, State: api.Online, Ready: true, Claimable: true}, start.Add(time.Duration(tasks)*time.Second))
				continue
			}
			account := rapid.SampledFrom([]string{"ada", "bob", "cleo"}).Draw(t, "account")
			var want []*worker // in the order of preference
			for _, w := range model {
				if !w.busy {
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
			chosen.busy, chosen.last = true, account
			r.Assign(got, &Job{Claim: fsm.Claim{Task: "t", Account: account}})
			r.Apply(WorkerStatus{Worker: chosen.name, Seq: got.Seq, State: api.Busy, Task: "t"}, start)
		}
	})
}
