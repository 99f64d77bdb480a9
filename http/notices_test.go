package http_test

import (
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// TestNotices: receivers hear of the ends of tasks, with and without the queue, whether
// they complete or not. When the notice comes, get-result has the end.
func TestNotices(t *testing.T) {
	beside(t)
	_, e := noticeKit(t, true)
	var results []string
	h := openHook(t, func(_ nethttp.ResponseWriter, g gotNotice) {
		_, text := call(t, e, "GET", strings.TrimPrefix(g.body.Data.URL, "https://troupe.example"), "good", "")
		results = append(results, text)
	})
	secret := askNotices(t, e, "GET", "/v1/notice-secret", "", 200).Secret
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	start := func(fields, notify string) string {
		a := askQueue(t, e, "POST", "/v1/", "good", fmt.Sprintf(`{%s"actions":[{"wait":1}],"notify":[{"url":"%s/hook"%s}]}`, fields, h.URL, notify), map[bool]int{true: 200, false: 202}[strings.Contains(fields, "async")])
		return a.TaskID
	}
	for _, c := range []struct{ fields, notify, event, code string }{
		{`"async":true,`, ``, "task.complete", ""},
		{`"queue":true,`, ``, "task.complete", ""},
		{`"async":true,`, `,"include":"result"`, "task.complete", ""},
		{`"queue":true,`, `,"include":"result"`, "task.complete", ""},
		{`"async":true,"workerId":"w2",`, `,"events":["failed"]`, "task.failed", "element_not_found"},
		{`"queue":true,"workerId":"w2",`, `,"events":["end","failed"],"include":"result"`, "task.failed", "element_not_found"},
		{`"queue":{"expiresAfter":1,"startAfter":30},`, `,"events":["failed"]`, "task.failed", "expired"},
	} {
		id := start(c.fields, c.notify)
		g := h.next(t)
		d := g.body.Data
		if g.body.Type != c.event || d.TaskID != id || d.Code != c.code || g.path != "/hook" || time.Since(g.body.Timestamp) > time.Minute {
			t.Errorf("%s%s: %s", c.fields, c.notify, g.raw)
		}
		if err := verifier.Verify([]byte(g.raw), g.headers); err != nil {
			t.Error(err)
		}
		var result map[string]any
		if err := json.Unmarshal([]byte(results[len(results)-1]), &result); err != nil || result["status"] != d.Status || result["taskId"] != id {
			t.Errorf("when the notice came, the result was %s, %v", results[len(results)-1], err)
		}
		if strings.Contains(c.notify, "include") != (d.Result["taskId"] == id) || d.Result != nil && fmt.Sprint(d.Result["data"]) != fmt.Sprint(result["data"]) {
			t.Errorf("%s%s: the result in it is %v", c.fields, c.notify, d.Result)
		}
		n := untilNotice(t, e, g.id, "delivered")
		if n.About != id || n.Event != c.event || n.Attempts != 1 || n.Tries[0].Status != 200 {
			t.Errorf("%+v", n)
		}
	}
	start(`"async":true,`, `,"events":["failed"]`) // completes
	start(`"async":true,`, ``)
	if g := h.next(t); g.body.Type != "task.complete" || len(h.in) > 0 {
		t.Errorf("%s", g.raw)
	}
	l := askNotices(t, e, "GET", "/v1/notices?limit=5", "", 200)
	if len(l.Notices) != 5 || l.Next == "" {
		t.Fatalf("%+v", l)
	}
	if l = askNotices(t, e, "GET", "/v1/notices?limit=5&cursor="+l.Next, "", 200); len(l.Notices) < 2 || l.Notices[0].NoticeID == "" || l.Next != "" {
		t.Errorf("%+v", l)
	}
	if _, text := call(t, e, "GET", "/v1/notices", "other", ""); strings.Contains(text, "msg_") {
		t.Errorf("another account sees %s", text)
	}
}

// TestNoticesOfBatches: a batch, and an endpoint of the account, hear of its end. One
// receiver that both name hears of it once.
func TestNoticesOfBatches(t *testing.T) {
	beside(t)
	_, e := noticeKit(t, true)
	own, all := openHook(t, nil), openHook(t, nil)
	p := askNotices(t, e, "POST", "/v1/endpoints", fmt.Sprintf(`{"url":"%s/","events":["batch.end","failed"]}`, all.URL), 200).Endpoint
	batch := func(notify string) gotNotice {
		made := askBatch(t, e, "POST", "/v1/batches", lines, `{"name":"prices","task":{"actions":[{"wait":1}]},"notify":`+notify+"}\n{}\n{}\n", 202)
		g := all.next(t)
		if d := g.body.Data; g.body.Type != "batch.end" || d.BatchID != made.Batch.BatchID || d.Items != 2 || d.Complete != 2 || d.Status != "ended" {
			t.Errorf("%s", g.raw)
		}
		return g
	}
	batch(fmt.Sprintf(`[{"url":"%s/own"}]`, own.URL))
	if g := own.next(t); g.path != "/own" || g.body.Type != "batch.end" {
		t.Errorf("%s", g.raw)
	}
	batch(fmt.Sprintf(`[{"url":"%s/"}]`, all.URL))
	if len(all.in) > 0 {
		t.Error("one receiver heard of an end twice")
	}
	askQueue(t, e, "POST", "/v1/", "good", `{"async":true,"workerId":"w2","actions":[{"wait":1}]}`, 200)
	if g := all.next(t); g.body.Type != "task.failed" {
		t.Errorf("%s", g.raw)
	}
	if l := askNotices(t, e, "GET", "/v1/endpoints", "", 200); len(l.Endpoints) != 1 || l.Endpoints[0].URL != all.URL+"/" || len(l.Endpoints[0].Events) != 2 {
		t.Errorf("%+v", l)
	}
	askNotices(t, e, "DELETE", "/v1/endpoints/"+p.EndpointID, "", 200)
	askNotices(t, e, "DELETE", "/v1/endpoints/"+p.EndpointID, "", 404)
	if l := askNotices(t, e, "GET", "/v1/endpoints", "", 200); len(l.Endpoints) != 0 {
		t.Errorf("%+v", l)
	}
}
