package cluster_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

func (to *testCluster) enqueue(h *testNode, a api.Account, options string) string {
	to.t.Helper()
	m := to.queued(a, options)
	m.Idempotency = api.Idempotency{Key: fmt.Sprintf("queued-%d", queuedKeys.Add(1)), Digest: []byte(options)}
	var x *api.Started
	to.until("a task is queued", func() (done bool) { // a node may be out of reach for a moment: then it is not known whether it is
		var err error
		if x, err = h.Router.Start(context.Background(), m, nil); err != nil {
			to.t.Fatalf("at %s: %v", h.name, err)
		}
		return x.Refusal == nil || x.Refusal.Code != engine.CodeNoQuorum
	})
	if x.Refusal != nil || x.Queued == nil {
		to.t.Fatalf("at %s: %+v", h.name, x.Refusal)
	}
	return x.TaskID
}

var queuedKeys atomic.Uint64

func (to *testCluster) queued(a api.Account, options string) *api.Execute {
	to.t.Helper()
	body := fmt.Sprintf(`{"actions":[{"wait":1}],"timeout":60000,"queue":%s}`, options)
	return &api.Execute{Account: a, Task: parse(to.t, body), Asked: time.Now()}
}

func (to *testCluster) tryQueue(h *testNode, a api.Account, options string) *api.Started {
	to.t.Helper()
	x, err := h.Router.Start(context.Background(), to.queued(a, options), nil)
	if err != nil {
		to.t.Fatalf("at %s: %v", h.name, err)
	}
	return x
}
