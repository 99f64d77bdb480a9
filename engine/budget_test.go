package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// answerBytes is how much an outcome takes in an answer.
func answerBytes(t *testing.T, o *Outcome) int {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return len(b)
}

// TestTracesHaveABound: what is traced does not make the answer any larger than
// its share, and what is left out is counted and marked.
func TestTracesHaveABound(t *testing.T) {
	need.NoRace(t)
	t.Parallel()
	cache := NewCache()
	cache.Set("a", json.RawMessage(`"`+strings.Repeat("x", 5<<20)+`"`))
	o := play(t, newInstance(t), `{"timeout":60000,"config":{"trace":true},"actions":[{"loop":{"repeat":9,"do":[{"getSavedData":"a"}]}},{"evaluate":"return 'end'"}]}`, TaskEnv{Cache: cache})
	noFailure(`"end"`)(t, o)
	if n := answerBytes(t, o); n > MaxResult+maxReported {
		t.Errorf("the answer has %d bytes", n)
	}
	if len(o.Steps) != 11 || o.Truncated == nil || o.Truncated.Results != 7 || o.Truncated.Steps != 0 {
		t.Fatalf("%d steps, %+v left out", len(o.Steps), o.Truncated)
	}
	for i, s := range o.Steps[:9] {
		if kept := i < 2; (s.Result != nil) != kept || (s.ResultBytes == 5<<20+8) == kept {
			t.Errorf("step %d has a result of %d bytes, and tells of %d", i, len(s.Result), s.ResultBytes)
		}
	}
	if string(o.Steps[10].Result) != `"end"` {
		t.Errorf("a short result after long ones is %s", o.Steps[10].Result)
	}
}

// TestRepeatedFailures: an action that fails in each iteration is told in full
// once.
func TestRepeatedFailures(t *testing.T) {
	need.All(t)
	need.NoRace(t)
	t.Parallel()
	long := strings.Repeat("é", 400<<10)
	o := play(t, newInstance(t), `{"timeout":120000,"actions":[{"loop":{"repeat":40,"maxIterations":40,"do":[{"fill":["#none${nothing}","`+long+`"]}]}}]}`, TaskEnv{})
	if len(o.Failures) != 40 || o.Truncated != nil {
		t.Fatalf("%d failures, %+v left out", len(o.Failures), o.Truncated)
	}
	if n := answerBytes(t, o); n > 2<<20 {
		t.Errorf("the answer has %d bytes", n)
	}
	for i, f := range o.Failures {
		var a struct{ Fill []string }
		if err := json.Unmarshal(f.Action, &a); err != nil || len(a.Fill) != 2 || a.Fill[0] != "#none${nothing}" {
			t.Fatalf("failure %d has the action %.200s", i, f.Action)
		}
		if full := a.Fill[1] == long; full != (i == 0) || !full && (len(a.Fill[1]) > 200 || !strings.HasSuffix(a.Fill[1], "é…")) {
			t.Errorf("failure %d has %d bytes of the text", i, len(a.Fill[1]))
		}
		if f.Path != "0/loop/do/0" || f.Iteration == nil || *f.Iteration != i {
			t.Errorf("failure %d is of %s", i, f.Path)
		}
	}
}

// TestTheActionThatEndsTheListIsToldInFull: whatever failed before.
func TestTheActionThatEndsTheListIsToldInFull(t *testing.T) {
	t.Parallel()
	long := json.RawMessage(`{"click":"` + strings.Repeat("x", 5000) + `"}`)
	var p reports
	for i := range 3 {
		p.failed(Failure{Code: CodeInternal, Text: "no", Path: "0/loop/do/0", Action: long}, i == 2)
	}
	all := p.errors()
	if len(all[0].Action) != len(long) || len(all[1].Action) > 300 || len(all[2].Action) != len(long) {
		t.Errorf("the actions have %d, %d and %d bytes", len(all[0].Action), len(all[1].Action), len(all[2].Action))
	}
}

// TestReportsHaveABound: beyond their share, steps, errors and warnings are
// counted. Steps leave room for errors, and the last error is always there.
func TestReportsHaveABound(t *testing.T) {
	t.Parallel()
	var p reports
	const many = 20_000
	why, warning := strings.Repeat("s", 3000), strings.Repeat("w", 100_000)
	for range many {
		p.step(StepReport{Path: "0/loop/do/0", Action: "click", Error: why})
		p.warn(Warning{Path: "0", Message: warning})
	}
	for i := range many {
		p.failed(Failure{Code: CodeInternal, Text: fmt.Sprint(i, why), Path: "0/loop/do/0", Action: json.RawMessage(`{"click":"#a"}`)}, false)
	}
	failures := p.errors()
	o := &Outcome{Failures: failures, Steps: p.steps, Warnings: p.warnings, Truncated: p.truncated()}
	if n := answerBytes(t, o); n > maxReported+1<<20 {
		t.Errorf("the reports have %d bytes", n)
	}
	left := o.Truncated
	if left == nil || left.Steps != many-len(p.steps) || left.Errors != many-len(failures) || left.Warnings != many-len(p.warnings) {
		t.Fatalf("%d steps, %d errors, %d warnings, and %+v left out", len(p.steps), len(failures), len(p.warnings), left)
	}
	if len(p.steps) < 1000 || len(failures) < 100 || len(p.warnings) < 100 {
		t.Errorf("only %d steps, %d errors and %d warnings are told", len(p.steps), len(failures), len(p.warnings))
	}
	if last := failures[len(failures)-1].Text; !strings.HasPrefix(last, fmt.Sprint(many-1)) {
		t.Errorf("the last failure is %.20s", last)
	}
}

// TestManyElementsAreCutToo: an action is cut to its name where cutting its
// strings does not help.
func TestManyElementsAreCutToo(t *testing.T) {
	t.Parallel()
	got := abridge(json.RawMessage(`{"getSavedData":["` + strings.Repeat(`a","`, 10_000) + `b"],"options":{"save":"x"}}`))
	if string(got) != `{"getSavedData":"…"}` {
		t.Errorf("got %.300s", got)
	}
	for _, same := range []string{`{"click":"#a"}`, `{"fill":["#a","\"\\"]}`, strings.Repeat(`{"evaluate":"\"x\\"}`, 20), ``} {
		if got := cutStrings([]byte(same), 100); string(got) != same {
			t.Errorf("%s became %s", same, got)
		}
	}
}

// TestCapturedResponsesHaveABoundTogether: however many are waited for.
func TestCapturedResponsesHaveABoundTogether(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			return
		}
		fmt.Fprint(w, strings.Repeat("b", 9<<20))
	}))
	t.Cleanup(srv.Close)
	o := play(t, newInstance(t), fmt.Sprintf(`{"timeout":90000,"config":{"actionTimeout":40000},"actions":[{"open":"%s/"},{"waitForResponse":"/body"},{"waitForResponse":"body"},{"evaluate":"await (await fetch('/body')).text()"}]}`, srv.URL), TaskEnv{})
	failsWith(CodeInvalidValue)(t, o)
	if n := len(o.Data) + len(o.Last); n > MaxResult {
		t.Errorf("the result has %d bytes", n)
	}
	var data []*string
	if err := json.Unmarshal(o.Data, &data); err != nil || len(data) != 2 || data[0] == nil || data[1] != nil {
		t.Errorf("the result is %.100s, %v", o.Data, err)
	}
}

// TestCacheCountsWhatItHolds: small values count with what they take besides their
// bytes, replaced ones do not count any more, those of earlier tasks do.
func TestCacheCountsWhatItHolds(t *testing.T) {
	t.Parallel()
	c := NewCache()
	long := json.RawMessage(`"` + strings.Repeat("x", 30<<20) + `"`)
	for i := range 10 {
		if !c.Set("same", long) {
			t.Fatalf("a value cannot be replaced for the %dth time", i)
		}
	}
	if !c.Push("same", long) || c.Push("same", long) || c.Set("other", long) {
		t.Error("the cache does not hold two long values, or three")
	}
	again := NewCache()
	if err := again.UnmarshalJSON([]byte(`{"a":[1,2],"b":"x"}`)); err != nil {
		t.Fatal(err)
	}
	if again.size != len(`a[1,2]b"x"`)+2*valueSize {
		t.Errorf("a cache that was restored has a size of %d", again.size)
	}
	n := 0
	for c.Push("list", json.RawMessage("1")) {
		n++
	}
	if n == 0 || n > 4<<20/valueSize {
		t.Errorf("it holds %d small values beside them", n)
	}
	c.Clear()
	if !c.Set("other", long) {
		t.Error("a cache that was cleared is full")
	}
}
