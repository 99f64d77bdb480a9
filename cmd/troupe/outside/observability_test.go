package outside_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"troupe/testkit/wait"
)

// metricsAddress is where the service says in its log that its numbers are. What it
// says there may come after its greeting: that goes another way.
func (c *child) metricsAddress(t *testing.T) (at string) {
	t.Helper()
	said := regexp.MustCompile(`"address":"([^"]+)"`)
	wait.Until(t, "the log says where the numbers are", func() bool {
		m := said.FindStringSubmatch(c.errs.String())
		if m != nil {
			at = m[1]
		}
		return m != nil
	})
	return at
}

// fetch returns an answer with its status.
func fetch(t *testing.T, url, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := alone.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestOperatorsSeeWhatHappens: metrics on their own listener and nowhere else,
// the capacity, and one line of the log for each task.
func TestOperatorsSeeWhatHappens(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c, base := serve(t, filepath.Join(dir, "data"), "--workers=1", "--metrics-listen=127.0.0.1:0", "--log-format=json")
	token, at := tokenLine.FindStringSubmatch(c.out.String()), c.metricsAddress(t)
	if token == nil {
		t.Fatal("no token")
	}
	if status, body, err := post(base, token[1], `{"actions":[{"open":"http://demo.troupe.test/"},{"click":"#nothing","options":{"timeout":1}},{"getText":"h1"}]}`); err != nil || status != 200 {
		t.Fatal(status, body, err)
	}
	if status, _, err := post(base, "troupe_wrong", `{}`); err != nil || status != 401 {
		t.Error(status, err)
	}
	if status, _, err := post(base, token[1], `{}`); err != nil || status != 400 {
		t.Error(status, err)
	}

	status, page := fetch(t, "http://"+at+"/metrics", "")
	for _, want := range []string{
		`troupe_tasks_total{plan="pro",status="failed"} 1`, `troupe_queue_wait_seconds_count 1`,
		`troupe_action_duration_seconds_count{type="open"} 1`, `troupe_action_errors_total{code="element_not_found",type="click"} 1`,
		`troupe_rejected_total{reason="unauthorized"} 1`, `troupe_rejected_total{reason="invalid_request"} 1`,
		`troupe_workers{state="offline"} 0`, `troupe_ready 1`,
	} {
		if status != 200 || !strings.Contains(page, "\n"+want+"\n") {
			t.Errorf("%d without %s:\n%s", status, want, page)
		}
	}
	if !regexp.MustCompile(`(?m)^troupe_chrome_processes [1-9]`).MatchString(page) {
		if _, err := os.Stat("/proc/self/stat"); err == nil {
			t.Errorf("no processes of the browser:\n%s", page)
		}
	}
	if strings.Contains(page, token[1]) || strings.Contains(page, "demo.troupe.test") {
		t.Error("the metrics name a token or an address")
	}
	if status, _ := fetch(t, base+"/metrics", token[1]); status != 404 {
		t.Errorf("clients get the metrics, too: %d", status)
	}
	if status, body := fetch(t, "http://"+at+"/debug/pprof/", ""); status != 404 {
		t.Errorf("there is more on the metrics' listener: %d %s", status, body)
	}
	if status, body := fetch(t, base+"/v1/capacity", token[1]); status != 200 || !strings.Contains(body, `"workers":1`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := fetch(t, base+"/v1/capacity?format=text", ""); status != 200 && status != 503 {
		t.Errorf("%d %s", status, body)
	}

	var lines []map[string]any
	wait.Until(t, "the log has a line for each task", func() bool {
		lines = nil
		for line := range strings.Lines(c.errs.String()) {
			var v map[string]any
			if json.Unmarshal([]byte(line), &v) == nil && v["message"] == "task" {
				lines = append(lines, v)
			}
		}
		return len(lines) >= 2
	})
	if len(lines) != 2 {
		t.Fatalf("%d lines about tasks: %v", len(lines), lines)
	}
	for i, want := range []map[string]any{
		{"status": 200.0, "code": "", "failed": 1.0, "plan": "pro", "async": false},
		{"status": 400.0, "code": "invalid_request", "failed": 0.0, "plan": "pro", "async": false, "worker": ""},
	} {
		for k, v := range want {
			if lines[i][k] != v {
				t.Errorf("line %d has %s %v, want %v", i, k, lines[i][k], v)
			}
		}
		if lines[i]["task"] == "" || lines[i]["request"] == "" || lines[i]["account"] == "" || lines[i]["took"] == nil {
			t.Errorf("line %d: %v", i, lines[i])
		}
	}
	if lines[0]["worker"] == "" {
		t.Errorf("%v", lines[0])
	}
}

// collector takes spans as OTLP over HTTP.
type collector struct {
	mu    sync.Mutex
	spans []*tracepb.Span
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	var m coltracepb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(b, &m)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Method != http.MethodPost {
		http.Error(w, "no spans", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range m.ResourceSpans {
		for _, in := range of.ScopeSpans {
			c.spans = append(c.spans, in.Spans...)
		}
	}
}

// TestTracesReachACollector: the spans of a task that has just ended, too, when
// the service is stopped.
func TestTracesReachACollector(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var to collector
	srv := httptest.NewServer(&to)
	defer srv.Close()
	c, base := serve(t, filepath.Join(dir, "data"), "--workers=1", "--traces="+srv.URL+"/")
	token := tokenLine.FindStringSubmatch(c.out.String())
	if token == nil {
		t.Fatal("no token")
	}
	if status, body, err := post(base, token[1], `{"actions":[{"open":"http://demo.troupe.test/"},{"getText":"h1"}]}`); err != nil || status != 200 {
		t.Fatal(status, body, err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.end(t, hang); err != nil {
		t.Error(err)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	found := map[string]*tracepb.Span{}
	for _, s := range to.spans {
		found[s.Name] = s
	}
	above := ""
	for _, name := range []string{"request", "worker.claim", "action open"} { // each in the one before
		s := found[name]
		if s == nil || string(s.ParentSpanId) != above || !bytes.Equal(s.TraceId, to.spans[0].TraceId) {
			t.Fatalf("%s is %v, of %v", name, s, to.spans)
		}
		above = string(s.SpanId)
	}
	if found["queue.wait"] == nil || found["action getText"] == nil || len(to.spans) != 5 {
		t.Errorf("%v", to.spans)
	}
}
