package cluster_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/cluster"
	"troupe/engine"
	"troupe/testkit"
)

// TestALostNodeIsAnswered: what runs on a node whose process dies is answered, as
// lost, and is not played again. How soon is measured between processes: see the
// rows of cmd/troupe.
func TestALostNodeIsAnswered(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1, 1)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	named := fmt.Sprintf(`{"workerId":%q,"actions":[{"wait":1}]}`, actors.WorkerID("n2", 1))
	running := to.send(n1, anna, named, testkit.Script{Takes: time.Minute})
	to.runs(n2, running)
	died := time.Now()
	n2.conn.Close() // as the end of a process does
	x := to.answer(running)
	took := time.Since(died)
	if x.Refusal != nil || x.Outcome.End != engine.EndLost {
		t.Errorf("the answer after %v: %+v, %v", took, x.Outcome, x.Refusal)
	}
	t.Logf("lost after %v", took)

	if x := to.answer(to.send(n1, anna, named, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeWorkerOffline {
		t.Errorf("a request for its worker: %+v", x)
	}
	if h := to.played(to.send(n1, anna, plain, testkit.Script{})); h != n3 {
		t.Errorf("what may go anywhere was played on %s", h.name) // so n3's only worker does not play the lost task
	}
	all, err := api.Ask(context.Background(), n1.Router, &api.ListWorkers{Account: anna})
	if err != nil || len(all.Workers) != 2 || all.Workers[0].State != api.Offline || all.Workers[1].State != api.Online {
		t.Errorf("the workers: %+v, %v", all, err)
	}
	if got, want := n1.Router.Counters(), (cluster.Counters{Forwarded: 2, Lost: 1}); got != want {
		t.Errorf("the node counts %+v, want %+v", got, want)
	}
}

// TestWhatHasNotBegunIsPlayedElsewhere: a worker of the lost node had the task, and
// was not clean yet. One that only that worker may play is refused, to be repeated.
func TestWhatHasNotBegunIsPlayedElsewhere(t *testing.T) {
	t.Parallel()
	named := fmt.Sprintf(`{"workerId":%q,"actions":[{"wait":1}]}`, actors.WorkerID("n2", 1))
	for _, body := range []string{plain, named} {
		to := newTestCluster(t, 0, 1, 1)
		n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
		n2.Engine.OnReset(actors.WorkerID("n2", 1), testkit.Reset{Takes: time.Minute})
		if h := to.played(to.send(n1, anna, plain, testkit.Script{})); h != n2 {
			t.Fatalf("the first was played on %s", h.name)
		}
		to.heard(n1)
		g := to.send(n1, anna, body, testkit.Script{})
		to.until("a worker of n2 has it", n2.busy(1))
		n2.conn.Close()
		if body == plain {
			if h := to.played(g); h != n3 {
				t.Errorf("it was played on %s", h.name)
			}
		} else if x := to.answer(g); x.Refusal == nil || x.Refusal.Code != engine.CodeWorkerOffline {
			t.Errorf("for its worker: %+v", x)
		}
		if got := n1.Router.Counters(); got.Lost != 0 {
			t.Errorf("the node counts %+v", got)
		}
	}
}

// TestUnheardOfferIsNotNoticed: a node that dies just before a task comes to it
// costs its client nothing.
func TestUnheardOfferIsNotNoticed(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 2, 1)
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	n2.conn.Close() // n1 believes that it has the most, and sends there first
	if h := to.played(to.send(n1, anna, plain, testkit.Script{})); h != n3 {
		t.Errorf("played on %s", h.name)
	}
}

// TestForwardedTasksEndWithTheirNode: nobody waits for what a node had asked for that is
// gone.
func TestForwardedTasksEndWithTheirNode(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1)
	n1, n2 := to.nodes[0], to.nodes[1]
	to.runs(n2, to.send(n1, anna, plain, testkit.Script{Takes: time.Minute}))
	n1.conn.Close()
	to.until("n2 has ended it", n2.busy(0))
}

// TestMuchCrossesNodes: uploads and results of many megabytes, byte for byte, and
// small things are not kept waiting by them.
func TestMuchCrossesNodes(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 2)
	n1 := to.nodes[0]
	content := make([]byte, 20<<20+12345)
	_, _ = rand.Read(content)
	path := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	files := []engine.Upload{
		{Name: "big.bin", Type: "application/octet-stream", Path: path, Size: int64(len(content))},
		{Name: "empty.txt", Type: "text/plain", Path: os.DevNull},
	}
	result, err := json.Marshal(bytes.Repeat([]byte("0123456789abcdef"), 12<<20/16))
	if err != nil {
		t.Fatal(err)
	}
	var got string
	var left []string
	var asked, before atomic.Int64 // small questions that were answered: all, and while the files crossed
	task := parse(t, `{"actions":[{"uploadFile":["#f",["$file:0","$file:1"]]}]}`, files...)
	g := to.sendTask(n1, &api.Execute{Account: anna, Task: task}, testkit.Script{Do: func(_ context.Context, c testkit.Call) *engine.Outcome {
		before.Store(asked.Load())
		for _, f := range c.Task.Files {
			b, err := os.ReadFile(f.Path)
			got += fmt.Sprintf("%s %s %x %v\n", f.Name, f.Type, sha256.Sum256(b), err)
			left = append(left, f.Path)
		}
		return &engine.Outcome{End: engine.EndCompleted, Data: result}
	}})
	for going := true; going; {
		select {
		case <-g.done:
			going = false
		default:
			if _, err := api.Ask(context.Background(), n1.Router, &api.ListWorkers{Account: anna}); err != nil {
				t.Fatal(err)
			}
			asked.Add(1)
		}
	}
	x := to.answer(g)
	if x.Refusal != nil || !bytes.Equal(x.Outcome.Data, result) {
		t.Fatalf("the result is not what was sent: %v", x.Refusal)
	}
	want := fmt.Sprintf("big.bin application/octet-stream %x <nil>\nempty.txt text/plain %x <nil>\n", sha256.Sum256(content), sha256.Sum256(nil))
	if got != want {
		t.Errorf("the files were\n%s, want\n%s", got, want)
	}
	to.until("the files are gone", func() bool {
		for _, p := range left {
			if _, err := os.Stat(p); err == nil {
				return false
			}
		}
		return true
	})
	there, back := before.Load(), asked.Load()-before.Load()
	t.Logf("%d MB there and %d MB back in %v; beside them %d and %d small questions were answered", len(content)>>20, len(result)>>20, g.took, there, back)
	if there < 3 || back < 3 { // one that waits for what crosses is answered when all is over
		t.Errorf("%d small questions were answered while the files crossed, and %d with the result", there, back)
	}
}
