package cluster_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
)

// TestNoticesThroughKills: three nodes in processes, of which those that send notices and
// run tasks are killed, and a receiver that is down meanwhile: each task that was accepted
// has one end, and a notice of it under one identifier, also those that nobody asks about.
// One that was refused never runs, and nobody is told of it.
//
// Promise: The loss of a node loses no notice (docs/notices.md#in-a-cluster).
func TestNoticesThroughKills(t *testing.T) {
	need.All(t)
	to := newServices(t, 2, 2, 2)
	hook := newReceiver(t)
	hook.status.Store(500)
	var ids, unsure []string       // that were accepted, and that nobody knows about by their answer
	refused := map[string]string{} // by task, which a refusal names too: its answer
	start := func(s *service, takes time.Duration, mode string) {
		body, _ := to.task(takes, fmt.Sprintf(`%s,"notify":[{"url":%q}],`, mode, hook.URL))
		switch r := to.ask(s, "POST", "/v1/", body); {
		case r.status == 200 || r.status == 202:
			ids = append(ids, r.TaskID)
		case r.TaskID == "":
			t.Errorf("no task is named: %d %s", r.status, r.text)
		case strings.Contains(r.text, `"no_quorum"`):
			unsure = append(unsure, r.TaskID)
		case r.status == 503 || r.status == 404:
			refused[r.TaskID] = fmt.Sprintf("%d %s", r.status, r.text)
		default:
			t.Errorf("%d %s", r.status, r.text)
		}
	}
	modes := []string{`"queue":true`, `"async":true,"queueTimeout":5000`}
	for round := range 3 {
		for i := range 20 {
			start(to.all[i%3], time.Duration(i%4)*100*time.Millisecond, modes[i/3%2])
		}
		for i := range 3 { // that the kill meets
			start(to.all[i], 20*time.Second, modes[1])
		}
		s := to.all[round]
		s.kill()
		if round == 1 {
			hook.status.Store(0)
		}
		for i := range 10 {
			start(to.all[(round+1+i%2)%3], 50*time.Millisecond, modes[0])
		}
		s.start()
		s.ready()
		to.back()
	}
	ends := map[string]string{}
	defer func() {
		if !t.Failed() {
			return
		}
		told := hook.accepted()
		for _, id := range ids { // which of it did not happen: the end, its notice, or the sending
			for i, s := range to.all {
				if len(told[id]) == 0 {
					t.Logf("%s at node %d: %q", id, i+1, to.polled(s, id, 0))
				}
			}
		}
		t.Logf("waiting notices: %s", to.get(to.all[0], "/v1/notices?status=waiting&limit=20").text)
	}()
	for i, id := range ids {
		soon(t, id+" is told of", func() bool { return len(hook.accepted()[id]) > 0 })
		ends[id] = to.polled(to.all[i%3], id, 0)
	}
	for _, id := range unsure { // begun all the same
		if end := to.polled(to.all[0], id, time.Minute); end != "" {
			soon(t, id+", which nobody knew about, is told of", func() bool { return len(hook.accepted()[id]) > 0 })
			ids = append(ids, id)
			ends[id] = end
		}
	}
	got, twice := hook.accepted(), 0
	for id, answer := range refused {
		if end := to.polled(to.all[0], id, 0); end != "" || len(got[id]) > 0 {
			t.Errorf("%s was refused (%s), is %q, and has %d notices", id, answer, end, len(got[id]))
		}
	}
	for _, id := range ids {
		names := map[string]bool{}
		for _, g := range got[id] {
			names[g.id] = true
			if end := g.of.Data.Status + " " + g.of.Data.Code; end != ends[id] {
				t.Errorf("%s is %q, and its notice says %q", id, ends[id], end)
			}
		}
		if len(names) != 1 {
			t.Errorf("%s has %d identifiers", id, len(names))
		}
		if len(got[id]) > 1 {
			twice++
		}
	}
	if len(got) != len(ids) {
		t.Errorf("%d ends are told of, of %d tasks", len(got), len(ids))
	}
	count := map[string]int{}
	for _, end := range ends {
		count[end]++
	}
	t.Logf("%d tasks, %v; %d were told of twice, %d were refused, of %d nobody knew by their answer", len(ids), count, twice, len(refused), len(unsure))
	soon(t, "the log is the same at every node", func() bool {
		var first string
		for i, s := range to.all {
			var l struct {
				Notices []struct{ NoticeID, Status string }
			}
			r := to.get(s, "/v1/notices?limit=100")
			if json.Unmarshal([]byte(r.text), &l) != nil || len(l.Notices) < min(100, len(ids)) {
				return false
			}
			if text := fmt.Sprint(l.Notices); i == 0 {
				first = text
			} else if text != first {
				return false
			}
		}
		return true
	})
}
