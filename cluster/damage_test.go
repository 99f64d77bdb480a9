package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"troupe/cluster"
	"troupe/cluster/damage"
	"troupe/cluster/member"
	"troupe/cluster/store"
	"troupe/persistence"
	"troupe/testkit/need"
)

// copied copies a node's folder. Where the node runs, the copy is what a kill would
// leave: its marks are older than the rest.
func copied(t *testing.T, from string) string {
	t.Helper()
	marks, err := os.ReadFile(filepath.Join(from, "marks.json"))
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	err = os.CopyFS(to, os.DirFS(from))
	if err := errors.Join(err, os.WriteFile(filepath.Join(to, "marks.json"), marks, 0o600)); err != nil {
		t.Fatal(err)
	}
	return to
}

// largest is the largest of the files of a copy that a pattern names.
func largest(t *testing.T, dir, pattern string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "jetstream", pattern))
	if err != nil || len(all) == 0 {
		t.Fatalf("no %s in %s: %v", pattern, dir, err)
	}
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	return slices.MaxFunc(all, func(a, b string) int { return int(size(a) - size(b)) })
}

const (
	blocksOfTheStore = "$G/streams/STORE/msgs/*.blk"
	blocksOfAGroup   = "$SYS/_js_/S-R3F-*/msgs/*.blk"
)

// damages are ways in which a disk loses what was written to it. After a stop all
// are found, after a kill those that leave something to compare.
var damages = []struct {
	name    string
	stopped bool // found only where the node was not killed
	do      func(t *testing.T, dir string)
}{
	{"a byte in the middle of the records", false, func(t *testing.T, dir string) { flip(t, largest(t, dir, blocksOfTheStore), 2) }},
	{"a byte in the middle of the log of a group", false, func(t *testing.T, dir string) { flip(t, largest(t, dir, blocksOfAGroup), 2) }},
	{"half of the records", false, func(t *testing.T, dir string) { halve(t, largest(t, dir, blocksOfTheStore)) }},
	{"half of the log of a group", false, func(t *testing.T, dir string) { halve(t, largest(t, dir, blocksOfAGroup)) }},
	{"no file of records", false, func(t *testing.T, dir string) { gone(t, largest(t, dir, blocksOfTheStore)) }},
	{"no file of the log of a group", false, func(t *testing.T, dir string) { gone(t, largest(t, dir, blocksOfAGroup)) }},
	{"no folder of the store", false, func(t *testing.T, dir string) { gone(t, filepath.Join(dir, "jetstream", "$G")) }},
	{"no folder of the groups", false, func(t *testing.T, dir string) { gone(t, filepath.Join(dir, "jetstream", "$SYS")) }},
	{"a byte in the description of the store", false, func(t *testing.T, dir string) { flip(t, largest(t, dir, "$G/streams/STORE/meta.inf"), 2) }},
	{"a byte in the marks", false, func(t *testing.T, dir string) { flip(t, filepath.Join(dir, "marks.json"), 2) }},
	{"a byte in who was voted for", true, func(t *testing.T, dir string) { flip(t, largest(t, dir, "$SYS/_js_/S-R3F-*/tav.idx"), 2) }},
}

func flip(t *testing.T, path string, part int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/part] ^= 0x55
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func halve(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()/2)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func gone(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// TestADamagedCopy: a node whose copy is damaged does not start with it, whichever
// file it is, and changes nothing. Without the folder it starts and fetches all of
// it from the others.
func TestADamagedCopy(t *testing.T) {
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
	whole := cfgs[2].Dir
	for _, killed := range []bool{false, true} {
		from := whole
		if killed {
			from = running
		}
		if gone, err := damage.Inspect(copied(t, from)); err != nil || gone != nil {
			t.Fatalf("a whole copy, killed %v: %v, %v", killed, gone, err)
		}
		for _, damage := range damages {
			if killed && damage.stopped {
				continue
			}
			t.Run(fmt.Sprintf("%s, killed %v", damage.name, killed), func(t *testing.T) {
				cfg := cfgs[2]
				cfg.Dir = copied(t, from)
				damage.do(t, cfg.Dir)
				before := tree(t, cfg.Dir)
				m, err := member.Join(context.Background(), cfg)
				if err == nil {
					m.Close()
				}
				if !errors.Is(err, persistence.ErrDamaged) {
					t.Fatalf("the node started: %v", err)
				}
				if after := tree(t, cfg.Dir); after != before {
					t.Errorf("its copy was changed:\n%s\nbefore:\n%s", after, before)
				}
			})
		}
	}
	// The end of the last block that a kill has broken off is no damage.
	torn := copied(t, running)
	f, err := os.OpenFile(largest(t, torn, blocksOfTheStore), os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write([]byte{200, 0, 0, 0, 1, 2, 3})
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := damage.Inspect(torn); err != nil {
		t.Errorf("a record that was being written: %v", err)
	}

	comesBack := func(cfg member.Config, what string) *member.Member {
		m := join(t, cfg)
		ready(t, m)
		soon(t, what, func() bool {
			_, lags, err := askLags(t.Context(), s)
			return err == nil && lags["n3"] == 0 && m.Whole()
		})
		return m
	}

	// What the engine makes of the blocks may be missing or broken: it makes it anew.
	for _, lose := range []func(path string){func(path string) { gone(t, path) }, func(path string) { flip(t, path, 2) }} {
		cfg := cfgs[2]
		cfg.Dir = copied(t, whole)
		lose(largest(t, cfg.Dir, "$G/streams/STORE/msgs/index.db"))
		lose(largest(t, cfg.Dir, "$SYS/_js_/S-R3F-*/msgs/index.db"))
		comesBack(cfg, "it has all without it").Close()
	}

	// A stop while the engine deletes what it has purged, and a kill while it purges.
	purged := filepath.Join("jetstream", "$SYS", "_js_", "_meta_", "__msgs__")
	late := copied(t, whole)
	fill(t, filepath.Join(late, purged))
	all, err := damage.ListFiles(late)
	want, e := damage.ListFiles(whole)
	if err := errors.Join(err, e); err != nil || !maps.Equal(all, want) {
		t.Errorf("what is being deleted is listed: %v %v", all, err)
	}
	marks, err := damage.ReadMarks(late)
	if err != nil || marks.Files == nil {
		t.Fatalf("the marks of a stop: %v %v", marks, err)
	}
	marks.Files[filepath.Join(purged, "1.blk")] = "7" // as earlier releases do
	err = marks.Write(late)
	_, e = damage.Inspect(late)
	if err := errors.Join(err, e); err != nil {
		t.Errorf("what was being deleted: %v", err)
	}
	halfway := copied(t, running)
	log := filepath.Dir(largest(t, halfway, blocksOfTheStore))
	if err := os.Rename(log, filepath.Join(filepath.Dir(log), "__new_msgs__")); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(filepath.Dir(log), "__msgs__"))
	cfg := cfgs[2]
	cfg.Dir = halfway
	comesBack(cfg, "it has all after a purge that was broken off").Close()

	gone(t, whole)
	c = comesBack(cfgs[2], "it has all again")
	a.Close() // so that it has to be one of the two that are needed
	s = openStore(t, c)
	for i := range acked {
		if _, err := s.Get(t.Context(), fmt.Sprint("token/", i)); err != nil {
			t.Errorf("what was acknowledged: %v", err)
		}
	}
}

// fill makes a folder with a block in it that is no record.
func fill(t *testing.T, dir string) {
	t.Helper()
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "1.blk"), []byte("deleted"), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// tree lists the files of a folder with their sizes.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			fmt.Fprintln(&all, path, info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestAGivenUpCopy: a node whose engine gave up its copy, as it does on a full disk,
// is not ready and says why, and goes on by itself.
func TestAGivenUpCopy(t *testing.T) {
	need.All(t)
	t.Parallel()
	cfgs := configs(t, 3)
	a, b, c := join(t, cfgs[0]), join(t, cfgs[1]), join(t, cfgs[2])
	ready(t, a, b, c)
	s := openStore(t, a)
	soon(t, "the third is whole", c.Whole)
	own := openStore(t, c)
	room := cluster.NoRoom(c)
	if err := cluster.GiveUp(c); err != nil {
		t.Fatal(err)
	}
	soon(t, "the third says so", func() bool { return !c.Whole() && strings.Contains(c.Stopped(), "disk") })
	for i := range 20 {
		if _, err := s.Put(t.Context(), persistence.Write{Key: fmt.Sprint("k/", i)}); err != nil {
			t.Fatal(err)
		}
	}
	put(t, own, "through the third") // by the others
	if c.Whole() || c.Stopped() == "" {
		t.Error("it is ready without space")
	}
	room()
	soon(t, "the third goes on by itself", func() bool {
		_, lags, err := askLags(t.Context(), s)
		return err == nil && lags["n3"] == 0 && c.Whole() && c.Stopped() == ""
	})
	a.Close()
	s = openStore(t, c)
	for i := range 20 {
		if _, err := s.Get(t.Context(), fmt.Sprint("k/", i)); err != nil {
			t.Error(err)
		}
	}
	put(t, s, "after")
}

func put(t *testing.T, s *store.Store, key string) {
	t.Helper()
	if _, err := s.Put(t.Context(), persistence.Write{Key: key}); err != nil {
		t.Error(err)
	}
}

// TestTwoEmptiedNodes: one whole copy of three is enough, where all nodes are there.
func TestTwoEmptiedNodes(t *testing.T) {
	need.Time(t)
	need.All(t)
	t.Parallel()
	cfgs := configs(t, 3)
	all := []*member.Member{join(t, cfgs[0]), join(t, cfgs[1]), join(t, cfgs[2])}
	ready(t, all...)
	s := openStore(t, all[0])
	const acked = 20
	for i := range acked {
		put(t, s, fmt.Sprint("token/", i))
	}
	soon(t, "all have it", func() bool {
		_, lags, err := askLags(t.Context(), s)
		return err == nil && len(lags) == 3 && lags["n1"]+lags["n2"]+lags["n3"] == 0
	})
	for i, m := range all {
		m.Close()
		if i > 0 {
			gone(t, cfgs[i].Dir)
		}
	}
	// The emptied ones are there first, and must not agree on nothing.
	all[1], all[2] = join(t, cfgs[1]), join(t, cfgs[2])
	soon(t, "the two know each other", func() bool { return len(all[1].Peers()) == 1 && len(all[2].Peers()) == 1 })
	all[0] = join(t, cfgs[0])
	ready(t, all...)
	s = openStore(t, all[1])
	for i := range acked {
		if _, err := s.Get(t.Context(), fmt.Sprint("token/", i)); err != nil {
			t.Errorf("what was acknowledged: %v", err)
		}
	}
}
