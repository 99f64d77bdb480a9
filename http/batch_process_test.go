package http_test

import (
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// post sends lines, and reads the answer as JSON.
func (p *queueProcess) post(t *testing.T, path, body string, into any) {
	t.Helper()
	r, err := nethttp.NewRequest("POST", "http://"+p.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer good")
	r.Header.Set("Content-Type", lines)
	resp, err := nethttp.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode != 202 {
		t.Fatalf("POST %s: %d, %v", path, resp.StatusCode, err)
	}
}

// lines reads results behind a cursor; what an answer that is cut off has is good.
func (p *queueProcess) results(path string) (all []batchLine) {
	r, err := nethttp.NewRequest("GET", "http://"+p.addr+path, nil)
	if err != nil {
		return nil
	}
	r.Header.Set("Authorization", "Bearer good")
	resp, err := nethttp.DefaultClient.Do(r)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var one batchLine
		if d.Decode(&one) != nil {
			return all
		}
		all = append(all, one)
	}
}

// TestBatchSurvivesKills: while a batch is worked off, the service is killed again and
// again. Each item ends once, none is played twice, and a client that reads the results
// on behind its last cursor has each of them once.
//
// Promise: Crashes of the service lose no item of a batch, and run no item twice
// (docs/batches.md).
func TestBatchSurvivesKills(t *testing.T) {
	need.All(t)
	beside(t)
	folder := t.TempDir()
	p := startQueueProcess(t, folder, "1ms")
	n := *queueTasks
	var made batchAnswer
	p.post(t, "/v1/batches", itemLines(n, plainItem), &made)
	path := "/v1/batches/" + made.Batch.BatchID
	played := func() string {
		b, err := os.ReadFile(filepath.Join(folder, "played"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var read []batchLine
	on := func(limit int) {
		cursor := ""
		if len(read) > 0 {
			cursor = read[len(read)-1].Cursor
		}
		read = append(read, p.results(fmt.Sprintf("%s/results?limit=%d&cursor=%s", path, limit, cursor))...)
	}
	for kill := range *queueKills {
		until := n * (kill + 1) / (*queueKills + 1)
		eventually(t, "items are played", func() bool { return strings.Count(played(), "\n") >= until })
		on(200)
		p.kill()
		p = startQueueProcess(t, folder, "1ms")
	}
	c := client(1)
	defer c.CloseIdleConnections()
	var a batchAnswer
	eventually(t, "the batch ends", func() bool {
		a = batchAnswer{}
		status, err := p.ask(c, "GET", path, "", &a)
		return err == nil && status == 200 && a.Batch.Status == "ended"
	})
	for before := -1; len(read) != before; {
		before = len(read)
		on(1000)
	}
	plays := map[string]int{}
	for id := range strings.Lines(played()) {
		plays[strings.TrimSpace(id)]++
	}
	seen, interrupted := map[int]bool{}, 0
	for _, r := range read {
		if seen[r.Index] || r.Item["n"] != float64(r.Index) {
			t.Errorf("the item %d ended again, or as another one: %+v", r.Index, r)
		}
		seen[r.Index] = true
		switch times := plays[r.TaskID]; {
		case r.Code == "interrupted" && times <= 1:
			interrupted++
		case r.Status != "complete" || times != 1:
			t.Errorf("the item %d ended as %s %s, and was played %d times", r.Index, r.Status, r.Code, times)
		}
	}
	if len(seen) != n || len(plays) > n {
		t.Errorf("%d items have ended, and %d tasks were played, of %d", len(seen), len(plays), n)
	}
	if most := 8 * *queueKills; interrupted > most || a.Batch.Failed != interrupted || a.Batch.Complete != n-interrupted {
		t.Errorf("%d items were interrupted by %d kills of 8 workers, and the batch says %+v", interrupted, *queueKills, a.Batch)
	}
	if all := p.results(path + "/results?order=items"); len(all) != n || all[n-1].Index != n-1 {
		t.Errorf("%d results in the order of the items", len(all))
	}
	t.Logf("%d items, %d kills: %d interrupted", n, *queueKills, interrupted)
}

// TestBatchChangesSurviveKills: a pause, a retry and a cancellation hold over a kill that
// comes right behind their answers.
//
// Promise: Pause, resume, cancel and retry survive crashes
// (docs/batches.md#pause-resume-cancel-retry).
func TestBatchChangesSurviveKills(t *testing.T) {
	need.All(t)
	beside(t)
	folder := t.TempDir()
	p := startQueueProcess(t, folder, "20ms")
	const n = 500
	var made batchAnswer
	p.post(t, "/v1/batches", itemLines(n, plainItem), &made)
	path := "/v1/batches/" + made.Batch.BatchID
	c := client(1)
	defer c.CloseIdleConnections()
	ask := func(method, path string) (a batchBody) {
		t.Helper()
		var one batchAnswer
		if status, err := p.ask(c, method, path, "{}", &one); err != nil || status != 200 {
			t.Fatalf("%s %s: %d %+v, %v", method, path, status, one, err)
		}
		return one.Batch
	}
	again := func() {
		p.kill()
		c.CloseIdleConnections()
		p = startQueueProcess(t, folder, "20ms")
	}
	eventually(t, "items have ended", func() bool { return ask("GET", path).Complete > 20 })
	ask("POST", path+"/pause")
	again()
	eventually(t, "nothing runs", func() bool { return p.queued(t) == 0 })
	paused := ask("GET", path)
	if paused.Status != "paused" || paused.Waiting < n/2 || paused.Complete+paused.Failed+paused.Waiting != n {
		t.Errorf("paused: %+v", paused)
	}
	ask("POST", path+"/resume")
	again()
	b := ask("GET", path+"?wait=60000")
	for b.Failed > 0 { // those that ran at a kill
		ask("POST", path+"/retry")
		again()
		b = ask("GET", path+"?wait=60000")
		if b.Status != "ended" || b.Complete+b.Failed != n {
			t.Fatalf("after a retry: %+v", b)
		}
		p.kill() // and what is read of it then is the same
		c.CloseIdleConnections()
		p = startQueueProcess(t, folder, "20ms")
		if after := ask("GET", path); after.Complete != b.Complete || after.Failed != b.Failed {
			t.Fatalf("%+v was %+v before the start", after, b)
		}
		if b.Retries > 20 {
			t.Fatalf("items fail again and again: %+v", b)
		}
	}
	if all := p.results(path + "/results"); len(all) != n || b.Complete != n {
		t.Errorf("%d results: %+v", len(all), b)
	}
	const many = 3000 // most have not come to the queue yet when it is cancelled
	p.post(t, "/v1/batches", itemLines(many, plainItem), &made)
	path = "/v1/batches/" + made.Batch.BatchID
	eventually(t, "items have ended", func() bool { return ask("GET", path).Complete > 20 })
	ask("POST", path+"/cancel")
	again()
	eventually(t, "nothing is left", func() bool { b = ask("GET", path); return b.Waiting+b.Running == 0 && p.queued(t) == 0 })
	if b.Status != "cancelled" || b.Dropped == 0 || b.Complete+b.Failed+b.Dropped != many {
		t.Errorf("cancelled: %+v", b)
	}
}

// queued is how many tasks wait.
func (p *queueProcess) queued(t *testing.T) int {
	t.Helper()
	r, err := nethttp.Get("http://" + p.status)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var a struct{ Queued int }
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a.Queued
}
