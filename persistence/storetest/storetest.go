// Package storetest says in tests what [persistence.Store] promises. Every
// implementation runs them.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/persistence"
)

// Run checks a store. Open gives an empty one; Run closes it.
func Run(t *testing.T, open func(t *testing.T) persistence.Store) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, *probe)
	}{
		{"a record is read as it was written", readsBack},
		{"a missing record is not found", missing},
		{"keys and values have bounds", bounds},
		{"values are the caller's own", ownValues},
		{"revisions grow over all keys", revisions},
		{"If nil writes whatever is there", unconditional},
		{"If zero writes only where nothing is", onlyNew},
		{"If a revision writes only over it", onlyOver},
		{"one of many conditional writers wins", oneWinner},
		{"a deleted record is gone", deletes},
		{"deletion by revision", deletesRevision},
		{"several changes follow each other, up to the first that fails", severalChanges},
		{"lists of changes are independent of each other", independentChanges},
		{"what is known of a record changes nothing", knownRecords},
		{"list is by prefix and in key order", lists},
		{"keys come in order behind a key, so many at most", keysBehind},
		{"an expired record is absent", expires},
		{"a new write without expiry stays", expiryCleared},
		{"watch tells of every change in order", watches},
		{"watch sees only its prefix", watchesPrefix},
		{"watch starts when it returns", watchStarts},
		{"watch ends with its context", watchEnds},
		{"a slow watcher loses the channel, never single events", slowWatcher},
		{"watchers agree on the order of concurrent writes", watchOrder},
		{"a counter adds and stops at its limit", counts},
		{"a counter never goes below zero", neverNegative},
		{"a counter does not overflow", noOverflow},
		{"a counter is a record", counterIsRecord},
		{"a counter expires as a whole", counterExpires},
		{"concurrent additions are exact", exact},
		{"a context that has ended changes nothing", endedContext},
		{"everything at once", everythingAtOnce},
		{"a closed store says so", closed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			c.run(t, &probe{t, s})
		})
	}
}

// probe is a store with which failures end the test.
type probe struct {
	t     *testing.T
	store persistence.Store
}

var ctx = context.Background()

func (p *probe) put(key, value string) uint64 {
	p.t.Helper()
	return p.write(persistence.Write{Key: key, Value: []byte(value)})
}

func (p *probe) write(w persistence.Write) uint64 {
	p.t.Helper()
	rev, err := p.store.Put(ctx, w)
	if err != nil {
		p.t.Fatalf("Put(%q): %v", w.Key, err)
	}
	return rev
}

func (p *probe) get(key string) persistence.Record {
	p.t.Helper()
	r, err := p.store.Get(ctx, key)
	if err != nil {
		p.t.Fatalf("Get(%q): %v", key, err)
	}
	return r
}

func (p *probe) absent(key string) {
	p.t.Helper()
	if r, err := p.store.Get(ctx, key); !errors.Is(err, persistence.ErrNotFound) {
		p.t.Fatalf("Get(%q) = %q, %v; want ErrNotFound", key, r.Value, err)
	}
	list, err := p.store.List(ctx, key)
	if err != nil {
		p.t.Fatalf("List(%q): %v", key, err)
	}
	for _, r := range list {
		if r.Key == key {
			p.t.Fatalf("List(%q) has the absent record", key)
		}
	}
}

func (p *probe) conflict(w persistence.Write) {
	p.t.Helper()
	if rev, err := p.store.Put(ctx, w); !errors.Is(err, persistence.ErrConflict) {
		p.t.Fatalf("Put(%q) = %d, %v; want ErrConflict", w.Key, rev, err)
	}
}

func (p *probe) add(key string, delta, limit int64) (int64, bool) {
	p.t.Helper()
	total, ok, err := p.store.Add(ctx, key, delta, limit, time.Time{})
	if err != nil {
		p.t.Fatalf("Add(%q): %v", key, err)
	}
	return total, ok
}

func (p *probe) keys(prefix string) string {
	p.t.Helper()
	list, err := p.store.List(ctx, prefix)
	if err != nil {
		p.t.Fatalf("List(%q): %v", prefix, err)
	}
	keys := make([]string, len(list))
	for i, r := range list {
		keys[i] = r.Key
	}
	return strings.Join(keys, " ")
}

func (p *probe) watch(prefix string) <-chan persistence.Event {
	p.t.Helper()
	wctx, cancel := context.WithCancel(ctx)
	p.t.Cleanup(cancel)
	ch, err := p.store.Watch(wctx, prefix)
	if err != nil {
		p.t.Fatalf("Watch(%q): %v", prefix, err)
	}
	return ch
}

// hang is how long is waited for what never comes about: no promise of how soon
// anything does.
const hang = 2 * time.Minute

// next waits for an event.
func (p *probe) next(ch <-chan persistence.Event) persistence.Event {
	p.t.Helper()
	select {
	case e, ok := <-ch:
		if !ok {
			p.t.Fatal("the channel was closed; want an event")
		}
		return e
	case <-time.After(hang):
		p.t.Fatalf("no event within %v", hang)
	}
	panic("unreachable")
}

// quiet reports an event that should not be there. It is sure only because a
// later change of the same store has been heard of.
func (p *probe) quiet(ch <-chan persistence.Event) {
	p.t.Helper()
	select {
	case e := <-ch:
		p.t.Fatalf("unexpected event %v", show(e))
	default:
	}
}

func show(e persistence.Event) string {
	if e.Deleted {
		return fmt.Sprintf("-%s", e.Key)
	}
	return fmt.Sprintf("%s=%s", e.Key, e.Value)
}

// soon polls until f is true.
func (p *probe) soon(what string, f func() bool) {
	p.t.Helper()
	for end := time.Now().Add(hang); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("not within %v: %s", hang, what)
		}
	}
}

func ptr(n uint64) *uint64 { return &n }
