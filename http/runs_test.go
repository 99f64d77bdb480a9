package http_test

import (
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/actors/runs"
	"troupe/engine"
	"troupe/http"
	"troupe/testkit"
)

// runBody is what tests read of a run.
type runBody struct {
	RunID, State, Code, Error, Label, Origin, Token, BatchID, Again, FirstAddress string
	Item                                                                          *int
	Metadata                                                                      json.RawMessage
	Page                                                                          struct {
		URL, Title string
		Status     int
	}
	StepsEnded, Attempts int
	Request              json.RawMessage
	Masked               []string
	ResultUntil          string
}

type runsAnswer struct {
	Success     bool
	Code, Error string
	Details     []struct{ Path, Message string }
	Runs        []runBody
	Run         runBody
	Next        string
	TaskID      string
	Removed     int
	Counts      []struct {
		Hour, State, Code string
		Runs              int
	}
}

func askRuns(t *testing.T, e *edge, method, path, body string, want int) (a runsAnswer) {
	t.Helper()
	status, text := call(t, e, method, path, "good", body)
	if err := json.Unmarshal([]byte(text), &a); err != nil || status != want {
		t.Fatalf("%s %s: %d %s, want %d", method, path, status, text, want)
	}
	return a
}

// runKit is a service with a history. A task whose first step is to open a page with "bad" in its
// address fails.
func runKit(t *testing.T, change ...func(*actors.Config)) (*testkit.Kit, *edge) {
	eng := testkit.NewEngine()
	eng.Default = func(c testkit.Call) testkit.Script {
		out := &engine.Outcome{End: engine.EndCompleted, Data: json.RawMessage(`"ok"`), Done: 2, First: "https://shop.example/", Page: &engine.Shown{URL: "https://shop.example/end", Title: "Lamps", Status: 200}}
		if strings.Contains(string(c.Task.Source()), "bad") {
			out.Failed, out.Failures = "element_not_found", []engine.Failure{{Code: "element_not_found", Text: "No element matches #buy", Path: "1"}}
		}
		return testkit.Script{Outcome: out}
	}
	k := testkit.New(t, testkit.Options{Workers: 2, Engine: eng, Config: func(c *actors.Config) {
		c.QueuedUploads, c.History = t.TempDir(), &runs.StandardBounds
		for _, f := range change {
			f(c)
		}
	}})
	return k, openServer(t, k.Node, func(c *http.Config) { c.Live, c.Runs = k.Node, k.Node.Runs() })
}

// TestRunsOverHTTP: each kind of task is a run when it has ended, once, with what was said of it.
func TestRunsOverHTTP(t *testing.T) {
	beside(t)
	_, e := runKit(t)
	const said = `"label":"nightly","metadata":{"customer":"c-17","n":2},`
	sync := askRuns(t, e, "POST", "/v1/", `{`+said+`"actions":[{"open":"https://shop.example/"},{"fill":["#password","open sesame"]}]}`, 200).TaskID
	async := askRuns(t, e, "POST", "/v1/", `{`+said+`"async":true,"actions":[{"open":"https://shop.example/bad"}]}`, 200).TaskID
	queued := askRuns(t, e, "POST", "/v1/", `{`+said+`"queue":true,"actions":[{"open":"https://shop.example/bad"}]}`, 202).TaskID
	b := askBatch(t, e, "POST", "/v1/batches", "application/json", `{"task":{"label":"items","actions":[{"open":"https://shop.example/${item.n}"}]},"items":[{"n":1},{"n":2},{"n":3}]}`, 202)
	ended(t, e, b.Batch.BatchID)
	var list runsAnswer
	eventually(t, "all runs are listed", func() bool {
		list = askRuns(t, e, "GET", "/v1/runs?limit=100", "", 200)
		return len(list.Runs) >= 6
	})
	by := map[string]runBody{}
	for _, r := range list.Runs {
		by[r.RunID] = r
	}
	if len(list.Runs) != 6 || len(by) != 6 || list.Next != "" {
		t.Fatalf("%d runs, %d of them different: %+v", len(list.Runs), len(by), list)
	}
	for id, want := range map[string]string{sync: "complete", async: "failed", queued: "failed"} {
		r := by[id]
		if r.State != want || r.Label != "nightly" || string(r.Metadata) != `{"customer":"c-17","n":2}` || r.Origin != "request" || !strings.HasPrefix(r.Token, "tok_") ||
			r.FirstAddress != "https://shop.example/" || r.Page.Title != "Lamps" || r.Page.Status != 200 || r.StepsEnded != 2 || r.Attempts != 1 {
			t.Errorf("%s: %+v", id, r)
		}
		if failed := want == "failed"; failed != (r.Code == "element_not_found") || failed != (r.Error == "No element matches #buy") || failed != (r.ResultUntil != "") {
			t.Errorf("%s: %+v", id, r)
		}
	}
	items := askRuns(t, e, "GET", "/v1/runs?of="+b.Batch.BatchID+"&origin=batch&label=items&order=oldest", "", 200)
	if len(items.Runs) != 3 || items.Runs[0].BatchID != b.Batch.BatchID || items.Runs[0].Item == nil {
		t.Errorf("of the batch: %+v", items)
	}
	whole := askRuns(t, e, "GET", "/v1/runs/"+sync, "", 200).Run
	if !slices.Equal(whole.Masked, []string{"/actions/1/fill/1"}) || strings.Contains(string(whole.Request), "sesame") || !strings.Contains(string(whole.Request), `"#password"`) {
		t.Errorf("the request: %s, masked %q", whole.Request, whole.Masked)
	}
	for _, id := range []string{async, queued} {
		if r := askRuns(t, e, "GET", "/v1/runs/"+id, "", 200).Run; !strings.Contains(string(r.Request), "https://shop.example/bad") {
			t.Errorf("%s: %s", id, r.Request)
		}
	}
	for query, want := range map[string]int{"state=failed": 2, "code=timeout,element_not_found": 2, "q=%23BUY+nightly": 2, "metadata.customer=c-17&metadata.n=2": 3, "metadata.customer=c-18": 0, "address=shop.example": 6,
		"token=" + whole.Token: 3, "to=2020-01-01": 0, "from=2020-01-01T00:00:00Z": 6} {
		if got := askRuns(t, e, "GET", "/v1/runs?limit=100&"+query, "", 200); len(got.Runs) != want {
			t.Errorf("%s: %d runs, want %d", query, len(got.Runs), want)
		}
	}
	counted := 0
	for _, c := range askRuns(t, e, "GET", "/v1/runs/counts?state=failed", "", 200).Counts {
		counted += c.Runs
	}
	if counted != 2 {
		t.Errorf("%d failed runs were counted", counted)
	}
	part := askRuns(t, e, "GET", "/v1/runs?limit=4", "", 200)
	rest := askRuns(t, e, "GET", "/v1/runs?limit=4&cursor="+part.Next, "", 200)
	if len(part.Runs) != 4 || len(rest.Runs) != 2 {
		t.Errorf("parts of %d and %d", len(part.Runs), len(rest.Runs))
	}
	if got := askRuns(t, e, "DELETE", "/v1/runs/"+async, "", 200); got.Removed != 1 {
		t.Errorf("removed: %+v", got)
	}
	askRuns(t, e, "GET", "/v1/runs/"+async, "", 404)
	if got := askRuns(t, e, "DELETE", "/v1/runs?label=items", "", 200); got.Removed != 3 {
		t.Errorf("removed: %+v", got)
	}
	askRuns(t, e, "DELETE", "/v1/runs", "", 400)
	if got := askRuns(t, e, "DELETE", "/v1/runs?all=true", "", 200); got.Removed != 2 {
		t.Errorf("removed: %+v", got)
	}
}

// TestFormsOfRuns: lines and tables have the same runs, and a text of a page is no formula.
func TestFormsOfRuns(t *testing.T) {
	beside(t)
	k, e := runKit(t)
	for i := range 3 {
		askRuns(t, e, "POST", "/v1/", fmt.Sprintf(`{"label":"=1+%d","actions":[{"open":"https://shop.example/"}]}`, i), 200)
	}
	if err := k.Node.Runs().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, accept, kind, want string }{
		{"/v1/runs?format=csv&limit=2", "", "text/csv", ",'=1+"},
		{"/v1/runs?limit=2", "text/csv, */*;q=0.1", "text/csv", ",'=1+"},
		{"/v1/runs?limit=2&format=ndjson", "text/csv", "application/x-ndjson", `"label":"=1+`},
		{"/v1/runs?limit=2", "application/x-ndjson", "application/x-ndjson", `"label":"=1+`},
		{"/v1/runs?limit=2", "", "application/json", `"next":"`},
	} {
		r, err := nethttp.NewRequest("GET", "http://"+e.addr+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer good")
		r.Header.Set("Accept", c.accept)
		resp, err := alone.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		b := new(strings.Builder)
		_, err = io.Copy(b, resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		next := resp.Header.Get("X-Next-Cursor")
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), c.kind) || !strings.Contains(b.String(), c.want) || (next != "") != (c.kind != "application/json") {
			t.Errorf("%s %s: %s %q\n%s", c.path, c.accept, resp.Header.Get("Content-Type"), next, b.String())
		}
		if lines := strings.Count(b.String(), "\n"); c.kind == "text/csv" && lines != 3 || c.kind == "application/x-ndjson" && lines != 2 {
			t.Errorf("%s: %d lines", c.path, lines)
		}
	}
}

// TestWrongQueriesOfRuns: each fault is named, and a service without a history says so.
func TestWrongQueriesOfRuns(t *testing.T) {
	beside(t)
	_, e := runKit(t)
	for query, want := range map[string]string{
		"state=done": "/state", "origin=web": "/origin", "order=up": "/order", "format=xml": "/format", "from=yesterday": "/from", "from=2026-01-02&to=2026-01-01": "/to", "limit=1001": "/limit",
		"token=troupe_x": "/token", "labels=x": "/labels", "label=a&label=b": "/label", "metadata.a%20b=1": "/metadata.a b", "q=a+b+c+d+e+f+g+h+i+j+k": "/q", "cursor=x": "/cursor", "label=" + strings.Repeat("x", 3000): "/label",
	} {
		a := askRuns(t, e, "GET", "/v1/runs?"+query, "", 400)
		if len(a.Details) == 0 || a.Details[0].Path != want || a.Details[0].Message == "" {
			t.Errorf("%s: %+v", query, a)
		}
	}
	askRuns(t, e, "GET", "/v1/runs/task_0123456789abcdef_1795000000", "", 404)
	k := testkit.New(t, testkit.Options{Workers: 1})
	off := openServer(t, k.Node)
	if a := askRuns(t, off, "GET", "/v1/runs", "", 404); !strings.Contains(a.Error, "--history off") {
		t.Errorf("%+v", a)
	}
}

// TestRunAgain: a run is repeated as it was or with other fields, and what is not kept is named.
func TestRunAgain(t *testing.T) {
	beside(t)
	k, e := runKit(t)
	run := func(body string, status int) string {
		t.Helper()
		id := askRuns(t, e, "POST", "/v1/", body, status).TaskID
		eventually(t, "the run is there", func() bool {
			_ = k.Node.Runs().Flush(t.Context())
			status, _ := call(t, e, "GET", "/v1/runs/"+id, "good", "")
			return status == 200
		})
		return id
	}
	get := func(id string) (r runBody) {
		t.Helper()
		eventually(t, "the run is there", func() bool {
			_ = k.Node.Runs().Flush(t.Context())
			status, text := call(t, e, "GET", "/v1/runs/"+id, "good", "")
			var a runsAnswer
			_ = json.Unmarshal([]byte(text), &a)
			r = a.Run
			return status == 200
		})
		return r
	}
	first := ""
	plain := run(`{"label":"a","actions":[{"open":"https://shop.example/bad"}]}`, 200)
	as := get(askRuns(t, e, "POST", "/v1/runs/"+plain+"/again", `{}`, 200).TaskID)
	if as.Again != plain || as.Label != "a" || as.State != "failed" {
		t.Errorf("as it was: %+v", as)
	}
	for range 2 { // it is a request for a task, and so is its key
		var a runsAnswer
		if status, text := sendBody(t, e, "POST", "/v1/runs/"+plain+"/again", "application/json", `{}`, "Idempotency-Key", "k1"); status != 200 {
			t.Errorf("with a key: %d %s", status, text)
		} else if json.Unmarshal([]byte(text), &a) != nil || a.TaskID == "" || first != "" && a.TaskID != first {
			t.Errorf("with a key: %s, and before %s", text, first)
		} else {
			first = a.TaskID
		}
	}
	other := get(askRuns(t, e, "POST", "/v1/runs/"+plain+"/again", `{"label":"b","actions":[{"open":"https://shop.example/"}]}`, 200).TaskID)
	if other.Label != "b" || other.State != "complete" || other.Again != plain {
		t.Errorf("with other fields: %+v", other)
	}
	keyed := run(`{"queue":{"key":"once","priority":7},"actions":[{"open":"https://shop.example/"}]}`, 202)
	if id := askRuns(t, e, "POST", "/v1/runs/"+keyed+"/again", `{}`, 202).TaskID; id == keyed || id == "" {
		t.Errorf("the key of the first request led to %q", id)
	}
	masked := run(`{"actions":[{"open":"https://shop.example/"},{"fill":["#password","open sesame"]}]}`, 200)
	if a := askRuns(t, e, "POST", "/v1/runs/"+masked+"/again", `{}`, 400); len(a.Details) != 1 || a.Details[0].Path != "/actions/1/fill/1" {
		t.Errorf("masked: %+v", a)
	}
	if a := askRuns(t, e, "POST", "/v1/runs/"+masked+"/again", `{"with":{"/actions/7":1}}`, 400); len(a.Details) != 1 || !strings.Contains(a.Details[0].Message, "/actions/7") {
		t.Errorf("a path that is none: %+v", a)
	}
	brought := get(askRuns(t, e, "POST", "/v1/runs/"+masked+"/again", `{"with":{"/actions/1/fill/1":"open sesame"}}`, 200).TaskID)
	if brought.State != "complete" || !strings.Contains(string(brought.Request), `"#password"`) {
		t.Errorf("brought: %+v", brought)
	}
	large := run(`{"actions":[{"open":"https://shop.example/"},{"fill":["#q","`+strings.Repeat("x", 20<<10)+`"]}]}`, 200)
	if a := askRuns(t, e, "POST", "/v1/runs/"+large+"/again", `{}`, 400); len(a.Details) != 1 || a.Details[0].Path != "/actions" {
		t.Errorf("large: %+v", a)
	}
	askRuns(t, e, "POST", "/v1/runs/none/again", `{}`, 404)
	b := askBatch(t, e, "POST", "/v1/batches", "application/json", `{"task":{"label":"items","actions":[{"open":"https://shop.example/${item.n}"}]},"items":[{"n":1}]}`, 202)
	ended(t, e, b.Batch.BatchID)
	item := askRuns(t, e, "GET", "/v1/runs?label=items", "", 200).Runs[0].RunID
	if a := askRuns(t, e, "POST", "/v1/runs/"+item+"/again", `{}`, 400); len(a.Details) != 1 || a.Details[0].Path != "/actions" {
		t.Errorf("an item: %+v", a)
	}
}

// TestRunsEndWithTheirAccount: nothing of the history stays, whatever was still to be written.
func TestRunsEndWithTheirAccount(t *testing.T) {
	beside(t)
	k, e := runKit(t)
	id := askRuns(t, e, "POST", "/v1/", `{"actions":[{"open":"https://shop.example/"}]}`, 200).TaskID
	testkit.Ask(k, &api.RemoveAccount{Account: "acc1"})
	if r, err := k.Node.Runs().Get(t.Context(), "acc1", id); err == nil {
		t.Errorf("%+v is still there", r)
	}
}

// TestUsageOverTime: days, labels and tokens add up to the same, with and without the runs
// themselves, in both forms. What has no row of its own is one row.
func TestUsageOverTime(t *testing.T) {
	beside(t)
	k, e := runKit(t)
	for _, body := range []string{
		`{"label":"=1+1","actions":[{"open":"https://shop.example/"}]}`, `{"label":"=1+1","actions":[{"open":"https://shop.example/bad"}]}`,
		`{"actions":[{"open":"https://shop.example/"}]}`, `{"label":"async","async":true,"actions":[{"open":"https://shop.example/"}]}`,
	} {
		askRuns(t, e, "POST", "/v1/", body, 200)
	}
	queued := askRuns(t, e, "POST", "/v1/", `{"label":"queued","queue":true,"actions":[{"open":"https://shop.example/bad"}]}`, 202).TaskID
	eventually(t, "all have ended", func() bool {
		return len(askRuns(t, e, "GET", "/v1/runs?limit=100", "", 200).Runs) == 5
	})
	askRuns(t, e, "DELETE", "/v1/runs/"+queued, "", 200)
	askRuns(t, e, "DELETE", "/v1/runs?label=async", "", 200)
	get := func(query string) string {
		t.Helper()
		status, text := call(t, e, "GET", "/v1/usage?"+query, "good", "")
		if status != 200 {
			t.Fatalf("%s: %d %s", query, status, text)
		}
		return text
	}
	day := time.Now().UTC()
	today, tomorrow := day.Format("2006-01-02"), day.AddDate(0, 0, 1).Format("2006-01-02")
	const total = `"runs":5,"failed":2,"stepsEnded":10,"browserSeconds":`
	for query, want := range map[string][]string{
		"by=day":                          {`"by":"day","usage":[{"day":"` + today + `",` + total, `"total":{` + total, `"to":"` + tomorrow + `"`},
		"from=" + today:                   {`"from":"` + today + `"`, `"total":{` + total},
		"to=" + today:                     {`"usage":[],"total":{"runs":0`},
		"by=label":                        {`{"label":"=1+1","runs":2,"failed":1,`, `{"label":"","runs":1,"failed":0,`, `{"label":"async","runs":1,"failed":0,`, `{"label":"queued","runs":1,"failed":1,`, `"total":{` + total},
		"by=label&limit=1":                {`[{"label":"=1+1","runs":2,`, `{"other":true,"runs":3,"failed":1,`, `"total":{` + total},
		"by=token":                        {`"usage":[{"token":"tok_`, `"attempts":5}],"total":{` + total},
		"by=label&limit=1&format=csv":     {"label,other,runs,failed,stepsEnded,browserSeconds,resultBytes,attempts\n'=1+1,,2,1,4,", "\n,true,3,1,6,"},
		"by=day&format=csv&from=" + today: {"day,other,", "\n" + today + ",,5,2,10,"},
	} {
		for _, part := range want {
			if got := get(query); !strings.Contains(got, part) {
				t.Errorf("%s: %s\nlacks %s", query, got, part)
			}
		}
	}
	for query, path := range map[string]string{"by=hour": "/by", "from=yesterday": "/from", "to=2026-01-01T00:00:00Z": "/to", "from=2026-01-02&to=2026-01-02": "/to", "from=9999-01-01": "/from", "limit=0": "/limit",
		"format=ndjson": "/format", "by=day&label=x": "/label", "by=day&by=label": "/by"} {
		a := askRuns(t, e, "GET", "/v1/usage?"+query, "", 400)
		if len(a.Details) != 1 || a.Details[0].Path != path || a.Details[0].Message == "" {
			t.Errorf("%s: %+v", query, a)
		}
	}
	testkit.Ask(k, &api.RemoveAccount{Account: "acc1"})
	if got := get("by=day"); !strings.Contains(got, `"usage":[],"total":{"runs":0`) {
		t.Errorf("after its account was removed: %s", got)
	}
	off := openServer(t, testkit.New(t, testkit.Options{Workers: 1}).Node)
	if a := askRuns(t, off, "GET", "/v1/usage?by=day", "", 404); !strings.Contains(a.Error, "--history off") {
		t.Errorf("%+v", a)
	}
}
