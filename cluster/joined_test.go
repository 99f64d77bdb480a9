package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// TestRepeatsBringOneAnswer: requests with one key that wait at another node than their task
// have its answer brought once, however many they are. Those that ask for something else under
// the key do not get it.
func TestRepeatsBringOneAnswer(t *testing.T) {
	t.Parallel()
	to := newLeasedCluster(t, time.Hour, 1, 0)
	n1, n2 := to.nodes[0], to.nodes[1]
	const size, repeats = 1 << 20, 40
	large := json.RawMessage(`"` + strings.Repeat("x", size) + `"`)

	for i := range 3 { // either node may be that of a key
		key, over := fmt.Sprintf("a key %d", i), make(chan struct{})
		first := to.sendTask(n2, to.keyed(patient, key), testkit.Script{Do: func(context.Context, testkit.Call) *engine.Outcome {
			<-over
			return &engine.Outcome{End: engine.EndCompleted, Data: large}
		}})
		to.runs(n1, first)
		before := n2.conn.Stats().InBytes
		var all []*going
		for range repeats {
			all = append(all, to.sendTask(n2, to.keyed(patient, key), testkit.Script{}))
		}
		to.until("all repeats wait", func() bool { return n2.Router.Repeats() == repeats })
		other := to.keyed(patient, key)
		other.Idempotency.Digest = []byte("something else")
		if x := to.answer(to.sendTask(n2, other, testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeIdempotencyMismatch {
			t.Errorf("something else under the same key: %+v", x)
		}
		close(over)
		for _, g := range append(all, first) {
			if x := to.answer(g); x.TaskID != first.id || x.Outcome == nil || len(x.Outcome.Data) != len(large) {
				t.Fatalf("a repeat is answered with %+v", x)
			}
		}
		// The first request's answer, at times that of all repeats, and what nodes say all the time.
		if came := n2.conn.Stats().InBytes - before; came > 2*size+size/2 {
			t.Errorf("%d repeats have brought %d MiB to their node, of an answer of %d MiB", repeats, came>>20, size>>20)
		}
	}
	if left := n2.Router.Repeats(); left != 0 {
		t.Errorf("%d repeats still wait", left)
	}
}

// TestRepeatsAtANodeAreBounded: those beyond what may wait at a node are refused, and another
// account's request with the same key is its own.
func TestRepeatsAtANodeAreBounded(t *testing.T) {
	t.Parallel()
	to := newLeasedCluster(t, time.Hour, 1, 0)
	n1, n2 := to.nodes[0], to.nodes[1]
	over := make(chan struct{})
	first := to.sendTask(n2, to.keyed(patient, "key"), testkit.Script{Do: func(context.Context, testkit.Call) *engine.Outcome {
		<-over
		return &engine.Outcome{End: engine.EndCompleted, Data: json.RawMessage("1")}
	}})
	to.runs(n1, first)
	var all []*going
	for range api.MaxRepeats {
		all = append(all, to.sendTask(n2, to.keyed(patient, "key"), testkit.Script{}))
	}
	to.until("all repeats wait", func() bool { return n2.Router.Repeats() == api.MaxRepeats })
	if x := to.answer(to.sendTask(n2, to.keyed(patient, "key"), testkit.Script{})); x.Refusal == nil || x.Refusal.Code != engine.CodeTooManyWaiting {
		t.Errorf("one more is answered with %+v", x)
	}
	other := to.sendTask(n2, &api.Execute{Account: bert, Task: parse(t, patient), Idempotency: api.Idempotency{Key: "key", Digest: []byte(patient)}}, testkit.Script{})
	close(over)
	if x := to.answer(other); x.TaskID != other.id || x.Outcome == nil {
		t.Errorf("the same key of another account is answered with %+v", x)
	}
	for _, g := range append(all, first) {
		if x := to.answer(g); x.TaskID != first.id || x.Outcome == nil || string(x.Outcome.Data) != "1" {
			t.Fatalf("a repeat is answered with %+v", x)
		}
	}
}
