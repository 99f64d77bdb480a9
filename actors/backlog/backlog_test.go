package backlog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/engine"
)

// TestPlaces: the key of a record and the identifier of its task lead to the same
// place, and keys are in the order of the queue.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() Place {
			q := &engine.Queue{Priority: rapid.IntRange(0, engine.MaxPriority).Draw(t, "priority"),
				Group: rapid.SampledFrom([]string{"", "login", "ü/- _q"}).Draw(t, "group"), Concurrency: rapid.IntRange(1, engine.MaxConcurrency).Draw(t, "concurrency")}
			return Place{LaneFor("acc_1", q), rapid.Uint64Range(0, 1<<(4*orderDigits)-1).Draw(t, "order")}
		}
		p, other := draw(), draw()
		id := p.TaskID("task_0123456789abcdef_1790000000")
		if len(id) > 64 {
			t.Fatalf("%q has %d characters", id, len(id))
		}
		if got, ok := PlaceOf("acc_1", id); !ok || got != p {
			t.Fatalf("%q leads to %+v (%v), want %+v", id, got, ok, p)
		}
		if got, task, ok := ParseKey(p.Key(id)); !ok || got != p || task != id {
			t.Fatalf("%q is read as %+v %q (%v), want %+v", p.Key(id), got, task, ok, p)
		}
		if other.Group = p.Group; other.Group == "" {
			other.Concurrency = 0
		} else {
			other.Concurrency = p.Concurrency
		}
		first := p.Priority > other.Priority || p.Priority == other.Priority && p.Order < other.Order
		if first && strings.Compare(p.Key("t"), other.Key("t")) >= 0 {
			t.Fatalf("%q is behind %q", p.Key("t"), other.Key("t"))
		}
	})
}

// TestLanesOfProfiles: tasks that wait for a profile are in a lane of it, of which one runs
// at a time, unless they have a group.
func TestLanesOfProfiles(t *testing.T) {
	lane := func(body string) Lane {
		task, err := engine.Parse([]byte(`{"actions":[{"wait":1}],`+body+`}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		return LaneOf("acc_1", task)
	}
	plain, group, shop := lane(`"queue":true`), lane(`"queue":{"group":"g","concurrency":3}`), lane(`"queue":true,"profile":"shop"`)
	for body, want := range map[string]Lane{
		`"queue":true,"profile":{"name":"shop","busy":"wait"}`:   shop,
		`"queue":true,"profile":{"name":"shop","busy":"copy"}`:   plain,
		`"queue":true,"profile":{"name":"shop","readonly":true}`: plain,
		`"queue":{"group":"g","concurrency":3},"profile":"shop"`: group,
		`"queue":{"group":"shop"}`:                               lane(`"queue":{"group":"shop","concurrency":1}`),
		`"queue":true,"profile":"other"`:                         lane(`"queue":true,"profile":{"name":"other"}`),
	} {
		if got := lane(body); got != want {
			t.Errorf("%s is in %+v, want %+v", body, got, want)
		}
	}
	if other := lane(`"queue":true,"profile":"other"`); shop.Group == "" || shop.Concurrency != 1 || shop.Group == other.Group || shop.Group == lane(`"queue":{"group":"shop"}`).Group {
		t.Errorf("%+v, %+v", shop, other)
	}
	p := Place{shop, 1}
	if got, ok := PlaceOf("acc_1", p.TaskID("task_0123456789abcdef_1790000000")); !ok || got != p {
		t.Errorf("%+v", got)
	}
}

func TestOtherIdentifiersHaveNoPlace(t *testing.T) {
	for _, id := range []string{"", "task_0123456789abcdef_1790000000", "x_q", "x_q5", "x_q5zzzzzzzzzzzzzz", "x_qA0123456789abcd", "x_q50123456789abcdabcdefgh", "x_q50123456789abcdabcdefgh0"} {
		if p, ok := PlaceOf("a", id); ok {
			t.Errorf("%q has the place %+v", id, p)
		}
	}
	for _, key := range []string{"", "queued/a", "queued/a/-/4/0123456789abcd", "task/a/-/4/0123456789abcd/t", "queued/a/-/x/0123456789abcd/t"} {
		if p, _, ok := ParseKey(key); ok {
			t.Errorf("%q has the place %+v", key, p)
		}
	}
}

// TestTwoAccounts: of an account with 50,000 tasks and one with ten, the ten begin
// among the first twenty.
func TestTwoAccounts(t *testing.T) {
	b, now := NewBook(nil), time.Now()
	var c Clock
	add := func(account string, n int) {
		lane := LaneFor(account, &engine.Queue{Priority: engine.DefaultPriority})
		for i := range n {
			p := Place{lane, c.Order(now, now)}
			if account == "long" {
				b.Found(p, 10, uint64(i+1))
			} else {
				b.Adding(p, fmt.Sprint("short", i), 10)
				b.Added(p, fmt.Sprint("short", i), 10, 10)
			}
		}
	}
	add("long", 50_000)
	keys := 0
	begun := map[string]int{}
	next := func() {
		for _, l := range b.Wants() {
			var found []Found
			for range l.Most {
				keys++
				found = append(found, Found{Key: Place{l.Lane, uint64(keys)}.Key(fmt.Sprint("long", keys)), Size: 10})
			}
			b.Loaded(l, found, false)
		}
		p, task, ok := b.Next(now)
		if !ok {
			t.Fatal("nothing runs")
		}
		begun[p.Account]++
		b.Ended(task)
	}
	for range 1000 {
		next()
	}
	now = now.Add(time.Minute)
	add("short", 10)
	for range 20 {
		next()
	}
	if begun["short"] != 10 {
		t.Errorf("of ten tasks beside a long queue %d have begun after twenty", begun["short"])
	}
}

// TestBookIsSmall: what is in memory does not grow with the tasks that wait.
func TestBookIsSmall(t *testing.T) {
	b, now := NewBook(nil), time.Now()
	var c Clock
	lane := LaneFor("a", &engine.Queue{Priority: 1})
	for i := range 100_000 {
		p := Place{lane, c.Order(now, now)}
		b.Adding(p, fmt.Sprint(i), 1)
		b.Added(p, fmt.Sprint(i), 1, 1)
	}
	if l := b.accounts["a"].lanes[lane]; len(l.window) > l.most() || len(l.adding)+len(l.late)+len(l.gone)+len(l.held) > 0 {
		t.Errorf("of 100,000 tasks %d are in memory", len(l.window))
	}
	if n, bytes := b.Waiting("a"); n != 100_000 || bytes != 100_000 {
		t.Errorf("%d tasks of %d bytes wait", n, bytes)
	}
}

func TestPosition(t *testing.T) {
	b, now := NewBook(nil), time.Now()
	var c Clock
	numbers := map[string]uint64{}
	places := map[string]Place{}
	add := func(task string, priority int) {
		p := Place{LaneFor("a", &engine.Queue{Priority: priority}), c.Order(now, now)}
		places[task], numbers[task] = p, b.Adding(p, task, 1)
		b.Added(p, task, 1, 1)
	}
	for i := range 5 {
		add(fmt.Sprint("low", i), 1)
	}
	for i := range 3 {
		add(fmt.Sprint("high", i), 8)
	}
	at := func(task string, want int) {
		t.Helper()
		if got, _ := b.Position(places[task], numbers[task], now); got != want {
			t.Errorf("%s is at %d, want %d", task, got, want)
		}
	}
	at("high0", 1)
	at("high2", 3)
	at("low0", 4)
	at("low4", 8)
	for range 4 {
		now = now.Add(time.Second)
		p, task, _ := b.Next(now)
		b.Began(p, numbers[task])
		b.Ended(task)
	}
	at("low1", 1)
	at("low4", 4)
	if _, in := b.Position(places["low4"], numbers["low4"], now); in != 4*time.Second {
		t.Errorf("at one task a second the fourth begins in %s", in)
	}
}

func TestAgain(t *testing.T) {
	for _, c := range []struct {
		q        engine.Queue
		attempts int
		code     engine.Code
		after    time.Duration
		again    bool
	}{
		{engine.Queue{Attempts: 1}, 1, engine.CodeInterrupted, 0, false},
		{engine.Queue{Attempts: 3, Backoff: time.Second}, 1, engine.CodeInterrupted, time.Second, true},
		{engine.Queue{Attempts: 3, Backoff: time.Second}, 2, engine.CodeBrowserCrashed, 2 * time.Second, true},
		{engine.Queue{Attempts: 3, Backoff: time.Second}, 3, engine.CodeWorkerLost, 0, false},
		{engine.Queue{Attempts: 3, Backoff: time.Second}, 1, "", 0, false},
		{engine.Queue{Attempts: 3, Backoff: time.Second}, 1, engine.CodeTaskTimeout, time.Second, true},
		{engine.Queue{Attempts: 3, Backoff: time.Second}, 1, engine.CodeTimeout, time.Second, true},
		{engine.Queue{Attempts: 3, Backoff: time.Second}, 1, engine.CodeElementNotFound, 0, false},
		{engine.Queue{Attempts: 3, Backoff: 0, RetryOn: []engine.Code{engine.CodeElementNotFound}}, 1, engine.CodeElementNotFound, 0, true},
		{engine.Queue{Attempts: 3, Backoff: time.Second, RetryOn: []engine.Code{engine.CodeElementNotFound}}, 1, engine.CodeInterrupted, 0, false},
		{engine.Queue{Attempts: 3, RetryOn: []engine.Code{engine.CodeCancelled}}, 1, engine.CodeCancelled, 0, false},
		{engine.Queue{Attempts: 3, RetryOn: []engine.Code{}}, 1, engine.CodeInterrupted, 0, false},
		{engine.Queue{Attempts: 10, Backoff: time.Hour}, 9, engine.CodeInterrupted, time.Hour, true},
		{engine.Queue{Attempts: 10, Backoff: 20 * time.Minute}, 4, engine.CodeInterrupted, time.Hour, true},
	} {
		after, again := Again(&c.q, c.attempts, c.code)
		if after != c.after || again != c.again {
			t.Errorf("attempt %d of %+v ended with %q: again %v after %s, want %v after %s", c.attempts, c.q, c.code, again, after, c.again, c.after)
		}
	}
}
