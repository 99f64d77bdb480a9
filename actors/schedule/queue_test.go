package schedule

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// bypassed counts, for one who waits, how often the workers that could serve it
// served somebody else.
type bypassed struct {
	w     *Waiter
	front int                       // of its own account, when it came, for the same target
	by    map[string]map[string]int // worker, account
}

// TestQueueIsFair lets random requests come, go and be served, and checks what
// the queue promises against a plain list of those who wait.
//
// Promise: Accounts take turns in the queue (docs/queue.md#order).
func TestQueueIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := NewQueue()
		workers, accounts := []string{"w1", "w2", "w3"}, []string{"a", "b", "c", "d"}
		var list []*bypassed     // in the order of arrival
		back := map[string]int{} // services of an account that came to nothing
		tasks := 0
		take := func(w *Waiter) *bypassed {
			i := slices.IndexFunc(list, func(b *bypassed) bool { return b.w == w })
			b := list[i]
			list = slices.Delete(list, i, i+1)
			return b
		}
		serve := func(worker string, may func(*Waiter) bool) *Waiter {
			fits := func(w *Waiter) bool { return (w.Target == "" || w.Target == worker) && may(w) }
			got := q.Next([]string{worker, ""}, may)
			first := slices.IndexFunc(list, func(b *bypassed) bool { return fits(b.w) })
			if got == nil {
				if first >= 0 {
					t.Fatalf("%s gets nobody, and %s waits for it", worker, list[first].w.Task)
				}
				return nil
			}
			take(got)
			for _, b := range list {
				switch {
				case !fits(b.w):
				case b.w.Account == got.Account:
					if b.w.Arrival < got.Arrival {
						t.Fatalf("%s serves %s before %s of the same account", worker, got.Task, b.w.Task)
					}
				default:
					if b.by[worker] == nil {
						b.by[worker] = map[string]int{}
					}
					b.by[worker][got.Account]++
					if b.by[worker][got.Account] > b.front+1+back[b.w.Account]+back[got.Account] {
						t.Fatalf("%s was passed over %d times for %s by %s, with %d before it", b.w.Task,
							b.by[worker][got.Account], got.Account, worker, b.front)
					}
				}
			}
			return got
		}
		all := func(*Waiter) bool { return true }
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1, 2:
				tasks++
				w := &Waiter{Task: fmt.Sprint("t", tasks), Account: rapid.SampledFrom(accounts).Draw(t, "account")}
				if rapid.IntRange(0, 3).Draw(t, "named") == 0 {
					w.Target = rapid.SampledFrom(workers).Draw(t, "target")
				}
				b := &bypassed{w: w, by: map[string]map[string]int{}}
				for _, o := range list {
					if o.w.Account == w.Account {
						b.front++
					}
				}
				q.Add(w)
				list = append(list, b)
			case 3:
				if len(list) > 0 {
					w := rapid.SampledFrom(list).Draw(t, "gives up").w
					if q.Remove(w.Task) != w || q.Remove(w.Task) != nil {
						t.Fatalf("%s cannot leave once", w.Task)
					}
					take(w)
				}
			case 4, 5:
				serve(rapid.SampledFrom(workers).Draw(t, "worker"), all)
			case 6: // the worker sends it back, and the next one takes it
				if w := serve(rapid.SampledFrom(workers).Draw(t, "worker"), all); w != nil && w.Target == "" {
					q.Add(w)
					back[w.Account]++
					list = slices.Insert(list, indexByArrival(list, w), &bypassed{w: w, front: len(list), by: map[string]map[string]int{}})
				}
			}
			if q.Len() != len(list) {
				t.Fatalf("%d in the queue, %d wait", q.Len(), len(list))
			}
		}
		for _, a := range accounts {
			n := 0
			for _, b := range list {
				if b.w.Account == a {
					n++
				}
			}
			if q.Count(a) != n {
				t.Fatalf("%s has %d in the queue, and %d wait", a, q.Count(a), n)
			}
		}
		for len(list) > 0 {
			if serve(list[0].w.Target, all) == nil && serve("w1", all) == nil {
				t.Fatal("somebody is never served")
			}
		}
	})
}

func indexByArrival(list []*bypassed, w *Waiter) int {
	i := slices.IndexFunc(list, func(b *bypassed) bool { return b.w.Arrival > w.Arrival })
	if i < 0 {
		return len(list)
	}
	return i
}

// TestPositionIsTheTurn checks that who is told a place would have been served
// in that place, had nobody else come.
func TestPositionIsTheTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := NewQueue()
		n := rapid.IntRange(1, 20).Draw(t, "waiters")
		for i := range n {
			q.Add(&Waiter{Task: fmt.Sprint(i), Account: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "account")})
			if rapid.IntRange(0, 3).Draw(t, "serve") == 0 {
				q.Next([]string{""}, func(*Waiter) bool { return true })
			}
		}
		places := map[string]int{}
		for task := range q.waiters {
			places[task] = q.Position(task)
		}
		for place := 1; q.Len() > 0; place++ {
			w := q.Next([]string{""}, func(*Waiter) bool { return true })
			if places[w.Task] != place {
				t.Fatalf("%s was told place %d and is served as %d", w.Task, places[w.Task], place)
			}
		}
	})
}

func TestFairnessBetweenNamedAndAny(t *testing.T) {
	// One account wants any worker, again and again, and one certain worker
	// once. That it is served elsewhere must not keep it from there.
	q := NewQueue()
	all := func(*Waiter) bool { return true }
	add := func(account, target string) {
		q.Add(&Waiter{Task: fmt.Sprint(q.arrival), Account: account, Target: target})
	}
	for range 20 {
		add("a", "")
		add("b", "")
	}
	add("a", "w1")
	for i := range 40 {
		if w := q.Next([]string{"w2", ""}, all); w == nil || w.Target != "" {
			t.Fatalf("w2 serves %+v", w)
		}
		if w := q.Next([]string{"w1", ""}, all); w.Target == "w1" {
			if i > 20 {
				t.Fatalf("served as number %d", i)
			}
			return
		}
		add("a", "")
		add("b", "")
	}
	t.Fatal("never served")
}

func TestSentBackKeepsItsTurn(t *testing.T) {
	q := NewQueue()
	all := func(*Waiter) bool { return true }
	for _, task := range []string{"a1", "a2", "b1"} {
		q.Add(&Waiter{Task: task, Account: task[:1]})
	}
	first := q.Next([]string{""}, all)
	q.Add(first)
	for _, want := range []string{"a1", "b1", "a2"} {
		if w := q.Next([]string{""}, all); w.Task != want {
			t.Fatalf("served %s, want %s", w.Task, want)
		}
	}
}
