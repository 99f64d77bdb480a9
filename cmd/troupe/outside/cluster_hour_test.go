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
)

var (
	hour      = flag.Duration("hour", 0, "how long TestHour lets three nodes play")
	hourEvery = flag.Duration("hour.every", 1500*time.Millisecond, "how often TestHour sends a task")
)

// TestHour lets three nodes play tasks of every kind beside their browsers for
// long, at their own workers and at others', and looks at each node every
// minute. What has come to its size after the first half may not have grown at
// the end.
func TestHour(t *testing.T) {
	if *hour == 0 {
		t.Skip("it takes long: -hour 1h")
	}
	g := newTestCluster(t, 0, 1, 1) // all that comes in at n1 is for another
	site := soakSite(t)
	var doors []*mixed
	for _, m := range g.nodes {
		doors = append(doors, &mixed{base: m.base, token: g.token, site: site})
	}
	began := time.Now()
	pick := rand.New(rand.NewPCG(*seed, 0))
	var all sync.WaitGroup
	var played, wrong atomic.Int64
	tick, look := time.NewTicker(*hourEvery), time.NewTicker(min(time.Minute, *hour/16))
	defer tick.Stop()
	defer look.Stop()
	samples := map[string][]sample{}
	sampled := func() {
		for _, m := range g.nodes {
			s := take(t, m, began)
			samples[m.name] = append(samples[m.name], s)
			t.Logf("%s after %4d tasks: %v", m.name, played.Load(), s)
		}
	}
	for end := time.After(*hour); end != nil; {
		select {
		case <-end:
			end = nil
		case <-look.C:
			sampled()
		case <-tick.C:
			n := played.Add(1)
			door, own := doors[pick.IntN(len(doors))], rand.New(rand.NewPCG(*seed, uint64(n)))
			all.Go(func() {
				if err := door.play(own, n); err != nil {
					wrong.Add(1)
					t.Errorf("task %d: %v", n, err)
				}
			})
		}
	}
	all.Wait()
	doors[0].settle(t)
	sampled()
	var kinds []string
	for i, d := range doors {
		kinds = append(kinds, fmt.Sprintf("at n%d: %s", i+1, d.ends()))
	}
	t.Logf("%d tasks, %d of them wrong: %s", played.Load(), wrong.Load(), strings.Join(kinds, "; "))
	var b strings.Builder
	b.WriteString("\n| node | after | RSS MB | heap MB | goroutines | descriptors | stored MB |\n|---|---|---|---|---|---|---|\n")
	for _, m := range g.nodes {
		list := samples[m.name]
		for i := range 5 {
			s := list[(len(list)-1)*i/4]
			fmt.Fprintf(&b, "| %s | %v | %.0f | %.1f | %d | %d | %.1f |\n", m.name, s.at.Round(time.Second),
				mega(s.rss), mega(s.heap), s.goroutines, s.descriptors, mega(s.stored))
		}
		steady(t, m.name, list, played.Load())
	}
	t.Log(b.String())
	g.end()
}

// sample is what a node has at one moment.
type sample struct {
	at                                         time.Duration
	rss, heap, goroutines, descriptors, stored int64
}

func (s sample) String() string {
	return fmt.Sprintf("%5.1f min, RSS %.0f MB, heap %.1f MB, goroutines %d, descriptors %d, stored %.1f MB",
		s.at.Minutes(), mega(s.rss), mega(s.heap), s.goroutines, s.descriptors, mega(s.stored))
}

func mega(bytes int64) float64 { return float64(bytes) / 1e6 }

// take looks at a node. What it asks lets the node collect its garbage first, so
// the heap is what is in use; its memory is read before.
func take(t *testing.T, m *member, began time.Time) (s sample) {
	t.Helper()
	s.at = time.Since(began)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var kb int64
	for line := range strings.Lines(string(text)) {
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kb); n == 1 {
			s.rss = kb << 10
		}
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", m.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	s.descriptors = int64(len(open))
	s.goroutines = profiled(t, m.data, "goroutine?debug=1", "goroutine profile: total %d")
	s.heap = profiled(t, m.data, "heap?gc=1&debug=1", "# HeapAlloc = %d")
	_ = filepath.WalkDir(clusterIn(m.data), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // it was just removed
		}
		if info, err := e.Info(); err == nil {
			s.stored += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	return s
}

// steady fails the test if a node has grown from the second quarter to the last:
// what each task leaves for an hour or a day is taken off.
func steady(t *testing.T, node string, all []sample, tasks int64) {
	t.Helper()
	if len(all) < 8 {
		t.Fatalf("%s was looked at only %d times", node, len(all))
	}
	n := len(all)
	then, now := all[n/4:n/2], all[n-n/4:]
	for _, one := range []struct {
		what string
		of   func(sample) int64
		may  int64
	}{
		{"goroutines", func(s sample) int64 { return s.goroutines }, 16},
		{"descriptors", func(s sample) int64 { return s.descriptors }, 10},
		{"bytes of heap", func(s sample) int64 { return s.heap }, 4<<20 + min(tasks*1280, registry) + tasks*2<<10},
		{"bytes of memory", func(s sample) int64 { return s.rss }, 32<<20 + tasks*4<<10},
		{"bytes stored", func(s sample) int64 { return s.stored }, 16<<20 + tasks*64<<10},
	} {
		first, last := median(then, one.of), median(now, one.of)
		if last-first > one.may {
			t.Errorf("%s has %d more %s (%d, then %d), where %d may be", node, last-first, one.what, first, last, one.may)
		}
	}
}

func median(all []sample, of func(sample) int64) int64 {
	var list []int64
	for _, s := range all {
		list = append(list, of(s))
	}
	slices.Sort(list)
	return list[len(list)/2]
}
