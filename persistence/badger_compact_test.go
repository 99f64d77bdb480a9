package persistence_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
	"troupe/testkit/need"
)

// TestCompact: a store that once had many records gives their space back, and keeps the
// others with their revisions and times. A store that is open is left alone.
func TestCompact(t *testing.T) {
	need.NoRace(t)
	dir := folder(t)
	b := openBadger(t, dir)
	later := time.Now().Add(time.Hour)
	for i := range 5 {
		if _, err := b.Put(ctx, persistence.Write{Key: fmt.Sprintf("kept/%d", i), Value: fmt.Append(nil, i), Expires: later}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 400 {
		key := fmt.Sprintf("gone/%d", i)
		if _, err := b.Put(ctx, persistence.Write{Key: key, Value: make([]byte, 100<<10)}); err != nil {
			t.Fatal(err)
		}
		if err := b.Delete(ctx, key, nil, false); err != nil {
			t.Fatal(err)
		}
	}
	before, err := b.List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := persistence.CompactBadger(dir, zerolog.Nop()); !errors.Is(err, persistence.ErrInUse) {
		t.Errorf("while it is open: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := persistence.CompactBadger(dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes before, %d after", c.Before, c.After)
	if c.After > 8<<20 || c.After >= c.Before {
		t.Errorf("%d bytes before, %d after", c.Before, c.After)
	}
	b = openBadger(t, dir)
	after, err := b.List(ctx, "")
	if err != nil || len(after) != len(before) {
		t.Fatalf("%d records of %d, %v", len(after), len(before), err)
	}
	for i, r := range after {
		if w := before[i]; r.Key != w.Key || string(r.Value) != string(w.Value) || r.Revision != w.Revision || !r.Expires.Equal(w.Expires) {
			t.Errorf("%+v was %+v", r, w)
		}
	}
	if n, err := b.Put(ctx, persistence.Write{Key: "new"}); err != nil || n <= before[len(before)-1].Revision {
		t.Errorf("the next revision is %d, %v", n, err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
