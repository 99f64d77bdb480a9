package http_test

import (
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/http"
	"troupe/testkit"
	"troupe/testkit/need"
	"troupe/testkit/npm"
)

// TestNoticesThatFail: a receiver that answers 500, one that redirects to an address of
// this machine, and one that the rules of the way out do not allow.
func TestNoticesThatFail(t *testing.T) {
	beside(t)
	reached := openHook(t, nil)
	bad := openHook(t, func(w nethttp.ResponseWriter, g gotNotice) {
		if g.path == "/redirect" {
			w.Header().Set("Location", reached.URL)
			w.WriteHeader(nethttp.StatusTemporaryRedirect)
			return
		}
		w.WriteHeader(500)
	})
	_, open := noticeKit(t, true)
	_, guarded := noticeKit(t, false)
	for _, c := range []struct {
		e              *edge
		path, why      string
		attempts, seen int
	}{
		{open, "/500", "the receiver answered 500", 3, 3},
		{open, "/redirect", "the receiver answered 307: redirects are not followed", 3, 3},
		{guarded, "/private", "refused by the operator's outbound rules", 3, 0},
	} {
		a := askQueue(t, c.e, "POST", "/v1/", "good", fmt.Sprintf(`{"queue":true,"actions":[{"wait":1}],"notify":[{"url":"%s%s"}]}`, bad.URL, c.path), 202)
		var n oneNotice
		for end := time.Now().Add(30 * time.Second); n.NoticeID == ""; time.Sleep(5 * time.Millisecond) {
			if l := askNotices(t, c.e, "GET", "/v1/notices", "", 200); len(l.Notices) > 0 && l.Notices[0].About == a.TaskID {
				n = l.Notices[0]
			} else if len(l.Notices) > 1 && l.Notices[1].About == a.TaskID {
				n = l.Notices[1]
			}
			if time.Now().After(end) {
				t.Fatalf("%s: the notice does not end", c.path)
			}
		}
		if n.Status != "failed" || n.Attempts != c.attempts || !strings.Contains(n.Tries[0].Error, c.why) {
			t.Errorf("%s: %+v", c.path, n)
		}
		ids := map[string]int{}
		for range c.seen {
			ids[bad.next(t).id]++
		}
		if c.seen > 0 && ids[n.NoticeID] != c.seen {
			t.Errorf("%s: came as %v", c.path, ids)
		}
		askNotices(t, c.e, "POST", "/v1/notices/"+n.NoticeID+"/redeliver", `{}`, 200)
		if n = untilNotice(t, c.e, n.NoticeID, "failed"); n.Attempts <= c.attempts {
			t.Errorf("%s: sent by hand: %+v", c.path, n)
		}
		for range c.seen {
			bad.next(t)
		}
	}
	if len(reached.in) > 0 {
		t.Error("a redirect was followed")
	}
}

// TestNoticeRefusals: what is wrong with receivers is said with the field.
func TestNoticeRefusals(t *testing.T) {
	beside(t)
	_, e := noticeKit(t, true)
	url := `"url":"https://example.com/"`
	for _, c := range []struct{ path, body, at, message string }{
		{"/v1/", `{"actions":[{"wait":1}],"notify":[{` + url + `}]}`, "/notify", "is for tasks with async or queue"},
		{"/v1/", `{"async":true,"actions":[{"wait":1}],"notify":{` + url + `}}`, "/notify", "want an array"},
		{"/v1/", `{"async":true,"actions":[{"wait":1}],"notify":[{}]}`, "/notify/0", "has no url"},
		{"/v1/", `{"async":true,"actions":[{"wait":1}],"notify":[{"url":"ftp://example.com/"}]}`, "/notify/0/url", "want an http or https URL"},
		{"/v1/", `{"async":true,"actions":[{"wait":1}],"notify":[{"url":"https://example.com/?q=a b"}]}`, "/notify/0/url", "has a blank"},
		{"/v1/", `{"async":true,"actions":[{"wait":1}],"notify":[{"url":"https://example.com:99999/"}]}`, "/notify/0/url", "has the port 99999"},
		{"/v1/endpoints", `{"url":"http://example.com:0/"}`, "/url", "has the port 0"},
		{"/v1/endpoints", `{"url":"http://127.1/"}`, "/url", "has the host \"127.1\", which is neither a name nor an address"},
		{"/v1/", `{"async":true,"actions":[{"wait":1}],"notify":[{"url":"https://hooks..example.com/"}]}`, "/notify/0/url", "which is no name"},
		{"/v1/", `{"async":true,"actions":[{"wait":1}],"notify":[{"url":"https://me:pw@example.com/"}]}`, "/notify/0/url", "has a user or a password"},
		{"/v1/", `{"async":true,"actions":[{"wait":1}],"notify":[{` + url + `,"events":["ended"]}]}`, "/notify/0/events/0", `did you mean "end"`},
		{"/v1/", `{"async":true,"actions":[{"wait":1}],"notify":[{` + url + `,"events":["batch.end"]}]}`, "/notify/0/events/0", "is for the notify of a batch"},
		{"/v1/", `{"async":true,"actions":[{"wait":1}],"notify":[{` + url + `,"events":[]}]}`, "/notify/0/events", "want an array"},
		{"/v1/", `{"async":true,"actions":[{"wait":1}],"notify":[{` + url + `,"include":"all"}]}`, "/notify/0/include", `want "result"`},
		{"/v1/", `{"async":true,"actions":[{"wait":1}],"notify":[{` + url + `},{` + url + `}]}`, "/notify/1", "name each once"},
		{"/v1/batches", `{"task":{"actions":[{"wait":1}]},"items":[{}],"notify":[{` + url + `,"events":["end"]}]}`, "/notify/0/events/0", "are for the notify of its task"},
		{"/v1/endpoints", `{"events":["end"]}`, "", "has no url"},
	} {
		a := askNotices(t, e, "POST", c.path, c.body, 400)
		if len(a.Details) != 1 || a.Details[0].Path != c.at || !strings.Contains(a.Details[0].Message, c.message) {
			t.Errorf("%s: %+v", c.body, a.Details)
		}
	}
	askNotices(t, e, "GET", "/v1/notices?status=lost", "", 400)
	for _, path := range []string{"/v1/notices/msg_1", "/v1/notices/" + strings.Repeat("x", 40)} {
		askNotices(t, e, "GET", path, "", 404)
		askNotices(t, e, "POST", path+"/redeliver", "{}", 404)
	}
	askNotices(t, e, "POST", "/v1/endpoints/ep_1/enable", "{}", 404)

	k := testkit.New(t, testkit.Options{Workers: 1, Config: func(c *actors.Config) { c.QueuedUploads = t.TempDir() }})
	none := openServer(t, k.Node, func(c *http.Config) { c.Live = k.Node })
	for _, c := range [][3]string{
		{"POST", "/v1/", `{"async":true,"actions":[{"wait":1}],"notify":[{` + url + `}]}`},
		{"POST", "/v1/batches", `{"task":{"actions":[{"wait":1}]},"items":[{}],"notify":[{` + url + `}]}`},
		{"GET", "/v1/notices", ""}, {"GET", "/v1/endpoints", ""}, {"POST", "/v1/endpoints", `{` + url + `}`}, {"GET", "/v1/notice-secret", ""},
	} {
		if a := askNotices(t, none, c[0], c[1], c[2], 501); a.Code != "notices_unavailable" {
			t.Errorf("%v: %+v", c, a)
		}
	}
}

// TestNoticesAreVerifiedByNpm: the library of the specification for Node accepts what
// comes, with either secret after a rotation, and nothing that was changed.
//
// Promise: Notices are signed as Standard Webhooks says
// (docs/notices.md#what-your-receiver-gets).
func TestNoticesAreVerifiedByNpm(t *testing.T) {
	need.Registry(t)
	beside(t)
	packages, err := npm.Install(filepath.Join("testdata", "webhooks"), filepath.Join("..", ".cache", "webhooks"))
	if err != nil {
		t.Fatal(err)
	}
	_, e := noticeKit(t, true)
	h := openHook(t, nil)
	old := askNotices(t, e, "GET", "/v1/notice-secret", "", 200).Secret
	now := askNotices(t, e, "POST", "/v1/notice-secret/rotate", "{}", 200)
	if now.Previous != old || now.Secret == old {
		t.Fatalf("%+v", now)
	}
	askQueue(t, e, "POST", "/v1/", "good", fmt.Sprintf(`{"queue":true,"actions":[{"wait":1}],"notify":[{"url":"%s","include":"result"}]}`, h.URL), 202)
	g := h.next(t)
	headers := map[string]string{}
	for name := range g.headers {
		headers[strings.ToLower(name)] = g.headers.Get(name)
	}
	var in strings.Builder
	for _, c := range [][2]string{{old, g.raw}, {now.Secret, g.raw}, {now.Secret, strings.Replace(g.raw, "complete", "failed", 1)}} {
		b, err := json.Marshal(map[string]any{"secret": c[0], "body": c[1], "headers": headers})
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(b, '\n'))
	}
	cmd := exec.Command("node", filepath.Join("testdata", "webhooks", "verify.cjs"))
	cmd.Env, cmd.Stdin = append(os.Environ(), "NODE_PATH="+packages), strings.NewReader(in.String())
	out, err := cmd.CombinedOutput()
	if said := strings.Split(string(out), "\n"); err != nil || len(said) != 4 || said[0] != "ok" || said[1] != "ok" || !strings.Contains(said[2], "No matching signature") {
		t.Errorf("%s, %v", out, err)
	}
}
