package view

import (
	"encoding/json"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

func endedWith(bytes int) *api.Polled {
	return &api.Polled{Status: api.TaskComplete, Executed: &api.Executed{Outcome: &engine.Outcome{End: engine.EndCompleted, Data: make(json.RawMessage, bytes)}}}
}

func poll(id, account string, wait time.Duration) *api.Poll {
	return &api.Poll{TaskID: id, Account: api.Account{ID: account}, Wait: wait}
}

func TestBoardShowsWhatCanBeAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b StatusCache
		runs, over := &api.Polled{Status: api.TaskPending, Executed: &api.Executed{}}, endedWith(10)
		b.Set("runs", "anna", runs)
		b.Remember("over", "anna", over, time.Now().Add(time.Hour))
		for _, c := range []struct {
			name string
			m    *api.Poll
			want *api.Polled
		}{
			{"one that runs", poll("runs", "anna", 0), runs},
			{"one that runs, with a wait", poll("runs", "anna", time.Second), nil},
			{"one that has ended", poll("over", "anna", 0), over},
			{"one that has ended, with a wait", poll("over", "anna", time.Second), over},
			{"somebody else's", poll("over", "bert", 0), nil},
			{"none", poll("never", "anna", 0), nil},
		} {
			if got := b.Get(c.m); got != c.want {
				t.Errorf("%s: %+v", c.name, got)
			}
		}
		b.Delete("runs")
		b.Set("other", "bert", runs)
		b.Set("his", "carl", runs)
		b.Remember("his", "carl", over, time.Now().Add(time.Hour)) // its actor is gone
		if b.Get(poll("his", "carl", 0)) != over {
			t.Error("the end of a task is not shown that has been running")
		}
		b.ForgetAccount("carl")
		if b.Get(poll("his", "carl", 0)) != nil || len(b.ended) != 1 || b.weight != b.ended[0].weight || b.Get(poll("other", "bert", 0)) == nil {
			t.Errorf("after an account was forgotten: %+v", b.shown)
		}
		time.Sleep(time.Hour)
		for _, id := range []string{"runs", "over"} {
			if got := b.Get(poll(id, "anna", 0)); got != nil {
				t.Errorf("%s is shown still: %+v", id, got)
			}
		}
	})
}

func TestBoardIsBounded(t *testing.T) {
	var b StatusCache
	until := time.Now().Add(time.Hour)
	b.Remember("huge", "anna", endedWith(cacheBytes), until)
	if b.Get(poll("huge", "anna", 0)) != nil {
		t.Error("one that leaves no room for others is remembered")
	}
	const size = 100 << 10
	for i := range 1000 {
		b.Remember(strconv.Itoa(i), "anna", endedWith(size), until)
	}
	if b.weight > cacheBytes || b.weight < cacheBytes-2*size || len(b.shown) != len(b.ended) {
		t.Errorf("%d bytes of %d tasks are remembered, %d are shown; want %d bytes", b.weight, len(b.ended), len(b.shown), cacheBytes)
	}
	if b.Get(poll("999", "anna", 0)) == nil || b.Get(poll("0", "anna", 0)) != nil {
		t.Error("it is not the newest that are remembered")
	}
	b.Remember("late", "anna", endedWith(1), time.Now())
	b.Remember("next", "anna", endedWith(1), until)
	for i := range 1000 {
		b.Remember(strconv.Itoa(2000+i), "anna", endedWith(size), until)
	}
	if len(b.shown) != len(b.ended) {
		t.Errorf("%d are shown, %d remembered", len(b.shown), len(b.ended))
	}
}

// What is too large to be remembered is forgotten with the actor of its task.
func TestLargeEndsAreNotKept(t *testing.T) {
	var b StatusCache
	b.Set("large", "anna", endedWith(cacheBytes))
	b.Remember("large", "anna", endedWith(cacheBytes), time.Now().Add(time.Hour))
	if len(b.shown) != 0 {
		t.Errorf("%d are kept", len(b.shown))
	}
}
