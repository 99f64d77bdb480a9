package outside_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/actors"
	"troupe/testkit/need"
)

var nodeDiskKills = flag.Int("node-disk-kills", 0, "kills of a node of a cluster on a full disk; 0: one")

// TestNodeKilledOnFullDisk fills the disk of a node, to the last byte or with files, with
// tasks of all kinds in the cluster, and kills it there, again and again. It starts again,
// answers polls by what the others have, and says that it is not ready and why. The others go
// on. Where there is room again it is ready, and has all that was written meanwhile.
//
// Promise: A node that is killed on a full disk starts again, is not ready, and catches up
// when there is room (docs/cluster.md#a-damaged-copy-a-full-disk).
func TestNodeKilledOnFullDisk(t *testing.T) {
	need.All(t)
	t.Parallel()
	g := plannedCluster(t, nil, "", 1, 1, 1)
	m := g.nodes[1]
	if err := os.MkdirAll(m.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", m.data, "tmpfs", 0, "size=400m,nr_inodes=3000,mode=0700"); err != nil {
		t.Skipf("no disk of its own can be made here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(m.data, syscall.MNT_DETACH) })
	g.start(g.nodes...)
	g.token = g.newToken("ada", "pro")
	g.whole()
	kills := max(*nodeDiskKills, 1)
	filler, givenUp := filepath.Join(m.data, "filler"), 0
	for kill := range kills {
		start := func(at *member, more, actions string) string {
			x := g.play(at, fmt.Sprintf(`{%s,"actions":[%s]}`, more, actions))
			if x.status != 200 && x.status != 202 {
				t.Fatalf("kill %d: %v", kill, x)
			}
			return x.TaskID
		}
		ends := func(at *member, id, want string) {
			t.Helper()
			g.until(id+" is known at "+at.name+" as "+want, func() bool { return strings.Contains(g.poll(at, id, time.Second).body, want) })
		}
		done := start(m, `"async":true`, `{"evaluate":"return 6*7"}`)
		ends(m, done, `"data":42`)
		cut := start(m, fmt.Sprintf(`"async":true,"timeout":300000,"workerId":%q`, actors.WorkerID(m.name, 1)), `{"wait":200000}`)
		var queued []string
		for range 6 {
			queued = append(queued, start(m, `"queue":{"attempts":3}`, `{"wait":500},{"evaluate":"return 'later'"}`))
		}
		what := []string{"bytes", "files"}[kill%2]
		if err := os.Mkdir(filler, 0o700); err != nil {
			t.Fatal(err)
		}
		fill(t, filler, what == "files")
		time.Sleep(time.Second) // of work on the full disk
		g.kill(m)
		began := time.Now()
		m.child = spawnAs(g.home, m.program, m.at.Place, nil, m.args...)
		m.dead, m.base = false, m.greeting(t)
		if strings.Contains(m.errs.String(), "has given up a part of this node's copy") {
			givenUp++ // the engine was killed after it had deleted a log that it was to make anew
		}
		t.Logf("kill %d, without room for %s: it answers %v after its start", kill, what, time.Since(began).Round(time.Millisecond))
		notReady := func() {
			t.Helper()
			if r := g.readiness(m, ""); r.code != 503 || !strings.Contains(r.Status, "stands still until there is space") {
				t.Errorf("kill %d: on a full disk it says %+v", kill, r)
			}
		}
		notReady()
		// The others go on.
		after := start(g.nodes[0], `"queue":true`, `{"evaluate":"return 'meanwhile'"}`)
		for _, at := range []*member{g.nodes[0], g.nodes[2]} {
			ends(at, after, `"meanwhile"`)
			ends(at, done, `"data":42`)
			ends(at, cut, `"failed"`)
			for _, id := range queued {
				ends(at, id, `"later"`)
			}
		}
		ends(m, after, `"meanwhile"`) // it reads what the others have
		ends(m, done, `"data":42`)
		notReady()
		if err := os.RemoveAll(filler); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		g.untilReady(m)
		g.allKnow(g.workers())
		g.settled()
		t.Logf("kill %d: it is whole %v after there is room", kill, time.Since(began).Round(time.Millisecond))
		for _, id := range append(queued, after) {
			ends(m, id, `"complete"`)
		}
		ends(m, done, `"data":42`)
		ends(m, cut, `"failed"`)
		g.good(g.play(m, on(m.name, `"actions":[{"wait":0}]`)))
	}
	t.Logf("%d of %d starts found that the engine had given up a log", givenUp, kills)
	g.end()
}

// fill takes all that a disk has left of bytes, or of files, with files in a folder.
func fill(t *testing.T, dir string, files bool) {
	t.Helper()
	for i := 0; ; i++ {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil && i > 0 {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1 << 20, 4096, 1} {
			for err = nil; err == nil && !files; {
				_, err = f.Write(make([]byte, n))
			}
		}
		_ = f.Close()
		if !files {
			return
		}
	}
}
