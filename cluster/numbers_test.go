package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"troupe/actors/api"
)

// TestNumbersOfNodes: the node that orders the queue tells of the notices and schedules of
// all nodes. The others tell of none, so that a sum over the nodes is right.
func TestNumbersOfNodes(t *testing.T) {
	to := newNoticeCluster(t, 0, nil, 1, 1, 1)
	hook := newReceiver(t)
	hook.status.Store(503)
	at := to.ordered()
	to.schedule(to.other(at), time.Hour, api.OverlapSkip)
	to.start(to.other(at), fmt.Sprintf(`{"actions":[{"wait":1}],"queue":true,"notify":[{"url":%q}]}`, hook.URL))
	to.until("one node tells of what waits", func() bool {
		n, s := at.Node.Notices(), at.Node.Schedules()
		return n.Waiting == 1 && n.Oldest > 0 && s.Active == 1 && s.Late == 0
	})
	others := func() {
		t.Helper()
		for _, h := range to.nodes {
			if n, s := h.Node.Notices(), h.Node.Schedules(); h != at && (n != api.NoticeNumbers{} || s != api.ScheduleNumbers{}) {
				t.Errorf("%s tells of %+v, %+v", h.name, n, s)
			}
		}
	}
	others()
	hook.status.Store(0)
	to.until("it is delivered", func() bool { n := at.Node.Notices(); return n.Delivered == 1 && n.Waiting == 0 && n.Oldest == 0 })
	others()
}
