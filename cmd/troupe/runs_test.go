package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// runsService answers about runs as a service does, and remembers what it was asked.
type runsService struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // method, path with query, and body
}

// answersOfRuns are by method, path and query; csv and X-Next-Cursor are of the table.
var answersOfRuns = map[string]string{
	"GET /v1/runs?limit=3&order=newest": `{"success":true,"next":"c1","runs":[{"runId":"task_1","state":"failed","code":"timeout","label":"lamps\u001b[31m","firstAddress":"http://shop.test/a",
		"page":{"url":"http://shop.test/b","title":"Lamps"},"askedAt":"2026-11-29T11:00:00Z"}]}`,
	"GET /v1/runs?cursor=c1&limit=2&order=newest": `{"success":true,"next":"c 2","runs":[],"unreadable":["task_9"]}`,
	"GET /v1/runs?cursor=c+2&limit=2&order=newest": `{"success":true,"next":"c 3","runs":[{"runId":"task_2","state":"complete","askedAt":"2026-11-29T10:00:00Z"},
		{"runId":"task_3","state":"complete","askedAt":"2026-11-29T09:00:00Z"}]}`,
	"GET /v1/runs?format=csv&limit=3&order=newest":            "runId,title\ntask_1,\"a,\nb\"\n\x00c1",
	"GET /v1/runs?cursor=c1&format=csv&limit=2&order=newest":  "runId,title\n\x00c 2",
	"GET /v1/runs?cursor=c+2&format=csv&limit=2&order=newest": "runId,title\ntask_2,c\n\x00",
	"GET /v1/runs/task_1": `{"success":true,"run":{"runId":"task_1","state":"failed","code":"timeout","error":"too late","actionPath":"1","label":"lamps","origin":"schedule",
		"schedule":{"scheduleId":"sched_1","plannedAt":"2026-11-29T11:00:00Z"},"firstAddress":"http://shop.test/a","page":{"url":"http://shop.test/b","title":"Lamps","status":404},
		"actions":4,"stepsEnded":2,"failed":1,"attempts":1,"startedAt":"2026-11-29T11:00:00Z","duration":1500,"workerName":"worker-1",
		"request":{"actions":[{"wait":1}]},"masked":["/actions/0/fill/1"],"evidence":{"screenshot":"http://here/files/f1"}}}`,
	"GET /v1/runs/task_q":        `{"success":true,"run":{"runId":"task_q","state":"complete","request":{"actions":[],"queue":true}}}`,
	"POST /v1/runs/task_1/again": `{"success":true,"taskId":"task_new","duration":3,"result":["again"]}`,
	"POST /v1/runs/task_q/again": `{"success":true,"taskId":"task_queued"}`,
	"POST /v1/runs/task_f/again": `{"success":false,"taskId":"task_new","duration":3,"error":"it failed","code":"timeout"}`,
	"GET /v1/usage?by=label&from=2026-11-01": `{"success":true,"by":"label","usage":[{"label":"lamps\u001b[31m","runs":3,"failed":1,"stepsEnded":7,"browserSeconds":2.25,"resultBytes":90,"attempts":4},
		{"label":"","runs":1},{"other":true,"runs":2}],"total":{"runs":6},"unreadable":["2026-11-02"]}`,
	"GET /v1/usage?by=day&format=csv&to=2026-11-30":    "day,other,runs\n2026-11-29,,3\n\x00",
	"DELETE /v1/runs/task_1":                           `{"success":true,"removed":1}`,
	"GET /v1/get-result?taskId=task_queued&wait=20000": `{"success":true,"taskId":"task_queued","duration":4,"result":["from the queue"]}`,
}

func newRunsService(t *testing.T) *runsService {
	t.Helper()
	home(t)
	t.Setenv(clientsToken, "troupe_one")
	s := &runsService{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) // the answer shows what is missing
		s.mu.Lock()
		s.asked = append(s.asked, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+string(b)))
		s.mu.Unlock()
		text, known := answersOfRuns[r.Method+" "+r.RequestURI]
		switch {
		case r.Method == http.MethodPost && strings.Contains(string(b), `"async":true`):
			text, known = `{"success":true,"taskId":"task_async"}`, true
		case strings.HasPrefix(r.RequestURI, "/v1/runs?") && !known:
			text, known = `{"success":true,"runs":[]}`, true
		}
		if !known {
			w.WriteHeader(http.StatusNotFound)
			text = `{"success":false,"error":"There is no run like that","code":"not_found"}`
		}
		text, next, _ := strings.Cut(text, "\x00")
		if next != "" {
			w.Header().Set("X-Next-Cursor", next)
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	t.Setenv(clientsURL, s.URL)
	return s
}

// requests are those since the last call.
func (s *runsService) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.asked
	s.asked = nil
	return all
}

// TestRunsList goes on over parts with few runs or none until it has enough, and says where more
// are.
func TestRunsList(t *testing.T) {
	s := newRunsService(t)
	code, out, errs := play(t, "", "runs", "list", "--limit", "3")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || errs != "" || len(lines) != 6 || !strings.HasPrefix(lines[0], "RUN ") || lines[4] != "The service's key does not open: task_9" || lines[5] != "More: --cursor 'c 3'" {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	for _, want := range []string{"task_1", "failed", "timeout", "lamps [31m", "http://shop.test/a", "Lamps", clockOf("2026-11-29T11:00:00Z")} {
		if !strings.Contains(lines[1], want) {
			t.Errorf("%q does not show %q", lines[1], want)
		}
	}
	var all runParts
	if code, out, _ := play(t, "", "runs", "list", "--limit", "3", "--json"); code != 0 || json.Unmarshal([]byte(out), &all) != nil || len(all.Runs) != 3 || all.Next != "c 3" || len(all.Unreadable) != 1 {
		t.Errorf("%d: %s", code, out)
	}
	if code, out, errs := play(t, "", "runs", "list", "--limit", "3", "--csv"); code != 0 || out != "runId,title\ntask_1,\"a,\nb\"\ntask_2,c\n" || errs != "" {
		t.Errorf("%d: %q %s", code, out, errs)
	}
	s.requests()
	saysOf(t, 0, `"runs": []`, "", "runs", "list", "--json", "--limit=2000", "--state=failed", "--code=timeout,no_worker", "--label=a b", "--metadata=customer=c=1", "--metadata", "vip=true", "--origin=batch",
		"--of=batch_1", "--address=shop.test", "--token-id=tok_1", "--from=2026-11-29", "--to=2026-11-30", "-q", "two words", "--order=oldest", "--cursor=c 9")
	asked := s.requests()
	if len(asked) != 1 {
		t.Fatalf("asked %q", asked)
	}
	got, err := url.Parse(strings.TrimPrefix(asked[0], "GET "))
	want := url.Values{"state": {"failed"}, "code": {"timeout,no_worker"}, "label": {"a b"}, "metadata.customer": {"c=1"}, "metadata.vip": {"true"}, "origin": {"batch"}, "of": {"batch_1"}, "address": {"shop.test"},
		"token": {"tok_1"}, "from": {"2026-11-29"}, "to": {"2026-11-30"}, "q": {"two words"}, "order": {"oldest"}, "cursor": {"c 9"}, "limit": {"1000"}}
	if err != nil || got.Path != "/v1/runs" || got.Query().Encode() != want.Encode() {
		t.Errorf("asked %q, %v", asked, err)
	}
	saysOf(t, exitUsage, "--limit is 0: want 1 or more", "", "runs", "list", "--limit=0")
	saysOf(t, exitUsage, "either --json or --csv", "", "runs", "list", "--json", "--csv")
	saysOf(t, exitUsage, "want KEY=VALUE", "", "runs", "list", "--metadata=vip")
	saysOf(t, exitUsage, `names "a" twice`, "", "runs", "list", "--metadata=a=1", "--metadata=a=2")
	saysOf(t, exitUsage, "--state", "", "runs", "list", "--state=ended")
	if asked := s.requests(); len(asked) > 0 {
		t.Errorf("asked %q", asked)
	}
}

// TestUsageOfRuns: the sums are a table, the answer itself, or CSV.
func TestUsageOfRuns(t *testing.T) {
	s := newRunsService(t)
	out := saysOf(t, 0, "LABEL", "", "usage", "--by=label", "--from=2026-11-01")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 6 || strings.Join(strings.Fields(lines[1]), " ") != "lamps [31m 3 1 7 2.2 90 4" || !strings.HasPrefix(lines[2], "- ") || !strings.HasPrefix(lines[3], "others ") ||
		!strings.HasPrefix(lines[4], "all ") || lines[5] != "The service's key does not open: 2026-11-02" {
		t.Errorf("the table is\n%s", out)
	}
	saysOf(t, 0, `"browserSeconds": 2.25`, "", "usage", "--by=label", "--from=2026-11-01", "--json")
	if code, out, errs := play(t, "", "usage", "--to=2026-11-30", "--csv"); code != 0 || out != "day,other,runs\n2026-11-29,,3\n" || errs != "" {
		t.Errorf("%d: %q %s", code, out, errs)
	}
	saysOf(t, exitFailed, "404 not_found", "", "usage", "--by=token")
	s.requests()
	saysOf(t, exitUsage, "either --json or --csv", "", "usage", "--json", "--csv")
	saysOf(t, exitUsage, "--by", "", "usage", "--by=hour")
	if asked := s.requests(); len(asked) > 0 {
		t.Errorf("asked %q", asked)
	}
}

// TestOneRun: a run is shown, repeated and deleted.
func TestOneRun(t *testing.T) {
	s := newRunsService(t)
	out := saysOf(t, 0, "task_1 is failed: 2 of 4 actions ended, 1 failed. It ran from "+clockOf("2026-11-29T11:00:00Z")+" for 1.5s on worker-1.", "", "runs", "show", "task_1")
	for _, want := range []string{"timeout: too late\n  /actions/1\n", "LABEL          lamps\n", "FROM           sched_1 for 2026-11-29T11:00:00Z\n", "FIRST ADDRESS  http://shop.test/a\n",
		"LAST PAGE      http://shop.test/b (404) Lamps\n", "is kept: see --json. Masked: /actions/0/fill/1\n", "screenshot: http://here/files/f1\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in %s", want, out)
		}
	}
	saysOf(t, 0, `"wait": 1`, "", "runs", "show", "task_1", "--json")
	saysOf(t, exitFailed, "There is no run like that (404 not_found)", "", "runs", "show", "task_8")
	saysOf(t, exitUsage, `"counts" is not the id of a run`, "", "runs", "delete", "counts")

	file := filepath.Join(t.TempDir(), "lamp.txt")
	if err := os.WriteFile(file, []byte("of a lamp"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args  []string
		stdin string
		code  int
		says  string
		asked []string
	}{
		"as it was":            {args: []string{"task_1"}, says: `"again"`, asked: []string{`POST /v1/runs/task_1/again {}`}},
		"one that fails":       {args: []string{"task_f"}, code: exitFailed, says: "it failed", asked: []string{`POST /v1/runs/task_f/again {}`}},
		"with changes":         {args: []string{"task_1", "-"}, stdin: `{"label":"b"}`, says: `"again"`, asked: []string{`POST /v1/runs/task_1/again {"label":"b"}`}},
		"detached":             {args: []string{"task_1", "--detach"}, says: "task_async\n", asked: []string{"GET /v1/runs/task_1", `POST /v1/runs/task_1/again {"async":true}`}},
		"queued":               {args: []string{"task_q"}, says: "from the queue", asked: []string{`POST /v1/runs/task_q/again {}`, "GET /v1/get-result?taskId=task_queued&wait=20000"}},
		"queued, detached":     {args: []string{"task_q", "--detach"}, says: "task_queued\n", asked: []string{"GET /v1/runs/task_q", `POST /v1/runs/task_q/again {}`}},
		"queued by the change": {args: []string{"task_q", "-", "--detach"}, stdin: `{"queue":{"priority":1}}`, says: "task_queued\n", asked: []string{`POST /v1/runs/task_q/again {"queue":{"priority":1}}`}},
		"no object":            {args: []string{"task_1", "-"}, stdin: `[]`, code: exitUsage, says: "not a JSON object"},
		"no file":              {args: []string{"task_1", "--file", file + "x"}, code: exitUsage, says: "read --file"},
	} {
		s.requests()
		saysOf(t, tc.code, tc.says, tc.stdin, append([]string{"runs", "again"}, tc.args...)...)
		if asked := s.requests(); !slices.Equal(asked, tc.asked) {
			t.Errorf("%s: asked %q, want %q", name, asked, tc.asked)
		}
	}
	saysOf(t, 0, `"again"`, "", "runs", "again", "task_1", "--file", file)
	if asked := strings.Join(s.requests(), ""); !strings.Contains(asked, "of a lamp") || !strings.Contains(asked, `filename="lamp.txt"`) || !strings.Contains(asked, "\r\n\r\n{}\r\n") {
		t.Errorf("asked %q", asked)
	}
	saysOf(t, 0, "The run task_1 is deleted.", "", "runs", "delete", "task_1")
	if asked := s.requests(); !slices.Equal(asked, []string{"DELETE /v1/runs/task_1"}) {
		t.Errorf("asked %q", asked)
	}
}
