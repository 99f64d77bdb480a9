package cluster_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
)

// TestBatchThroughKills: three nodes in processes work off a batch while each in turn is
// killed, the one that orders the queue too. Each item ends once and the same for every
// node, none is played twice with a single attempt, and the counts are those of the results.
//
// Promise: The loss of nodes loses no item of a batch, and counts stay exact
// (docs/batches.md#in-a-cluster).
func TestBatchThroughKills(t *testing.T) {
	need.All(t)
	const items = 400
	to := newServices(t, 2, 2, 2)
	var body strings.Builder
	body.WriteString(`{"task":{"actions":[{"wait":150},{"evaluate":"nitem"}],"queue":{"attempts":1}},"items":[`)
	for i := range items {
		fmt.Fprintf(&body, `%s{"n":%d}`, []string{"", ","}[min(i, 1)], i)
	}
	body.WriteString("]}")
	var got struct {
		Batch struct {
			BatchID, Status                           string
			Items, Waiting, Running, Complete, Failed int
		}
	}
	read := func(r reply) bool { return r.status/100 == 2 && json.Unmarshal([]byte(r.text), &got) == nil }
	soon(t, "a batch is taken", func() bool {
		r := to.ask(to.all[1], "POST", "/v1/batches", body.String(), "Idempotency-Key", "one")
		if r.status != 202 && r.status != 503 {
			t.Fatalf("%d %s", r.status, r.text)
		}
		return read(r)
	})
	path := "/v1/batches/" + got.Batch.BatchID
	for round, s := range to.all {
		soon(t, "items end", func() bool {
			return read(to.get(to.all[(round+1)%3], path)) && got.Batch.Complete+got.Batch.Failed >= 50*(round+1)
		})
		s.kill()
		s.start()
		s.ready()
		to.back()
	}
	for end := time.Now().Add(5 * time.Minute); !read(to.get(to.all[0], path+"?wait=10000")) || got.Batch.Status != "ended"; {
		if time.Now().After(end) {
			t.Fatalf("the batch has not ended: %+v", got.Batch)
		}
	}
	var first string
	for i, s := range to.all {
		r := to.get(s, path+"/results")
		seen, complete, failed := map[int]bool{}, 0, map[string]int{}
		for line := range strings.Lines(r.text) {
			var l struct {
				Index        int
				Status, Code string
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil || seen[l.Index] {
				t.Fatalf("%s: %v", line, err)
			}
			if seen[l.Index] = true; l.Status == "complete" {
				complete++
			} else {
				failed[l.Code]++
			}
		}
		if len(seen) != items || complete != got.Batch.Complete || items-complete != got.Batch.Failed {
			t.Errorf("at %s: %d items, %d complete, %v; the counts are %+v", s.cfg.Member.Name, len(seen), complete, failed, got.Batch)
		}
		plays := 0
		for _, n := range to.played() {
			plays += n
		}
		if plays > items || plays < complete {
			t.Errorf("%d items complete, and %d were played", complete, plays)
		}
		if i == 0 {
			first = r.text
			t.Logf("%d items, %d complete, failed: %v, played: %d", len(seen), complete, failed, plays)
		} else if first != r.text {
			t.Errorf("%s lists other results", s.cfg.Member.Name)
		}
	}
}
