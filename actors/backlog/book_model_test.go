package backlog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/engine"
	"troupe/persistence/clock"
)

// waiter is a task as the model knows it: it has all of them in memory.
type waiter struct {
	place Place
	task  string
	until time.Time // it was put back until then
}

// model is the queue without bounds of memory and without a disk that is slow.
type model struct {
	book    *Book
	clock   Clock
	now     time.Time
	disk    map[string]bool // keys
	adding  []waiter        // are being written
	waiting []waiter
	running []waiter
	gone    []waiter             // are being deleted
	turns   []string             // of accounts: the first is next
	paused  map[string]time.Time // groups, by account and hash
	loads   []loading
	named   int
}

// loading is a question that was asked, with what the disk had then.
type loading struct {
	load Load
	keys []Found
}

func (m *model) ask() {
	for _, l := range m.book.Wants() {
		var keys []Found
		for _, key := range slices.Sorted(func(yield func(string) bool) {
			for k := range m.disk {
				if strings.HasPrefix(k, l.Lane.Prefix()) && k > l.After && !yield(k) {
					return
				}
			}
		}) {
			if len(keys) < l.Most {
				keys = append(keys, Found{Key: key, Size: 10})
			}
		}
		m.loads = append(m.loads, loading{l, keys})
	}
}

func (m *model) deliver(i int, failed bool) {
	l := m.loads[i]
	m.loads = slices.Delete(m.loads, i, i+1)
	m.book.Loaded(l.load, l.keys, failed)
}

// settle lets the disk answer everything.
func (m *model) settle() {
	for m.ask(); len(m.loads) > 0; m.ask() {
		m.deliver(0, false)
	}
}

func (m *model) join(account string) {
	if !slices.Contains(m.turns, account) {
		m.turns = append(m.turns, account)
	}
}

// leave drops accounts that have nothing any more, as the book does, with the pauses of their
// groups.
func (m *model) leave() {
	has := func(a string) bool {
		for _, all := range [][]waiter{m.adding, m.waiting, m.running, m.gone} {
			if slices.ContainsFunc(all, func(w waiter) bool { return w.place.Account == a }) {
				return true
			}
		}
		return false
	}
	m.turns = slices.DeleteFunc(m.turns, func(a string) bool { return !has(a) })
	maps.DeleteFunc(m.paused, func(group string, _ time.Time) bool { return !has(group[:1]) })
}

func (m *model) busy(p Place) (n int) {
	for _, w := range m.running {
		if w.place.Account == p.Account && w.place.Group == p.Group {
			n++
		}
	}
	return n
}

// next is the task that is to run: by turns of accounts, priority and time.
func (m *model) next() (best waiter, ok bool) {
	for _, account := range m.turns {
		for _, w := range m.waiting {
			p := w.place
			if p.Account != account || p.At().After(m.now) || m.now.Before(w.until) || p.Group != "" && (m.busy(p) >= p.Concurrency || m.now.Before(m.paused[p.Account+p.Group])) {
				continue
			}
			if !ok || p.Priority > best.place.Priority || p.Priority == best.place.Priority && p.order()+w.task < best.place.order()+best.task {
				best, ok = w, true
			}
		}
		if ok {
			return best, true
		}
	}
	return best, false
}

func pick(t *rapid.T, all *[]waiter, what string) (waiter, bool) {
	if len(*all) == 0 {
		return waiter{}, false
	}
	i := rapid.IntRange(0, len(*all)-1).Draw(t, what)
	w := (*all)[i]
	*all = slices.Delete(*all, i, i+1)
	return w, true
}

// TestBookIsTheQueue: with a few keys of each lane in memory, and a disk that answers
// late, the book gives the same tasks in the same order as a list of all of them.
func TestBookIsTheQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{book: NewBook(nil), now: time.UnixMilli(1_800_000_000_000), disk: map[string]bool{}, paused: map[string]time.Time{}}
		add := func(n int) {
			account := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "account")
			q := &engine.Queue{Priority: rapid.SampledFrom([]int{0, 5, 9}).Draw(t, "priority"), Concurrency: 1}
			if g := rapid.IntRange(0, 2).Draw(t, "group"); g > 0 {
				q.Group, q.Concurrency = fmt.Sprint("g", g), g
			}
			from := m.now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 0, 20, 50}).Draw(t, "from")) * time.Millisecond)
			for range n {
				m.named++
				w := waiter{place: Place{LaneFor(account, q), m.clock.Order(m.now, from)}, task: fmt.Sprintf("task%05d", m.named)}
				m.book.Adding(w.place, w.task, 10)
				m.adding = append(m.adding, w)
				m.join(account)
			}
		}
		written := func(w waiter) {
			m.disk[w.place.Key(w.task)] = true
			m.book.Added(w.place, w.task, 10, 10)
			m.waiting = append(m.waiting, w)
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":  func(t *rapid.T) { add(1) },
			"many": func(t *rapid.T) { add(rapid.IntRange(10, 50).Draw(t, "n")) },
			"written": func(t *rapid.T) {
				if w, ok := pick(t, &m.adding, "written"); ok {
					written(w)
				}
			},
			"all written": func(t *rapid.T) {
				for _, w := range m.adding {
					written(w)
				}
				m.adding = nil
			},
			"on the disk, and not known yet": func(t *rapid.T) {
				if len(m.adding) > 0 {
					w := m.adding[rapid.IntRange(0, len(m.adding)-1).Draw(t, "which")]
					m.disk[w.place.Key(w.task)] = true
				}
			},
			"not written": func(t *rapid.T) {
				if w, ok := pick(t, &m.adding, "lost"); ok {
					delete(m.disk, w.place.Key(w.task))
					if !slices.ContainsFunc(m.loads, func(l loading) bool {
						return slices.ContainsFunc(l.keys, func(k Found) bool { return k.Key == w.place.Key(w.task) })
					}) {
						m.book.NotAdded(w.place, w.task, 10)
						m.leave()
						return
					}
					m.adding = append(m.adding, w) // its key is on its way
				}
			},
			"ask": func(t *rapid.T) { m.ask() },
			"answer": func(t *rapid.T) {
				if n := len(m.loads); n > 0 {
					m.deliver(rapid.IntRange(0, n-1).Draw(t, "load"), rapid.IntRange(0, 9).Draw(t, "failed") == 0)
					m.leave()
				}
			},
			"time": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "ms")) * time.Millisecond)
			},
			"next": func(t *rapid.T) {
				m.settle()
				want, ok := m.next()
				p, task, got := m.book.Next(m.now)
				if ok != got || ok && (task != want.task || p != want.place) {
					t.Fatalf("the book gives %s at %+v (%v), want %s at %+v (%v)", task, p, got, want.task, want.place, ok)
				}
				if !ok {
					return
				}
				m.waiting = slices.DeleteFunc(m.waiting, func(w waiter) bool { return w.task == task })
				m.running = append(m.running, want)
				m.turns = append(slices.DeleteFunc(m.turns, func(a string) bool { return a == p.Account }), p.Account)
				if rapid.Bool().Draw(t, "deleted at once") { // in the service it stays until the end, and a lane never reads back
					delete(m.disk, p.Key(task))
				}
			},
			"end": func(t *rapid.T) {
				if w, ok := pick(t, &m.running, "ended"); ok {
					delete(m.disk, w.place.Key(w.task))
					m.book.Ended(w.task)
					m.leave()
				}
			},
			"put back": func(t *rapid.T) {
				if w, ok := pick(t, &m.running, "back"); ok {
					m.disk[w.place.Key(w.task)] = true
					w.until = m.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "until")) * time.Millisecond)
					m.book.PutBack(w.task, (*clock.Clock)(nil).Stored(w.until))
					m.waiting = append(m.waiting, w)
				}
			},
			"pause a group": func(t *rapid.T) {
				if len(m.waiting) > 0 {
					p := m.waiting[rapid.IntRange(0, len(m.waiting)-1).Draw(t, "whose")].place
					until := m.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "until")) * time.Millisecond)
					if m.book.PauseGroup(p.Lane, (*clock.Clock)(nil).Stored(until)); p.Group != "" {
						m.paused[p.Account+p.Group] = until
					}
					if at := m.book.NextAt(m.now); p.Group != "" && until.After(m.now) && (at.IsZero() || at.After(until)) {
						t.Fatalf("a group may begin at %v, and the book looks again at %v", until, at)
					}
				}
			},
			"remove": func(t *rapid.T) {
				if w, ok := pick(t, &m.waiting, "removed"); ok {
					m.book.Remove(w.place, w.task, 10)
					m.gone = append(m.gone, w)
				}
			},
			"removed": func(t *rapid.T) {
				if w, ok := pick(t, &m.gone, "gone"); ok {
					delete(m.disk, w.place.Key(w.task))
					m.book.Removed(w.place, w.task)
					m.leave()
				}
			},
			"": func(t *rapid.T) {
				if got, want := m.book.Len(), len(m.waiting)+len(m.adding); got != want {
					t.Fatalf("%d tasks wait, want %d", got, want)
				}
				if got := m.book.Running(); got != len(m.running) {
					t.Fatalf("%d tasks run, want %d", got, len(m.running))
				}
				for _, a := range m.book.accounts {
					for _, l := range a.lanes {
						if len(l.window) > 2*l.most() {
							t.Fatalf("a lane has %d keys in memory", len(l.window))
						}
					}
				}
			},
		})
	})
}
