package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
	"troupe/persistence/backup"
)

var ctx = context.Background()

// node is a store with its files, as a single node has them.
type node struct {
	dir    string
	store  *persistence.Badger
	files  *persistence.Folder
	values *persistence.ValueStore
	seal   *persistence.Seal
}

func open(t *testing.T, seal *persistence.Seal) *node {
	t.Helper()
	n := &node{dir: t.TempDir(), seal: seal}
	var err error
	if n.store, err = persistence.OpenBadger(filepath.Join(n.dir, "store"), persistence.Options{MinFree: -1}); err != nil {
		t.Fatal(err)
	}
	if n.files, err = persistence.OpenFolder(filepath.Join(n.dir, "files")); err != nil {
		t.Fatal(err)
	}
	n.values = persistence.NewValueStore(n.store, n.files)
	t.Cleanup(func() { n.store.Close(); n.files.Close() })
	return n
}

func (n *node) source() *backup.Source {
	return &backup.Source{Store: n.store, Files: n.files, Uploads: n.uploads(), Seal: n.seal, Version: "test", Log: zerolog.Nop()}
}

func (n *node) uploads() string { return filepath.Join(n.dir, "uploads") }

func newSeal(t *testing.T, b byte) *persistence.Seal {
	t.Helper()
	s, err := persistence.NewSeal(bytes.Repeat([]byte{b}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (n *node) upload(t *testing.T, name, text string) {
	t.Helper()
	at := filepath.Join(n.uploads(), name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// contents is everything that a node has, but for what belongs to backups.
func (n *node) contents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	records, err := n.store.List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if !strings.HasPrefix(r.Key, "backup/") {
			all[r.Key] = fmt.Sprintf("%s %v", r.Value, r.Expires)
		}
	}
	for b, err := range n.files.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		_, f, err := n.files.Open(ctx, b.ID)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		b.Durable = false
		all["file "+b.ID] = fmt.Sprintf("%+v %s", b, text)
	}
	found, _ := filepath.Glob(filepath.Join(n.uploads(), "*", "*"))
	for _, at := range found {
		text, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(n.uploads(), at)
		all["upload "+rel] = string(text)
	}
	return all
}

// restored makes a node of a backup.
func restored(t *testing.T, at backup.Place, name string) *node {
	t.Helper()
	b, err := backup.Find(ctx, at, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Check(ctx); err != nil {
		t.Fatal(err)
	}
	n := open(t, newSeal(t, 1))
	var r backup.Restored
	if err := b.Restore(ctx, backup.Into{Store: n.store, Files: n.files, Uploads: n.uploads()}, &r); err != nil {
		t.Fatal(err)
	}
	if r.Files+r.Expired < b.Files || !maps.Equal(r.Records, b.Records) {
		t.Errorf("restored are %v and %d files, the manifest says %v and %d", r.Records, r.Files, b.Records, b.Files)
	}
	return n
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	n := 0
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] && n < 5 {
			t.Errorf("%s: %s is %.80q, want %.80q", what, key, got[key], want[key])
			n++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, has := want[key]; !has && n < 10 {
			t.Errorf("%s: %s should not be there", what, key)
			n++
		}
	}
}

// life changes a store at random: small and large values, some of which expire, deletions,
// and pairs that are always equal, because they are written together.
func (n *node) life(t *testing.T, ended context.Context, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	for i := 0; ended.Err() == nil; i++ {
		id := random.IntN(60)
		key := fmt.Sprintf("task/%d-%d", seed, id)
		var err error
		switch random.IntN(24) {
		case 0, 4, 5, 6:
			err = n.values.Delete(ctx, key, false)
		case 1: // a value in a file
			err = n.values.Put(ctx, persistence.Item{Key: key, Value: bytes.Repeat([]byte(fmt.Sprintf("%s:%d;", key, i)), 300<<10/len(key))})
		case 2, 7, 8, 9:
			text := fmt.Appendf(nil, "%d", i)
			err = persistence.Apply(ctx, n.store,
				persistence.Change{Write: persistence.Write{Key: fmt.Sprintf("pair/a-%d-%d", seed, id), Value: text}},
				persistence.Change{Write: persistence.Write{Key: fmt.Sprintf("pair/b-%d-%d", seed, id), Value: text}})
		default:
			err = n.values.Put(ctx, persistence.Item{Key: key, Value: fmt.Appendf(nil, "%s:%d;", key, i), Expires: []time.Time{{}, time.Now().Add(time.Hour)}[i%2]})
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// coherent complains of pairs that differ, and of values that cannot be read.
func (n *node) coherent(t *testing.T, what string) {
	t.Helper()
	pairs, err := n.store.List(ctx, "pair/a-")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range pairs {
		b, err := n.store.Get(ctx, strings.Replace(a.Key, "a-", "b-", 1))
		if err != nil || !bytes.Equal(a.Value, b.Value) {
			t.Errorf("%s: %s is %s, and its other half is %s, %v", what, a.Key, a.Value, b.Value, err)
		}
	}
	keys, err := n.store.Keys(ctx, "task/", "", 1e6)
	if err != nil || len(keys) == 0 {
		t.Fatalf("%s: %d, %v", what, len(keys), err)
	}
	for _, k := range keys {
		text, err := n.values.Get(ctx, k.Key)
		if err != nil || !strings.HasPrefix(string(text), k.Key+":") {
			t.Errorf("%s: %s is %.40q, %v", what, k.Key, text, err)
		}
	}
}

// TestBackupOfABusyStore makes backups, full ones and incremental ones, while four
// goroutines change the store and its files. Each is what the store was at one moment, with
// all files; the last one is compared with the store itself.
func TestBackupOfABusyStore(t *testing.T) {
	t.Parallel()
	n := open(t, newSeal(t, 1))
	n.upload(t, "ada/0", "an upload")
	at := backup.Folder(filepath.Join(t.TempDir(), "backups"))
	living, end := context.WithCancel(ctx)
	var lives sync.WaitGroup
	for i := range 4 {
		lives.Go(func() { n.life(t, living, uint64(i)) })
	}
	time.Sleep(100 * time.Millisecond) // so that there is something
	for i := range 6 {
		if i == 3 {
			n.upload(t, "ada/1", "another upload")
		}
		m, err := backup.Make(ctx, n.source(), at, i == 4, nil)
		if err != nil {
			t.Fatal(err)
		}
		if full := i == 0 || i == 4; full != (m.Base == "") || m.Depth != map[int]int{0: 1, 1: 2, 2: 3, 3: 4, 4: 1, 5: 2}[i] {
			t.Errorf("the backup %d has the base %q and the depth %d", i, m.Base, m.Depth)
		}
		if m.Base == "" && m.Changed != m.Total() {
			t.Errorf("the full backup %d has %d values of %d", i, m.Changed, m.Total())
		}
		restored(t, at, m.Name).coherent(t, m.Name)
	}
	end()
	lives.Wait()
	m, err := backup.Make(ctx, n.source(), at, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := n.contents(t)
	got := restored(t, at, "").contents(t)
	same(t, "the newest backup", got, want)
	if m2, err := backup.Make(ctx, n.source(), at, false, nil); err != nil || m2.Changed != 0 || m2.NewFiles != 0 || m2.Total() != m.Total() {
		t.Errorf("a backup without a change has %+v, %v", m2, err)
	}
	for _, r := range []string{"task/", "pair/"} { // deletions are in the next one
		keys, _ := n.store.Keys(ctx, r, "", 5)
		for _, k := range keys {
			if err := n.values.Delete(ctx, k.Key, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := backup.Make(ctx, n.source(), at, false, nil); err != nil {
		t.Fatal(err)
	}
	same(t, "after deletions", restored(t, at, "").contents(t), n.contents(t))
}

// TestRetention keeps the newest backups with those that they need, and no file that none of
// them has.
func TestRetention(t *testing.T) {
	t.Parallel()
	n := open(t, newSeal(t, 1))
	at := backup.Folder(filepath.Join(t.TempDir(), "backups"))
	var store string
	for i := range 12 {
		if err := n.values.Put(ctx, persistence.Item{Key: "task/large", Value: bytes.Repeat([]byte{byte(i)}, 300<<10)}); err != nil {
			t.Fatal(err)
		}
		m, err := backup.Make(ctx, n.source(), at, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		store = m.Store
	}
	names := func() string {
		l, err := backup.List(ctx, at, store)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, m := range l.Stores[store] {
			all = append(all, m.Name[4:6])
		}
		return strings.Join(all, " ")
	}
	for _, step := range []struct {
		keep int
		want string
	}{{12, "01 02 03 04 05 06 07 08 09 10 11 12"}, {6, "01 02 03 04 05 06 07 08 09 10 11 12"}, {5, "08 09 10 11 12"}, {1, "08 09 10 11 12"}} {
		if _, err := backup.Prune(ctx, at, store, step.keep); err != nil || names() != step.want {
			t.Fatalf("kept %d: %s, %v; want %s", step.keep, names(), err, step.want)
		}
	}
	files, err := at.List(ctx, store+"/files/")
	if err != nil || len(files) != 5 {
		t.Errorf("%d files, %v", len(files), err)
	}
	same(t, "the newest", restored(t, at, "").contents(t), n.contents(t))
}

// TestWhichBackup: a place with the backups of two stores gives none without a name, and the
// key of the other store opens nothing.
func TestWhichBackup(t *testing.T) {
	t.Parallel()
	n, at := made(t)
	other := open(t, newSeal(t, 2))
	m, err := backup.Make(ctx, other.source(), at, false, nil)
	if err != nil || m.Base != "" {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := backup.Find(ctx, at, ""); !errors.Is(err, backup.ErrSeveral) {
		t.Errorf("without a name: %v", err)
	}
	b, err := backup.Find(ctx, at, m.Store+"/"+m.Name)
	if err != nil || b.Store != m.Store || b.Opens(n.seal) || b.Opens(nil) || !b.Opens(other.seal) {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := backup.Find(ctx, backup.Folder(t.TempDir()), ""); !errors.Is(err, backup.ErrNone) {
		t.Errorf("an empty folder: %v", err)
	}
	moved := n.source() // a copy of the store elsewhere
	moved.Identity = "elsewhere"
	if m, err := backup.Make(ctx, moved, at, false, nil); err != nil || m.Base != "" {
		t.Errorf("a copy of the store goes on with the backups of the original: %+v, %v", m, err)
	}
}
