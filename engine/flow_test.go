package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func flowFaults(t *testing.T, body string, flows FlowList) (all []string) {
	t.Helper()
	_, err := ParseFlow("it", []byte(body), flows)
	var invalid *Invalid
	if errors.As(err, &invalid) {
		for _, f := range invalid.Faults {
			all = append(all, f.String())
		}
	} else if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFlowsAreChecked(t *testing.T) {
	many := make([]string, MaxParameters+1)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d":{}`, i)
	}
	for body, want := range map[string]string{
		`{"actions":[{"wait":1}]}`: "",
		`{"parameters":{"a":{"type":"number","default":1.5},"b":{"type":"any","default":{"x":[1]}},"c":{"secret":true,"required":true}},"actions":[{"fill":["#a","${a} ${secret:c}"]}]}`: "",
		`5`:                                    "want a flow, an object, not a number",
		`{}`:                                   "want actions, an array",
		`{"actions":{}}`:                       "/actions: want an array of actions",
		`{"actions":[{"wait":1}],"config":{}}`: `/config: a flow has no field "config"`,
		`{"actions":[{"wait":1}],"parameters":[]}`:                                               "/parameters: want an object of parameters",
		`{"actions":[{"wait":1}],"parameters":{` + strings.Join(many, ",") + `}}`:                "/parameters: want at most 100 parameters, not 101",
		`{"actions":[{"wait":1}],"parameters":{"a b":{}}}`:                                       "/parameters/a b: want a key",
		`{"actions":[{"wait":1}],"parameters":{"a":5}}`:                                          "/parameters/a: want a parameter, an object",
		`{"actions":[{"click":"@e5 b"}]}`:                                                        `/actions/0/click: "@e5" is good in one session only: want a selector that lasts, such as the one in the steps of a trace`,
		`{"actions":[{"wait":1}],"parameters":{"a":{"type":"boolean","default":"true"}}}`:        "/parameters/a/default: want a default that is a boolean, not a string",
		`{"actions":[{"wait":1}],"parameters":{"a":{"type":"number","secret":true}}}`:            "/parameters/a: want the type string for a secret, not number",
		`{"actions":[{"wait":1}],"result":{"type":"text"}}`:                                      "/result/type: want a type, one of string, number",
		`{"actions":[{"wait":1}],"description":"` + strings.Repeat("x", maxDescription+1) + `"}`: "/description: want a description of at most 2000 bytes, not 2001",
		`{"actions":[{"uploadFile":["#f","$file:0"]}]}`:                                          "/actions/0/uploadFile/1: $file:0 does not exist: a flow gets no files of the request",
		`{"actions":[{"break":true}]}`:                                                           "/actions/0/break: break needs",
		`{"actions":[{"evaluate":"${secret:x}"}]}`:                                               "/actions/0/evaluate: a secret can stand only in the text of fill",
		`{"actions":[{"run":"it"}]}`:                                                             "/actions/0/run: there is no flow \"it\"",
	} {
		got := flowFaults(t, body, FlowList{})
		if want == "" && len(got) > 0 || want != "" && (len(got) == 0 || !strings.HasPrefix(got[0], want)) {
			t.Errorf("%s\ngives %q\nwant %q", body, got, want)
		}
	}
	if _, err := ParseFlow("it", []byte(`{`), nil); err == nil {
		t.Error("half a flow is one")
	}
}

// TestFlowsHaveBoundsInTasks: what flows make of a short request is bounded.
func TestFlowsHaveBoundsInTasks(t *testing.T) {
	var deep FlowList
	for i := range maxFlowDepth + 1 {
		next := `{"wait":1}`
		if i < maxFlowDepth {
			next = fmt.Sprintf(`{"run":"f%d"}`, i+1)
		}
		deep = append(deep, StoredFlow{fmt.Sprint("f", i), 1, []byte(`{"actions":[` + next + `]}`), nil})
	}
	wide := FlowList{
		{"ten", 1, []byte(`{"actions":[` + strings.TrimSuffix(strings.Repeat(`{"wait":1},`, 10), ",") + `]}`), nil},
		{"hundred", 1, []byte(`{"actions":[` + strings.TrimSuffix(strings.Repeat(`{"run":"ten"},`, 10), ",") + `]}`), nil},
		{"large", 1, []byte(`{"actions":[{"evaluate":"` + strings.Repeat("x", maxFlowBytes/4) + `"}]}`), nil},
	}
	for _, c := range []struct {
		actions string
		flows   FlowList
		want    string
	}{
		{`{"run":"f1"}`, deep, ""},
		{`{"run":"f0"}`, deep, "want at most 10 flows in one another"},
		{strings.TrimSuffix(strings.Repeat(`{"run":"hundred"},`, 8), ","), wide, ""},
		{strings.TrimSuffix(strings.Repeat(`{"run":"hundred"},`, 10), ","), wide, "want at most 1000 actions in one task"},
		{strings.TrimSuffix(strings.Repeat(`{"run":"large"},`, 5), ","), wide, "the flows of a task have at most 4194304 bytes together"},
	} {
		_, err := ParseWith([]byte(`{"actions":[`+c.actions+`]}`), nil, c.flows)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.60s: %.300v, want %q", c.actions, err, c.want)
		}
	}
}

// brokenFlows cannot be read.
type brokenFlows struct{ FlowList }

func (brokenFlows) Flow(string, int) (StoredFlow, error) {
	return StoredFlow{}, context.DeadlineExceeded
}

func TestFlowsThatCannotBeRead(t *testing.T) {
	_, err := ParseWith([]byte(`{"actions":[{"run":"a"},{"run":"b"},{"nope":1}]}`), nil, brokenFlows{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it is %v: no fault of the request's", err)
	}
	if _, err := ParseFlow("it", []byte(`{"actions":[{"run":"a"}]}`), brokenFlows{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a flow: %v", err)
	}
}

// TestFlowsShareTheLimitOfSavedValues: flows in one another hold no more than a task.
func TestFlowsShareTheLimitOfSavedValues(t *testing.T) {
	c := NewCache()
	half := []byte(`"` + strings.Repeat("x", maxSaved/2) + `"`)
	if !c.Set("a", half) {
		t.Fatal("half of the limit does not fit")
	}
	in := c.newFlowCache("1:")
	if in.Set("a", half) || !in.Set("a", []byte(`1`)) {
		t.Error("a flow has a limit of its own")
	}
	if deeper := in.newFlowCache("2:"); deeper.Push("a", half) || deeper.around <= maxSaved/2 {
		t.Error("a flow in a flow has a limit of its own")
	}
}

// TestReviewsLookIntoFlows: time, actions and keys of flows count where they run.
func TestReviewsLookIntoFlows(t *testing.T) {
	flows := FlowList{
		{"waits", 1, []byte(`{"parameters":{"n":{}},"actions":[{"forEach":{"range":[1,3],"max":3,"do":[{"wait":1000}]}},{"set":{"x":"${n}"}},{"set":{"y":"${outer}"}}]}`), nil},
		{"responds", 1, []byte(`{"actions":[{"waitForResponse":"a"},{"waitForResponse":"b","options":{"timeout":90000}},{"wait":1}]}`), nil},
	}
	for _, c := range []struct {
		actions string
		count   int
		longest int64
		warns   string
	}{
		{`{"run":"waits","with":{"n":"a"}}`, 5, 3000, ""},
		{`{"forEach":{"range":[1,2],"max":2,"do":[{"run":"waits"}]}}`, 6, 6000, ""},
		{`{"wait":500},{"run":"responds"},{"wait":500}`, 6, 500 + 90750 + 500, ""},
		{`{"run":"waits","with":{"n":"${none}"}}`, 5, 3000, "${none} is used, but nothing saves it"},
		{`{"run":"waits","options":{"save":"got"}},{"set":{"z":"${got}"}},{"set":{"z":"${x}"}}`, 7, 3000, "${x} is used, but nothing saves it"},
		{`{"run":"waits","with":{"n":{"$absolute":"a"}}}`, 5, 3000 + 10750, ""},
	} {
		task, err := ParseWith([]byte(`{"actions":[`+c.actions+`]}`), nil, flows)
		if err != nil {
			t.Fatal(err)
		}
		r := task.Review(MaxQueueTimeout * 100)
		if r.Actions != c.count || r.Longest != c.longest || (c.warns == "") != (len(r.Warnings) == 0) || c.warns != "" && !strings.Contains(fmt.Sprint(r.Warnings), c.warns) {
			t.Errorf("%s: %+v, want %d actions, %d ms, and %q", c.actions, r, c.count, c.longest, c.warns)
		}
	}
	f, err := ParseFlow("it", flows[0].Source, flows)
	if err != nil {
		t.Fatal(err)
	}
	if r := f.Review(); r.Actions != 4 || r.Longest != 3000 || len(r.Warnings) != 1 || r.Warnings[0].Path != "/actions/2" {
		t.Errorf("the flow itself: %+v", r)
	}
}
