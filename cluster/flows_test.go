package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http/flows"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/need"
)

// TestFlowsTravel: a task is played elsewhere with the flows that its own node found,
// whatever has become of them since.
func TestFlowsTravel(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1, 1)
	stored := engine.FlowList{
		{Name: "waits", Version: 2, Source: []byte(`{"parameters":{"ms":{"type":"number"}},"actions":[{"wait":1},{"run":"other@1"}]}`)},
		{Name: "other", Version: 1, Source: []byte(`{"actions":[{"set":{"a":1}}]}`)},
		{Name: "unused", Version: 1, Source: []byte(`{"actions":[{"set":{"a":1}}]}`)},
	}
	task, err := engine.ParseWith([]byte(`{"queueTimeout":15000,"actions":[{"run":"waits","with":{"ms":5}}]}`), nil, stored)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	g := to.sendTask(to.nodes[0], &api.Execute{Account: anna, Task: task}, testkit.Script{Do: func(_ context.Context, c testkit.Call) *engine.Outcome {
		got <- fmt.Sprintf("%d actions of %v", c.Task.Review(time.Minute).Actions, c.Task.Flows())
		return &engine.Outcome{End: engine.EndCompleted}
	}})
	if x := to.answer(g); x.Outcome == nil || x.Outcome.End != engine.EndCompleted {
		t.Fatalf("it is answered with %+v", x)
	}
	if have, want := <-got, fmt.Sprintf("4 actions of %v", stored[:2]); have != want {
		t.Errorf("it was played with %s, want %s", have, want)
	}
}

// TestFlowsOfACluster: what one node has stored the others run at once.
func TestFlowsOfACluster(t *testing.T) {
	need.Time(t)
	t.Parallel()
	members := shared(t)
	emptied(t, members[0])
	ctx := context.Background()
	nodes := make([]*persistence.Flows, len(members))
	for i, m := range members {
		nodes[i] = persistence.NewFlows(openStore(t, m))
	}
	for v := 1; v <= 2*len(nodes); v++ {
		at := nodes[v%len(nodes)]
		source := fmt.Sprintf(`{"actions":[{"wait":%d}]}`, v)
		stored, err := flows.Put(ctx, at, "ada~1", "waits", []byte(source), persistence.Issuer{})
		if err != nil || stored.Version != v {
			t.Fatalf("version %d is %+v: %v", v, stored, err)
		}
		for i, n := range nodes {
			if f, err := flows.Of(ctx, n, "ada~1").Flow("waits", 0); err != nil || string(f.Source) != source || f.Version != v {
				t.Errorf("node %d has version %d, %s, right after version %d: %v", i+1, f.Version, f.Source, v, err)
			}
			if f, err := flows.Get(ctx, n, "ada~1", "waits@1"); err != nil || string(f.Actions) != `[{"wait":1}]` {
				t.Errorf("node %d has the first version as %+v: %v", i+1, f, err)
			}
		}
	}
	if err := nodes[0].Remove(ctx, "ada~1", "waits"); err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes {
		if all, err := flows.List(ctx, n, "ada~1"); err != nil || len(all) > 0 {
			t.Errorf("node %d still has %+v: %v", i+1, all, err)
		}
	}
}

// TestSitesTravel: a task that is played elsewhere keeps the sites of its token.
func TestSitesTravel(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 0, 1, 1)
	task, err := engine.Parse([]byte(`{"queueTimeout":15000,"actions":[{"wait":1}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []string, 1)
	g := to.sendTask(to.nodes[0], &api.Execute{Account: anna, Task: task.Within([]string{"shop.test"})}, testkit.Script{Do: func(_ context.Context, c testkit.Call) *engine.Outcome {
		got <- c.Task.Bound()
		return &engine.Outcome{End: engine.EndCompleted}
	}})
	if x := to.answer(g); x.Outcome == nil || x.Outcome.End != engine.EndCompleted {
		t.Fatalf("it is answered with %+v", x)
	}
	if sites := <-got; len(sites) != 1 || sites[0] != "shop.test" {
		t.Errorf("it was played within %v", sites)
	}
}
