package http_test

import (
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/testkit/need"
)

// start starts a task with a body of JSON.
func (p *queueProcess) start(t *testing.T, body string) string {
	t.Helper()
	r, err := nethttp.NewRequest("POST", "http://"+p.addr+"/v1/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer good")
	r.Header.Set("Content-Type", "application/json")
	resp, err := nethttp.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var a queueAnswer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || !a.Success {
		t.Fatalf("%d %+v, %v", resp.StatusCode, a, err)
	}
	return a.TaskID
}

// TestNoticesSurviveKills: the service is killed again and again, between ends and their
// deliveries, while deliveries are on their way, and while tasks run. Each end is
// delivered, and each attempt for an end has the same identifier.
//
// Promise: A notice is kept with its end, and delivered at least once
// (docs/notices.md#when-the-service-stops).
func TestNoticesSurviveKills(t *testing.T) {
	need.All(t)
	beside(t)
	var holds atomic.Bool
	held, released := make(chan string, 1000), make(chan struct{})
	h := openHook(t, func(_ nethttp.ResponseWriter, g gotNotice) {
		if holds.Load() {
			held <- g.body.Data.TaskID
			<-released
		}
	})
	folder := t.TempDir()
	p := startQueueProcess(t, folder, "1ms")
	holds.Store(true)
	ids, pending := map[string]string{}, map[string]bool{} // by task
	task := func(how string) {
		pending[p.start(t, fmt.Sprintf(`{%s,"actions":[{"wait":1}],"notify":[{"url":"%s"}]}`, how, h.URL))] = true
	}
	for kill := range 5 {
		for range 4 {
			task(`"queue":true`)
			task(`"async":true`)
		}
		select { // something is on its way, and the rest waits, runs or is about to end
		case <-held:
		case <-time.After(30 * time.Second):
			t.Fatalf("kill %d: no notice came", kill)
		}
		p.kill()
		p = startQueueProcess(t, folder, "1ms")
	}
	all := len(pending)
	holds.Store(false)
	close(released)
	for len(pending) > 0 {
		g := h.next(t)
		task := g.body.Data.TaskID
		if was := ids[task]; was != "" && was != g.id {
			t.Errorf("the end of %s came as %s and as %s", task, was, g.id)
		}
		ids[task] = g.id
		delete(pending, task)
	}
	if len(ids) != all {
		t.Errorf("%d tasks ended, and receivers heard of %d", all, len(ids))
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		r, err := nethttp.NewRequest("GET", "http://"+p.addr+"/v1/notices?status=waiting", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer good")
		resp, err := nethttp.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if strings.Contains(string(b), `"notices":[]`) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("notices wait: %s, %v", b, err)
		}
	}
}
