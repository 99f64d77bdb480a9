package cluster

import (
	"testing"

	"troupe/actors/api"
	"troupe/cluster/link"
)

// TestNoAnswerIsGivenTwiceAtOnce: while an answer is being written, which takes its time where
// it is large, the receipt says only that the task has arrived.
func TestNoAnswerIsGivenTwiceAtOnce(t *testing.T) {
	t.Parallel()
	g := &hostedTasks{boot: "b"}
	o := &link.ForwardedExecute{Execute: api.Execute{TaskID: "t"}, Origin: "n2", To: "b", Try: 1}
	one, err := g.begin(o)
	if err != nil {
		t.Fatal(err)
	}
	x := &api.Executed{TaskID: "t"}
	g.end(one, false, x)
	q := &link.ReceiptQuery{TaskID: "t", Origin: "n2", Try: 1, Boot: "b"}
	if r, ok := g.receipt(q).(*link.Receipt); !ok || !r.Received || r.Answered {
		t.Errorf("while it is written: %+v", g.receipt(q))
	}
	g.answered(one)
	if got := g.receipt(q); got != x {
		t.Errorf("after it was sent: %+v", got)
	}
}
