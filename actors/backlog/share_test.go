package backlog

import (
	"testing"

	"pgregory.net/rapid"
)

// workers are those of a node that both kinds of tasks want, as the pool gives them out.
type workers struct {
	n                   int
	queued, synchronous int // that play
	inFlight            int // queued tasks that were let in: they play, or wait
	syncWaiting         int
	lastQueued          bool
	lately              Lately
}

func (w *workers) demand() Demand {
	return Demand{Workers: w.n, Queued: w.queued, Synchronous: w.lately.Most(), LastQueued: w.lastQueued}
}

func (w *workers) free() int { return w.n - w.queued - w.synchronous }

// serve gives out what is free, as the pool does.
func (w *workers) serve(backlog bool) {
	for {
		w.lately.Add(w.synchronous + w.syncWaiting)
		for backlog && w.inFlight < w.demand().QueueMay() {
			w.inFlight++
		}
		waits := w.inFlight > w.queued
		switch {
		case w.free() == 0 || !waits && w.syncWaiting == 0:
			return
		case waits && (w.syncWaiting == 0 || w.demand().QueueFirst()):
			w.lastQueued = w.lastQueued && w.syncWaiting == 0 || w.syncWaiting > 0
			w.queued++
		default:
			w.lastQueued = w.lastQueued && !waits
			w.syncWaiting--
			w.synchronous++
		}
	}
}

// TestBothGetWorkers: whatever comes and ends, neither kind of tasks waits for ever
// where workers end their tasks, and no worker is idle without a reason.
func TestBothGetWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &workers{n: rapid.IntRange(1, 9).Draw(t, "workers")}
		passedQueue, passedSync := 0, 0 // times that the other got a worker while one waited
		t.Repeat(map[string]func(*rapid.T){
			"synchronous": func(t *rapid.T) { w.syncWaiting += rapid.IntRange(1, 12).Draw(t, "n") },
			"refused": func(t *rapid.T) { // it does not wait
				w.lately.Add(w.synchronous + w.syncWaiting + 1)
			},
			"queued ends": func(t *rapid.T) {
				if w.queued > 0 {
					w.queued--
					w.inFlight--
				}
			},
			"synchronous ends": func(t *rapid.T) {
				if w.synchronous > 0 {
					w.synchronous--
				}
			},
			"span": func(t *rapid.T) { w.lately.Turn() },
			"": func(t *rapid.T) {
				queued, synchronous, waiting := w.queued, w.synchronous, w.syncWaiting
				w.serve(true)
				if w.queued > queued && w.syncWaiting > 0 {
					passedSync += w.queued - queued
				}
				if w.synchronous > synchronous || w.syncWaiting == 0 || w.synchronous >= w.n/2 && w.n > 1 {
					passedSync = 0
				}
				if w.synchronous > synchronous && w.queued == queued {
					passedQueue += w.synchronous - synchronous
				}
				if w.queued > queued || w.queued >= w.n/2 && w.n > 1 {
					passedQueue = 0
				}
				switch d := w.demand(); {
				case w.free() > 0 && w.syncWaiting > 0:
					t.Fatalf("%d requests wait while %d workers are free (%d came)", w.syncWaiting, w.free(), waiting)
				case w.lately.Most() == 0 && w.free() > 0:
					t.Fatalf("nobody else wants a worker, and %d are free", w.free())
				case w.free() > 0 && w.queued < d.QueueMay():
					t.Fatalf("%d workers are free, and the queue has %d of %d", w.free(), w.queued, d.QueueMay())
				case w.free() > max(w.n/2, 0):
					t.Fatalf("%d of %d workers are free", w.free(), w.n)
				case passedSync > w.n:
					t.Fatalf("%d queued tasks went before requests that wait", passedSync)
				case passedQueue > w.n:
					t.Fatalf("%d requests went before queued tasks", passedQueue)
				}
			},
		})
	})
}

// TestHalves: with both always waiting, each gets half of what becomes free.
func TestHalves(t *testing.T) {
	for n := 1; n <= 8; n++ {
		w := &workers{n: n, syncWaiting: 1 << 20}
		got := [2]int{}
		w.serve(true)
		for i := range 10_000 {
			if i%2 == 0 && w.queued > 0 || w.synchronous == 0 {
				w.queued--
				w.inFlight--
			} else {
				w.synchronous--
			}
			before := [2]int{w.queued, w.synchronous}
			w.serve(true)
			got[0] += w.queued - before[0]
			got[1] += w.synchronous - before[1]
		}
		if got[0] < 4000 || got[1] < 4000 {
			t.Errorf("%d workers: %d queued and %d synchronous tasks", n, got[0], got[1])
		}
	}
}

// TestOwedWorkersAreGiven: where the queue has a worker too many, the next that becomes free
// goes to a synchronous task, and never more wait so than get one.
func TestOwedWorkersAreGiven(t *testing.T) {
	for n := range 12 {
		for queued := range n + 1 {
			for synchronous := range 12 {
				for _, last := range []bool{false, true} {
					d := Demand{Workers: n, Queued: queued, Synchronous: synchronous, LastQueued: last}
					waiting := 0
					for d.Owes(waiting) {
						waiting++
					}
					if n < 2 && waiting > 0 || waiting > n/2 {
						t.Fatalf("%+v: %d may wait", d, waiting)
					}
					if synchronous > 0 && queued == n && n > 1 && waiting == 0 {
						t.Fatalf("%+v: the queue has all, and nobody may wait", d)
					}
					for range waiting {
						d.Queued--
						if d.QueueFirst() {
							t.Fatalf("%+v: the queue has what it owes", d)
						}
					}
				}
			}
		}
	}
}
