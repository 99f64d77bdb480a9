package cluster_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"troupe/cluster/store"
	"troupe/persistence"
	"troupe/persistence/storetest"
	"troupe/testkit/wait"
)

func openedFiles(t testing.TB, s *store.Store) *store.Files {
	t.Helper()
	f, err := store.OpenFiles(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFiles(t *testing.T) {
	t.Parallel()
	all := shared(t)
	n := 0
	storetest.RunFiles(t, func(t *testing.T) persistence.Files {
		emptied(t, all[0])
		n++
		return openedFiles(t, openStore(t, all[n%len(all)]))
	})
}

// What one node has kept another reads at once; what a node left half written
// when it died is swept.
func TestFilesOfAnotherNode(t *testing.T) {
	t.Parallel()
	all := shared(t)
	emptied(t, all[0])
	here, there := openedFiles(t, openStore(t, all[0])), openedFiles(t, openStore(t, all[1]))
	content := make([]byte, 20<<20)
	rand.Read(content)
	start := time.Now()
	b, err := here.Put(ctx, persistence.Blob{ContentType: "application/zip"}, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	put := time.Since(start)
	start = time.Now()
	_, r, err := there.Open(ctx, b.ID)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("read %d bytes, %v", len(got), err)
	}
	t.Logf("a file of 20 MiB: kept in %v, read on another node in %v", put.Round(time.Millisecond), time.Since(start).Round(time.Millisecond))

	half := nats.NewMsg("file." + persistence.NewFileID("") + ".0")
	wait.Until(t, "a part of a file is taken", func() bool { // none is while the nodes elect a leader
		_, err := all[2].Conn().RequestMsg(half, 5*time.Second)
		return err == nil
	})
	for i, c := range []struct {
		after time.Duration
		want  int
	}{{0, 0}, {2 * time.Hour, 1}, {2 * time.Hour, 0}} {
		if n, err := there.Sweep(ctx, time.Now().Add(c.after)); n != c.want || err != nil {
			t.Errorf("sweep %d: %d, %v; want %d", i, n, err, c.want)
		}
	}
}
