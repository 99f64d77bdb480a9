package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/cluster"
	"troupe/cluster/damage"
	"troupe/persistence"
	"troupe/testkit/need"
)

// TestACopyThatTheEngineGaveUp: on a full disk the engine may delete the log of a group, and a
// kill may come before it has made another one. Such a node starts: without its copy, until a
// majority of the others has everything. With it none of them forgets anything.
func TestACopyThatTheEngineGaveUp(t *testing.T) {
	need.All(t)
	t.Parallel()
	cfgs := configs(t, 3)
	for i := range cfgs {
		cfgs[i].Unsynced = false
	}
	a, b, c := join(t, cfgs[0]), join(t, cfgs[1]), join(t, cfgs[2])
	ready(t, a, b, c)
	s := openStore(t, a)
	const acked = 40
	for i := range acked {
		if _, err := s.Put(t.Context(), persistence.Write{Key: fmt.Sprint("token/", i), Value: make([]byte, 1000)}); err != nil {
			t.Fatal(err)
		}
	}
	soon(t, "the third has it all, and has written down that it has", func() bool {
		_, lags, err := askLags(t.Context(), s)
		return err == nil && lags["n3"] == 0 && cluster.Marked(c) > acked
	})
	running := copied(t, cfgs[2].Dir)
	c.Close()
	put(t, s, "token/later") // that the others alone have
	group := func(dir string) string { return filepath.Dir(filepath.Dir(largest(t, dir, blocksOfAGroup))) }
	for _, one := range []struct {
		name string
		left func(dir string) // of the log
	}{
		{"nothing", func(dir string) { gone(t, dir) }},
		{"a folder without a description", func(dir string) { gone(t, filepath.Join(dir, "meta.inf")) }},
		{"a folder that is being deleted", func(dir string) {
			gone(t, filepath.Join(dir, "meta.inf"))
			if err := os.Rename(dir, filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir))); err != nil {
				t.Fatal(err)
			}
		}},
		{"another one", func(dir string) {
			for _, path := range []string{"msgs", "snapshots"} {
				gone(t, filepath.Join(dir, path))
			}
			before := time.Now().Add(-24 * time.Hour)
			if err := os.Chtimes(filepath.Join(dir, "../../../../marks.json"), before, before); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		dir := copied(t, running)
		log := group(dir)
		one.left(log)
		name := filepath.Join("jetstream", "$SYS", "_js_", filepath.Base(log))
		if givenUp, err := damage.Inspect(dir); err != nil || !slices.Equal(givenUp, []string{name}) {
			t.Errorf("with %s left, these are given up: %v, %v", one.name, givenUp, err)
			continue
		}
		if err := damage.Clear(dir, []string{name}); err != nil {
			t.Fatal(err)
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(log), "*"+filepath.Base(log))); err != nil || len(left) > 0 {
			t.Errorf("after all is cleared %v is left, %v", left, err)
		}
		// Without this group only: a stop writes down what is there.
		k, err := damage.ReadMarks(dir)
		if err != nil {
			t.Fatal(err)
		}
		k.Forget(dir)
		if k.Last[name] != 0 || len(k.Last) < 2 {
			t.Errorf("after all is forgotten the marks say %v", k.Last)
		}
	}
	// It alone, or with one that has no more than it had, is nobody who knows.
	cfg := cfgs[2]
	cfg.Dir = copied(t, running)
	gone(t, group(cfg.Dir))
	b.Close()
	a.Close()
	c = join(t, cfg)
	a = join(t, cfgs[0])
	time.Sleep(3 * time.Second)
	if c.Whole() || !strings.Contains(c.Stopped(), "a majority of the others") || c.Engine().JetStreamEnabled() {
		t.Errorf("without a majority that has everything it says %q", c.Stopped())
	}
	b = join(t, cfgs[1])
	ready(t, a, b)
	soon(t, "it has all again", func() bool { return c.Whole() && c.Stopped() == "" })
	b.Close() // so that it has to be one of the two that are needed
	s = openStore(t, c)
	for i := range acked {
		if _, err := s.Get(t.Context(), fmt.Sprint("token/", i)); err != nil {
			t.Errorf("what was acknowledged: %v", err)
		}
	}
	if _, err := s.Get(t.Context(), "token/later"); err != nil {
		t.Errorf("what was acknowledged without it: %v", err)
	}
}
