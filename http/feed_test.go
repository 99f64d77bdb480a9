package http_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"troupe/engine"
	"troupe/http"
	"troupe/testkit"
)

// news is one event of a feed.
type news struct{ name, data string }

// feed reads an account's news.
type feed struct {
	t  *testing.T
	c  net.Conn
	in *bufio.Scanner
}

// follow connects to the news, by a token or by an address with a ticket.
func (h *liveServer) follow(target string, headers ...string) *feed {
	h.t.Helper()
	req, err := nethttp.NewRequest("GET", "http://"+h.addr+target, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, line := range headers {
		k, v, _ := strings.Cut(line, ": ")
		req.Header.Set(k, v)
	}
	f := &feed{t: h.t}
	tr := &nethttp.Transport{DialContext: func(_ context.Context, network, addr string) (net.Conn, error) {
		c, err := net.Dial(network, addr)
		f.c = c
		return c, err
	}}
	r, err := tr.RoundTrip(req)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { r.Body.Close(); tr.CloseIdleConnections() })
	documented(h.t, "GET", target, r.StatusCode, r.Header.Get("Content-Type"), nil)
	if r.StatusCode != 200 || r.Header.Get("Cache-Control") != "no-store" {
		h.t.Fatalf("the news answer %d %v", r.StatusCode, r.Header)
	}
	_ = f.c.SetReadDeadline(time.Now().Add(hang))
	f.in = bufio.NewScanner(r.Body)
	f.in.Buffer(nil, 1<<20)
	return f
}

// next waits for the next event; its name is empty when there are no more.
func (f *feed) next() (n news) {
	for f.in.Scan() {
		line := f.in.Text()
		switch {
		case strings.HasPrefix(line, "event: "):
			n.name = line[7:]
		case strings.HasPrefix(line, "data: "):
			n.data = line[6:]
		case line == "" && n.name != "":
			return n
		}
	}
	return news{}
}

// until waits for an event of a name.
func (f *feed) until(name string, v any) {
	f.t.Helper()
	for {
		switch n := f.next(); n.name {
		case name:
			if err := json.Unmarshal([]byte(n.data), v); err != nil {
				f.t.Fatalf("%s: %v", n.data, err)
			}
			return
		case "":
			f.t.Fatalf("the news have ended without %s: %v", name, f.in.Err())
		}
	}
}

type feedTask struct {
	TaskID, Status, Account, WorkerID, State, Error, Code string
	Trace                                                 string
	StepsEnded, Failed, Actions                           int
	Duration                                              *int
	Steps                                                 []engine.StepReport
	Step                                                  engine.StepReport
	Pictures                                              []string
	Errors                                                []struct{ Error, ActionPath string }
	Workers                                               []feedTask
	Tasks                                                 []feedTask
}

// TestFeed: an account hears of its tasks from their beginning to their end, and
// of its workers; another one of neither, and an operator's of the tasks' heads.
func TestFeed(t *testing.T) {
	t.Parallel()
	h := openLiveServer(t)
	ticket := h.ticket("good", "account")
	own, byTicket, other, boss := h.follow("/v1/events", bearerGood), h.follow("/v1/events?ticket="+ticket.Ticket), h.follow("/v1/events", "Authorization: Bearer small"), h.follow("/v1/events", "Authorization: Bearer boss")
	var n feedTask
	for _, f := range []*feed{own, byTicket, other, boss} {
		if f.until("snapshot", &n); len(n.Workers) != 1 || n.Workers[0].WorkerID != "w1" || n.Workers[0].State != "online" || len(n.Tasks) != 0 {
			t.Errorf("it begins with %+v", n)
		}
	}
	stopped := &engine.Outcome{End: engine.EndStopped, Trace: "http://files/trace.html", Duration: time.Second, Failures: []engine.Failure{{Code: engine.CodeElementNotFound, Text: `Element "#a" not found`, Path: "1"}}}
	first := h.kit.Start(acc1, testkit.Task(), testkit.Script{Steps: 2, Takes: 20 * time.Millisecond, Outcome: stopped})
	first.Answer()
	for _, f := range []*feed{own, byTicket} {
		busy, began, steps := false, false, 0 // the worker's and the task's news come from two sides
		for n = (feedTask{}); n.Duration == nil; {
			e := f.next()
			n = feedTask{}
			if json.Unmarshal([]byte(e.data), &n) != nil {
				t.Fatalf("there comes %+v", e)
			}
			switch e.name {
			case "worker":
				busy = busy || n.State == "busy" && n.TaskID == first.ID
			case "task":
				if began = true; n.TaskID != first.ID || n.Status != "running" || n.Actions != 1 || n.Account != "" {
					t.Errorf("it begins as %+v", n)
				}
			case "step":
				if n.TaskID != first.ID || n.Step.Path != fmt.Sprint(steps) || n.Step.Action != "scripted" {
					t.Errorf("a step is %+v", n)
				}
				steps++
			}
		}
		if !busy || !began || steps != 2 {
			t.Errorf("it heard of the worker: %v, of the beginning: %v, of %d steps", busy, began, steps)
		}
		if n.Status != "failed" || n.Code != "element_not_found" || n.Error != `Element "#a" not found` || n.StepsEnded != 2 || n.Steps != nil || n.Trace != stopped.Trace {
			t.Errorf("it ends as %+v", n)
		}
	}
	second := h.kit.Start(acc2, testkit.Task(testkit.Waiting(time.Minute)), testkit.Script{Steps: 1})
	second.Answer()
	for {
		n := other.next()
		if strings.Contains(n.data, first.ID) || n.name == "step" && !strings.Contains(n.data, second.ID) {
			t.Errorf("another account hears of %+v", n)
		}
		if n.name == "end" {
			break
		}
	}
	n = feedTask{}
	if boss.until("task", &n); n.TaskID != first.ID || n.Account != "acc1" {
		t.Errorf("the operator hears of %+v", n)
	}
	for ends := 0; ends < 2; {
		n := boss.next()
		if n.name == "step" || strings.Contains(n.data, "not found") || strings.Contains(n.data, `"errors"`) || strings.Contains(n.data, "trace.html") || n.name == "" {
			t.Fatalf("the operator hears of %+v", n)
		}
		if n.name == "end" {
			ends++
		}
	}

	// Who comes later has it all at once, and nobody who may not hear of it.
	again := h.follow("/v1/events", bearerGood, "Last-Event-ID: 3")
	n = feedTask{}
	if again.until("snapshot", &n); len(n.Tasks) != 1 || n.Tasks[0].TaskID != first.ID || len(n.Tasks[0].Steps) != 2 {
		t.Errorf("it begins again with %+v", n)
	}
	for target, want := range map[string]int{
		"/v1/events": 401, "/v1/events?token=good": 401, "/v1/events?ticket=good": 401,
		"/v1/events?ticket=" + h.ticket("good", first.ID).Ticket: 401,
	} {
		if status := h.get("GET", target, "", "", nil); status != want {
			t.Errorf("%s: %d", target, status)
		}
	}
	h.get("DELETE", "/v1/tickets/"+ticket.ID, "good", "", nil)
	for n := byTicket.next(); n.name != ""; n = byTicket.next() {
	}
	eventually(t, "a feed ends when its ticket is revoked", func() bool { return h.Streams().Stats().Feeds == 4 })
}

// TestFeedCutsOffSlowReaders: who does not read what there is has to begin again,
// and holds nothing up.
func TestFeedCutsOffSlowReaders(t *testing.T) {
	t.Parallel()
	h := openLiveServer(t, func(c *http.Config) { c.WriteTimeout = 300 * time.Millisecond })
	slow, quick := h.follow("/v1/events", bearerGood), h.follow("/v1/events", bearerGood)
	if n := h.Streams().Stats().Feeds; n != 2 {
		t.Fatalf("%d read", n)
	}
	_ = slow.c.(*net.TCPConn).SetReadBuffer(4 << 10)
	ended := make(chan int)
	go func() {
		n := 0
		for e := quick.next(); e.name != "end" && e.name != ""; e = quick.next() {
			if e.name == "step" {
				n++
			}
		}
		ended <- n
	}()
	text := strings.Repeat("x", 900)
	r := h.kit.Start(acc1, testkit.Task(), testkit.Script{Do: scriptedSteps(20000, text)})
	began := time.Now()
	r.Answer()
	if took := time.Since(began); took > hang {
		t.Errorf("the task took %v", took)
	}
	eventually(t, "the slow reader is cut off", func() bool { return h.Streams().Stats().Feeds < 2 })
	<-ended
}

// TestFeedsHaveALimit: one more than an account may have is refused, and a place
// is free again when one has gone.
func TestFeedsHaveALimit(t *testing.T) {
	t.Parallel()
	h := openLiveServer(t)
	var all []*feed
	for range 20 {
		all = append(all, h.follow("/v1/events", bearerGood))
	}
	if status := h.get("GET", "/v1/events", "good", "", nil); status != 429 {
		t.Errorf("one more: %d", status)
	}
	h.follow("/v1/events", "Authorization: Bearer small")
	all[0].c.Close()
	eventually(t, "a place is free", func() bool { return h.Streams().Stats().Feeds == 20 })
	h.follow("/v1/events", bearerGood)
}

// scriptedSteps plays so many steps at once, with an error or a result.
func scriptedSteps(n int, text string, result ...string) func(context.Context, testkit.Call) *engine.Outcome {
	return func(_ context.Context, c testkit.Call) *engine.Outcome {
		for i := range n {
			s := engine.StepReport{Path: fmt.Sprint(i), Action: "screenshot", Success: text == "", Error: text}
			if result != nil {
				s.Result = json.RawMessage(result[0])
			}
			c.Env.Measure(s)
		}
		return &engine.Outcome{End: engine.EndCompleted}
	}
}

// TestRecentTasks: the last ones with what their steps gave, within bounds, to
// whose they are.
func TestRecentTasks(t *testing.T) {
	t.Parallel()
	h := openLiveServer(t)
	result := `{"success":true,"url":"http://files/a.png"}`
	last := ""
	for i := range 103 {
		s := testkit.Script{}
		if i == 102 {
			s.Do = scriptedSteps(250, "")
		}
		last = h.kit.Do(acc1, testkit.Task(testkit.Waiting(time.Minute)), s).TaskID
	}
	h.kit.Do(acc2, testkit.Task(testkit.Waiting(time.Minute)), testkit.Script{Do: scriptedSteps(1, "", result)})
	type list struct{ Tasks []feedTask }
	lists := func(token, query string) (l list) {
		t.Helper()
		if status := h.get("GET", "/v1/tasks"+query, token, "", &l); status != 200 {
			t.Fatalf("%s: %d", query, status)
		}
		return l
	}
	if l := lists("good", ""); len(l.Tasks) != 20 || l.Tasks[0].TaskID != last || l.Tasks[0].StepsEnded != 250 || len(l.Tasks[0].Steps) != 200 || l.Tasks[0].Status != "complete" {
		t.Errorf("%d: %+v", len(l.Tasks), l.Tasks[0].TaskID)
	}
	if l := lists("good", "?limit=100"); len(l.Tasks) != 100 {
		t.Errorf("%d tasks are remembered", len(l.Tasks))
	}
	if l := lists("small", "?limit=1"); len(l.Tasks) != 1 || len(l.Tasks[0].Pictures) != 1 || l.Tasks[0].Pictures[0] != "http://files/a.png" {
		t.Errorf("another account's: %+v", l)
	}
	if l := lists("boss", "?limit=2"); len(l.Tasks) != 2 || l.Tasks[0].Account != "acc2" || l.Tasks[0].Steps != nil || l.Tasks[0].Pictures != nil || l.Tasks[1].TaskID != last || l.Tasks[1].Account != "acc1" {
		t.Errorf("the operator's: %+v", l)
	}
	for _, q := range []string{"0", "101", "-1", "ten", ""} {
		if status := h.get("GET", "/v1/tasks?limit="+q, "good", "", nil); status != 400 {
			t.Errorf("limit=%s: %d", q, status)
		}
	}
	for token, want := range map[string]int{"good": 200, "boss": 200, "small": 404, "wrong": 401, "": 401} {
		if status := h.get("GET", "/v1/tasks/"+last, token, "", nil); status != want {
			t.Errorf("one task, to %q: %d", token, status)
		}
	}
}
