package cluster_test

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/cluster"
	"troupe/persistence"
)

// A service of one node becomes one of three with its data.
func TestOneNodeBecomesThree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, err := persistence.OpenBadger(filepath.Join(dir, "store"), persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	folder, err := persistence.OpenFolder(filepath.Join(dir, "files"))
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()

	when := time.Now().Add(time.Hour)
	for i := range 300 {
		w := persistence.Write{Key: fmt.Sprintf("async/%d", i), Value: fmt.Append(nil, i)}
		if i%2 == 0 {
			w.Expires = when
		}
		if _, err := old.Put(ctx, w); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := old.Add(ctx, "usage/bob/today", 41, 0, when); err != nil {
		t.Fatal(err)
	}
	shelf := persistence.NewShelf(old, folder)
	large := strings.Repeat("large ", 200_000)
	if err := shelf.Put(ctx, persistence.Item{Key: "result/1", Value: []byte(large)}); err != nil {
		t.Fatal(err)
	}
	picture, err := folder.Put(ctx, persistence.Blob{ContentType: "image/png", Account: "bob", Expires: when}, strings.NewReader("picture"))
	if err != nil {
		t.Fatal(err)
	}

	all := shared(t)
	emptied(t, all[0])
	s := opened(t, all[0])
	files := openedFiles(t, s)
	if _, err := s.Put(ctx, persistence.Write{Key: "async/7", Value: []byte("newer")}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for i, want := range []cluster.Imported{{Records: 301, Files: 2, Present: 1}, {Present: 304}} {
		got, err := cluster.Import(ctx, old, folder, s, files)
		if err != nil || got != want {
			t.Fatalf("import %d: %+v, %v; want %+v", i+1, got, err, want)
		}
		if i == 0 {
			t.Logf("%d records and %d files in %v", got.Records, got.Files, time.Since(start).Round(time.Millisecond))
		}
	}

	there := opened(t, all[2])
	list, err := there.List(ctx, "async/")
	if err != nil || len(list) != 300 {
		t.Fatalf("%d records, %v", len(list), err)
	}
	for _, r := range list {
		var i int
		fmt.Sscanf(r.Key, "async/%d", &i)
		want, expires := fmt.Sprint(i), i%2 == 0
		if i == 7 {
			want = "newer"
		}
		if string(r.Value) != want || expires != r.Expires.Equal(when) {
			t.Errorf("%s is %q until %v", r.Key, r.Value, r.Expires)
		}
	}
	if total, ok, err := there.Add(ctx, "usage/bob/today", 1, 42, when); total != 42 || !ok || err != nil {
		t.Errorf("the count goes on at %d, %v, %v", total, ok, err)
	}
	kept := openedFiles(t, there)
	if value, err := persistence.NewShelf(there, kept).Get(ctx, "result/1"); err != nil || string(value) != large {
		t.Errorf("a large value has %d bytes, %v", len(value), err)
	}
	b, r, err := kept.Open(ctx, picture.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if text, err := io.ReadAll(r); err != nil || string(text) != "picture" || b.Account != "bob" {
		t.Errorf("the picture is %q of %s, %v", text, b.Account, err)
	}
}
