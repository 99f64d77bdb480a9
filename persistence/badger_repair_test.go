package persistence_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// history is what a store was told: the value that each key has, and all it had.
type history struct {
	now map[string]string
	had map[string]map[string]bool
}

func (h *history) put(t *testing.T, s persistence.Store, key, value string) {
	t.Helper()
	mustPut(t, s, persistence.Write{Key: key, Value: []byte(value), Durable: len(h.now)%16 == 0})
	h.now[key] = value
	if h.had[key] == nil {
		h.had[key] = map[string]bool{}
	}
	h.had[key][value] = true
}

// lived makes a store with several tables, and a log where it was killed: the
// folder is copied while it is open, as a kill leaves it.
func lived(t *testing.T, r *rand.Rand, killed bool) (string, *history) {
	t.Helper()
	dir := folder(t)
	h := &history{map[string]string{}, map[string]map[string]bool{}}
	b := openBadger(t, dir)
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	}
	for range 4 {
		for range 150 {
			key := fmt.Sprintf("%s/%d", []string{"account", "token", "task", "session"}[r.IntN(4)], r.IntN(200))
			if _, there := h.now[key]; there && r.IntN(4) == 0 {
				if err := b.Delete(ctx, key, nil, false); err != nil {
					t.Fatal(err)
				}
				delete(h.now, key)
				continue
			}
			h.put(t, b, key, text(r.IntN(2000)))
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		b = openBadger(t, dir)
	}
	if killed {
		for i := range 60 {
			h.put(t, b, fmt.Sprintf("late/%d", i), text(r.IntN(2000)))
		}
	} else if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	left := folder(t)
	wait.Until(t, "Badger has put its tables together", func() bool { // else the copy is of no one moment
		before := tables(dir)
		err := errors.Join(os.RemoveAll(left), tryCopy(dir, left))
		return err == nil && before == tables(dir)
	})
	return left, h
}

// tables are the names of a store's tables, and the size of their list.
func tables(dir string) string {
	all, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	info, err := os.Stat(filepath.Join(dir, "MANIFEST"))
	return fmt.Sprint(all, info.Size(), err)
}

func copyStore(t *testing.T, from, to string) {
	t.Helper()
	if err := tryCopy(from, to); err != nil {
		t.Fatal(err)
	}
}

func tryCopy(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if out, err := exec.Command("cp", "-a", "--sparse=always", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	text, err := os.ReadFile(from + ".lock")
	if err == nil {
		err = os.WriteFile(to+".lock", text, 0o600)
	}
	return err
}

// harm damages one file of a store at random, and says how.
func harm(t *testing.T, r *rand.Rand, dir string) string {
	t.Helper()
	var names []string
	for _, kind := range []string{"*.sst", "*.sst", "*.mem", "*.mem", "MANIFEST", "KEYREGISTRY", "*.vlog", "DISCARD", "STATE"} {
		found, _ := filepath.Glob(filepath.Join(dir, kind))
		for _, name := range found {
			if info, err := os.Stat(name); err == nil && info.Size() > 0 {
				names = append(names, name)
			}
		}
	}
	name := names[r.IntN(len(names))]
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	used := max(len(bytes.TrimRight(data, "\x00")), 1) // of a log, the part that is not empty
	at := r.IntN(used)
	size := min(1+r.IntN(1<<r.IntN(14)), used-at)
	how := ""
	switch r.IntN(5) {
	case 0:
		how = "bits flipped"
		for i := range min(size, 8) {
			data[at+i] ^= 1 << r.IntN(8)
		}
	case 1:
		how = "zeroed"
		clear(data[at : at+size])
	case 2:
		how, data = "cut off", data[:at]
	case 3:
		how = "overwritten"
		for i := range size {
			data[at+i] = byte(r.Uint32())
		}
	case 4:
		how, data = "removed", nil
	}
	if how == "removed" {
		err = os.Remove(name)
	} else {
		err = os.WriteFile(name, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s at %d, %d bytes", filepath.Base(name), how, at, size)
}

func values(t *testing.T, s persistence.Store) map[string]string {
	t.Helper()
	all, err := s.List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range all {
		got[r.Key] = string(r.Value)
	}
	return got
}

// TestRandomDamage damages stores at random. Each is opened with all that was
// acknowledged, or refused and left as it is; then a repair keeps records as they
// were, and counts rightly what it keeps and what is lost.
func TestRandomDamage(t *testing.T) {
	need.All(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	refused, exact := 0, 0
	for round := range 2 {
		whole, h := lived(t, r, round%2 == 0)
		counts := map[string]int64{}
		for key := range h.now {
			counts[kind(key)]++
		}
		for range 5 {
			dir := folder(t)
			copyStore(t, whole, dir)
			how := harm(t, r, dir)
			before := contents(t, dir)
			b, err := persistence.OpenBadger(dir, persistence.Options{})
			if err == nil {
				if got := values(t, b); !maps.Equal(got, h.now) {
					t.Errorf("%s: opened with %d records of %d", how, len(got), len(h.now))
				}
				b.Close()
				os.RemoveAll(filepath.Dir(dir))
				continue
			}
			refused++
			if !errors.Is(err, persistence.ErrDamaged) && !errors.Is(err, persistence.ErrNewer) {
				t.Errorf("%s: %v", how, err)
				continue
			}
			if !maps.Equal(before, contents(t, dir)) {
				t.Errorf("%s: the refused store was changed", how)
			}
			if errors.Is(err, persistence.ErrNewer) {
				continue
			}
			report, err := persistence.RepairBadger(dir, zerolog.Nop())
			if err != nil || report.Whole {
				t.Errorf("%s: repair: %v", how, err)
				continue
			}
			if !maps.Equal(before, contents(t, report.Aside)) {
				t.Errorf("%s: what was moved aside is not what was there", how)
			}
			if again, err := persistence.RepairBadger(dir, zerolog.Nop()); err != nil || !again.Whole {
				t.Errorf("%s: repaired again: %+v, %v", how, again, err)
			}
			b = openBadger(t, dir)
			got := values(t, b)
			kept, lost := map[string]int64{}, maps.Clone(counts)
			for key, value := range got {
				kept[kind(key)]++
				switch {
				case !h.had[key][value]:
					t.Errorf("%s: %s has a value that it never had", how, key)
				case report.Exact && h.now[key] != value:
					t.Errorf("%s: %s has a value that it had earlier, and the report says exact", how, key)
				}
				if h.now[key] == value {
					lost[kind(key)]--
				}
			}
			maps.DeleteFunc(lost, func(_ string, n int64) bool { return n == 0 })
			if !maps.Equal(kept, report.Kept) {
				t.Errorf("%s: kept are %v, the report says %v", how, kept, report.Kept)
			}
			if report.Exact {
				exact++
				if !maps.Equal(lost, report.Lost) {
					t.Errorf("%s: lost are %v, the report says %v", how, lost, report.Lost)
				}
			} else {
				for k, n := range report.Lost {
					if k != "unknown" && n > lost[k] {
						t.Errorf("%s: at most %d of %s are lost, the report says %d", how, lost[k], k, n)
					}
				}
			}
			b.Close()
			os.RemoveAll(filepath.Dir(dir))
		}
	}
	t.Logf("%d refused, %d of the reports exact", refused, exact)
	if refused == 0 {
		t.Error("nothing was ever refused")
	}
}

func kind(key string) string { return key[:len(key)-len(key[indexByte(key):])] }

func indexByte(key string) int { return slices.Index([]byte(key), '/') }

// TestRepairInterrupted ends a repair after each of its steps on the disk: the
// next one comes to the same end.
func TestRepairInterrupted(t *testing.T) {
	need.All(t)
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	whole, _ := lived(t, r, true)
	edit(t, find(t, whole, "*.sst"), func(b []byte) []byte { b[len(b)/3] ^= 0xff; return b })
	dir := folder(t)
	copyStore(t, whole, dir)
	want, err := persistence.RepairBadger(dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	finished := func(what, dir string) {
		t.Helper()
		if b, err := persistence.OpenBadger(dir, persistence.Options{}); err == nil {
			b.Close()
			t.Fatalf("%s: it was opened", what)
		}
		got, err := persistence.RepairBadger(dir, zerolog.Nop())
		if err != nil || !maps.Equal(got.Kept, want.Kept) || !maps.Equal(got.Lost, want.Lost) {
			t.Fatalf("%s: %+v, %v; want %+v", what, got, err, want)
		}
		b := openBadger(t, dir)
		n := int64(0)
		for _, k := range want.Kept {
			n += k
		}
		if all := values(t, b); int64(len(all)) != n {
			t.Errorf("%s: %d records, want %d", what, len(all), n)
		}
		b.Close()
	}
	// Half of the new store is made.
	dir = folder(t)
	copyStore(t, whole, dir)
	if err := os.MkdirAll(dir+".repaired", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir+".repaired", "MANIFEST"), []byte("Bd"), 0o600); err != nil {
		t.Fatal(err)
	}
	finished("half of it is made", dir)

	// It is made, and the damaged one is away.
	for _, away := range []bool{false, true} {
		dir = folder(t)
		copyStore(t, whole, dir)
		stopAt(t, dir, away)
		finished(fmt.Sprintf("it is made, the old one is away: %v", away), dir)
	}
}

// stopAt leaves a repair behind that has ended before the new store took its
// place.
func stopAt(t *testing.T, dir string, away bool) {
	t.Helper()
	other := folder(t)
	copyStore(t, dir, other)
	report, err := persistence.RepairBadger(other, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, dir+".repaired"); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"kept":%s,"lost":%s}`, object(report.Kept), object(report.Lost))
	if err := os.WriteFile(filepath.Join(dir+".repaired", "REPAIR"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if away {
		if err := os.Rename(dir, dir+".damaged-20260101T000000Z"); err != nil {
			t.Fatal(err)
		}
	}
}

func object(m map[string]int64) string {
	text := ""
	for k, n := range m {
		text += fmt.Sprintf(`,"%s":%d`, k, n)
	}
	return "{" + text[min(len(text), 1):] + "}"
}
