package outside_test

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"troupe/testkit/need"
)

var (
	soakFor   = flag.Duration("soak", 6*time.Second, "how long TestSoak plays")
	soakTasks = flag.Int64("soak.tasks", 10000, "after how many tasks TestSoak ends, if that is earlier")
	seed      = flag.Uint64("seed", 1, "what TestSoak and TestChaos choose by")
)

// weight is what a service has, at rest.
type weight struct {
	goroutines, heap, descriptors, browsers, processes, folders, uploads, store int64
}

func (w weight) String() string {
	return fmt.Sprintf("goroutines %d, heap %.1f MiB, descriptors %d, browsers %d with %d processes and %d folders, uploads %d, store %.1f MiB",
		w.goroutines, float64(w.heap)/(1<<20), w.descriptors, w.browsers, w.processes, w.folders, w.uploads, float64(w.store)/(1<<20))
}

// weigh looks at a service that plays nothing.
func weigh(t *testing.T, c *child, data string) (w weight) {
	t.Helper()
	w.goroutines = profiled(t, data, "goroutine?debug=1", "goroutine profile: total %d")
	w.heap = profiled(t, data, "heap?gc=1&debug=1", "# HeapAlloc = %d")
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	w.descriptors = int64(len(open))
	browsers := browsersOf(t, c.Process.Pid)
	w.browsers = int64(len(browsers))
	for _, p := range processes(t) {
		if slices.Contains(browsers, p.group) {
			w.processes++
		}
	}
	homes := browsersIn(data)
	w.folders, w.uploads = entries(homes), entries(uploadsIn(data))
	err = filepath.WalkDir(storeIn(data), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // it was just removed
		}
		if info, err := e.Info(); err == nil {
			w.store += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func entries(dir string) int64 {
	list, _ := os.ReadDir(dir)
	return int64(len(list))
}

// profiled reads a number from a profile of the service.
func profiled(t *testing.T, data, profile, format string) (n int64) {
	t.Helper()
	_, text, err := overSocket(socketIn(data), "/debug/pprof/"+profile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if got, _ := fmt.Sscanf(line, format, &n); got == 1 {
			return n
		}
	}
	t.Fatalf("the profile %s has no line %q", profile, format)
	return 0
}

// registry is what the tables of the actors' library take when all of them have
// once had an entry: 1024 times 32, of some 300 bytes. Each task has a few.
const registry = 10 << 20

// TestSoak plays tasks of every kind for long, checks each answer, and compares
// what the service has after a while with what it has at the end. Nothing may
// have grown but the store, by what it keeps for an hour or a day.
func TestSoak(t *testing.T) {
	need.All(t)
	const workers, clients = 2, 4
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	c, base := serve(t, data, fmt.Sprintf("--workers=%d", workers), "--allow-private", "--renew-tasks=150")
	m := &mixed{base: base, token: tokenLine.FindStringSubmatch(c.out.String())[1], site: soakSite(t)}

	began := time.Now()
	var played atomic.Int64
	seen := map[int]bool{}
	round := func(until time.Time) {
		var all sync.WaitGroup
		for i := range clients {
			pick := rand.New(rand.NewPCG(*seed, uint64(i)+uint64(played.Load())))
			all.Go(func() {
				for played.Load() < *soakTasks && time.Now().Before(until) {
					n := played.Add(1)
					if err := m.play(pick, n); err != nil {
						t.Errorf("task %d: %v", n, err)
					}
				}
			})
		}
		all.Wait()
		m.settle(t)
		for _, pid := range browsersOf(t, c.Process.Pid) {
			seen[pid] = true
		}
	}
	// A service has come to its size when its pools and caches are in use and
	// each browser was replaced.
	round(began.Add(*soakFor / 4))
	first, at := weigh(t, c, data), played.Load()
	t.Logf("after %5d tasks: %v", at, first)
	for i := range 3 {
		round(began.Add(*soakFor * time.Duration(i+2) / 4))
		t.Logf("after %5d tasks: %v", played.Load(), weigh(t, c, data))
	}
	last := weigh(t, c, data)
	more := played.Load() - at
	t.Logf("%d tasks in %v, seed %d, %d browsers seen: %v", played.Load(), time.Since(began).Round(time.Second), *seed, len(seen), m.ends())

	kept := m.kept.Load()
	for _, g := range []struct {
		what             string
		first, last, may int64
	}{
		{"goroutines", first.goroutines, last.goroutines, 16},
		{"bytes of heap", first.heap, last.heap, 2<<20 + min(more*1280, registry) + more*64},
		{"descriptors", first.descriptors, last.descriptors, 10},
		{"browsers", workers, last.browsers, 0},
		{"processes of browsers", first.processes, last.processes, 2 * workers},
		{"folders of browsers", first.folders, last.folders, 0},
		{"uploads", 0, last.uploads, 0},
		{"bytes of the store", first.store, last.store, 8<<20 + kept*8<<10},
	} {
		if grown := g.last - g.first; grown > g.may {
			t.Errorf("%s: %d more (%d, then %d), where %d may be", g.what, grown, g.first, g.last, g.may)
		}
	}
	if files := entries(filesIn(data)); files > m.pictures.Load()+kept {
		t.Errorf("%d files are kept of %d pictures and %d results", files, m.pictures.Load(), kept)
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.end(t, hang); err != nil {
		t.Errorf("the stop: %v", err)
	}
}
