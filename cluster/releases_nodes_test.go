package cluster_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
	"troupe/engine"
	"troupe/testkit"
)

// TestANodeOfAnotherReleaseIsOutside: a node that the others do not understand says so
// and takes no tasks. They go on without it, whatever it has free, and take it in once it
// is of a release that they understand.
func TestANodeOfAnotherReleaseIsOutside(t *testing.T) {
	t.Parallel()
	to := newTestCluster(t, 1, 0)
	to.speaks = map[string]link.Speaks{"n3": {Oldest: 7, Newest: 8}}
	to.nodes = append(to.nodes, to.open(to.server, "n3", 2))
	n1, n2, n3 := to.nodes[0], to.nodes[1], to.nodes[2]
	want := "this node understands releases 7 to 8 of the cluster's messages, and n1 (test) understands releases 1 to 2: upgrade one release at a time"
	to.until("the third node has heard the others and says "+want, func() bool { return n3.Outside() == want })
	to.until("the others know that", func() bool {
		for _, n := range n1.Nodes() {
			if n.Name == "n3" && n.Outside == "releases 7 to 8" {
				return true
			}
		}
		return false
	})
	if n1.Outside() != "" || n2.Outside() != "" {
		t.Errorf("the others are outside: %q, %q", n1.Outside(), n2.Outside())
	}
	for i := range 20 {
		x := to.answer(to.send(n2, anna, `{"queueTimeout":5000,"actions":[{"wait":1}]}`, testkit.Script{Takes: 5 * time.Millisecond}))
		if x.Refusal != nil || to.nodeOf(x.WorkerID) != n1 {
			t.Fatalf("task %d at the second node: %+v", i+1, x)
		}
	}
	task := &api.Execute{Account: anna, Task: testkit.Task()}
	x, err := n3.Router.Execute(context.Background(), task)
	if err != nil || x.Refusal == nil || x.Refusal.Code != engine.CodeDraining || !strings.Contains(x.Refusal.Text, "upgrade one release at a time") {
		t.Errorf("a task at the third node: %+v %v", x, err)
	}
	s, err := n3.Router.Start(context.Background(), task, nil)
	if err != nil || s.Refusal == nil || s.Refusal.Code != engine.CodeDraining {
		t.Errorf("an asynchronous task at the third node: %+v %v", s, err)
	}

	n3.Router.Close()
	to.speaks["n3"] = link.Speaks{Oldest: 2, Newest: 3}
	to.nodes[2] = to.open(to.server, "n3", 2)
	to.until("the third node is one of them", func() bool {
		all, err := api.Ask(context.Background(), n2.Router, &api.ListWorkers{Account: anna})
		return err == nil && len(all.Workers) == 3 && to.nodes[2].Outside() == ""
	})
}
