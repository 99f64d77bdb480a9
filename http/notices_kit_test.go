package http_test

import (
	"encoding/json"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine"
	"troupe/engine/egress"
	"troupe/http"
	"troupe/testkit"
)

type noticeBody struct {
	Type      string
	Timestamp time.Time
	Data      struct {
		TaskID, BatchID, Status, Code, URL string
		Index                              *int
		Items, Complete, Failed, Attempts  int
		Result                             map[string]any
	}
}

type noticeAnswer struct {
	Success     bool
	Code, Error string
	Secret      string
	Previous    string
	Notice      oneNotice
	Notices     []oneNotice
	Next        string
	Endpoint    oneEndpoint
	Endpoints   []oneEndpoint
	Details     []struct{ Path, Message string }
}

type oneNotice struct {
	NoticeID, URL, Event, About, Status, NextAt string
	Attempts                                    int
	Tries                                       []struct {
		Status int
		Error  string
	}
}

type oneEndpoint struct {
	EndpointID, URL, Include, OffSince, Reason string
	Events                                     []string
}

// hook is a receiver.
type hook struct {
	*httptest.Server
	in chan gotNotice
}

type gotNotice struct {
	id, path string
	headers  nethttp.Header
	raw      string
	body     noticeBody
}

// openHook starts a receiver. Answer is called for each notice; nil: it is accepted.
func openHook(t *testing.T, answer func(nethttp.ResponseWriter, gotNotice)) *hook {
	h := &hook{in: make(chan gotNotice, 1000)}
	h.Server = httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		b, _ := io.ReadAll(r.Body)
		g := gotNotice{id: r.Header.Get("webhook-id"), path: r.URL.Path, headers: r.Header, raw: string(b)}
		if err := json.Unmarshal(b, &g.body); err != nil {
			t.Errorf("the notice %s: %v", b, err)
		}
		if answer != nil {
			answer(w, g)
		}
		h.in <- g
	}))
	t.Cleanup(h.Close)
	return h
}

// next is the next notice.
func (h *hook) next(t *testing.T) gotNotice {
	t.Helper()
	select {
	case g := <-h.in:
		return g
	case <-time.After(30 * time.Second):
		t.Fatal("no notice came")
		return gotNotice{}
	}
}

// noticeKit is a service that sends notices through the real way out.
func noticeKit(t *testing.T, allow bool) (*testkit.Kit, *edge) {
	out, err := egress.Start(egress.Config{AllowPrivate: allow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	eng := testkit.NewEngine()
	eng.Default = func(c testkit.Call) testkit.Script {
		switch c.Task.WorkerID {
		case "":
			return testkit.Script{Outcome: &engine.Outcome{End: engine.EndCompleted, Data: json.RawMessage(`{"n":7}`)}}
		case "w1":
			return testkit.Script{Takes: time.Hour}
		}
		return testkit.Script{Outcome: &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{Code: engine.CodeElementNotFound, Text: "no button", Index: 0, Path: "actions[0]"}}}}
	}
	k := testkit.New(t, testkit.Options{Workers: 3, Engine: eng, Config: func(c *actors.Config) {
		c.QueuedUploads = t.TempDir()
		c.Notices = actors.NoticesConfig{Client: out.Client(), Result: http.NoticeResult, Address: "https://troupe.example", Timeout: 5 * time.Second,
			Delays: []time.Duration{50 * time.Millisecond, 50 * time.Millisecond}}
	}})
	return k, openServer(t, k.Node, func(c *http.Config) { c.Live = k.Node })
}

func askNotices(t *testing.T, e *edge, method, path, body string, want int) (a noticeAnswer) {
	t.Helper()
	status, text := sendBody(t, e, method, path, "application/json", body)
	if err := json.Unmarshal([]byte(text), &a); err != nil || status != want {
		t.Fatalf("%s %s: %d %s, want %d", method, path, status, text, want)
	}
	return a
}

// untilNotice asks until a notice has a status.
func untilNotice(t *testing.T, e *edge, id, status string) oneNotice {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		n := askNotices(t, e, "GET", "/v1/notices/"+id, "", 200).Notice
		if n.Status == status {
			return n
		}
		if time.Now().After(end) {
			t.Fatalf("the notice stays %+v", n)
		}
	}
}
