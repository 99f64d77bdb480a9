package mcp

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/persistence"
	"troupe/testkit/golden"
	"troupe/testkit/need"
)

var _ = flag.Bool("update", false, "add golden files of records whose shape has none; none is changed")

func records(t *testing.T) []golden.Case {
	return []golden.Case{
		golden.Record[Kept](t, "kept", nil),
		golden.Places(t, map[string]string{"kept": persistence.ModelSessionPrefix + "account/sess_1"}),
	}
}

// TestGoldenKept: what earlier releases have written down of sessions is read.
func TestGoldenKept(t *testing.T) { golden.Test(t, "http/mcp", records(t)) }

// TestEveryFieldOfKeptHasAName: a field that is renamed in Go keeps its name in what is written.
func TestEveryFieldOfKeptHasAName(t *testing.T) { golden.Named(t, records(t)) }

// TestJournals: both journals keep what they are told, for one account each, and forget
// it an hour after the last call.
func TestJournals(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) Journal{
		"memory": func(*testing.T) Journal { return NewMemory() },
		"stored": func(*testing.T) Journal { return NewStored(persistence.NewMemory(), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := open(t)
				add := func(account, session string) {
					t.Helper()
					if err := j.Change(t.Context(), account, session, func(k *Kept) { k.Actions++; k.add([]KeptStep{{Action: json.RawMessage(`{"wait":0}`)}}) }); err != nil {
						t.Fatal(err)
					}
				}
				actions := func(account, session string) int {
					k, err := j.Load(t.Context(), account, session)
					if err != nil || len(k.Steps) != k.Actions {
						t.Fatal(k, err)
					}
					return k.Actions
				}
				add("a", "s")
				add("a", "s")
				add("b", "s")
				if got := [3]int{actions("a", "s"), actions("b", "s"), actions("a", "other")}; got != [3]int{2, 1, 0} {
					t.Errorf("kept %v", got)
				}
				time.Sleep(journalLifetime / 2)
				add("a", "s")
				time.Sleep(journalLifetime/2 + time.Minute)
				add("c", "s")
				if got := [2]int{actions("a", "s"), actions("b", "s")}; got != [2]int{3, 0} {
					t.Errorf("an hour later %v", got)
				}
				if err := j.Forget(t.Context(), "a", "s"); err != nil || actions("a", "s") != 0 {
					t.Errorf("forgotten: %d, %v", actions("a", "s"), err)
				}
			})
		})
	}
	j := NewStored(persistence.NewMemory(), nil)
	if err := j.Change(t.Context(), "a", "../b/s", func(*Kept) {}); err == nil {
		t.Error("a session leads to another account")
	}
}

// TestSessionsHaveABound: what is kept of a session is bounded, and so is what it does.
func TestSessionsHaveABound(t *testing.T) {
	var k Kept
	for i := range 300 {
		k.add([]KeptStep{{Action: json.RawMessage(fmt.Sprint(i))}})
	}
	if len(k.Steps) != maxKept || k.Left != 100 || string(k.Steps[0].Action) != "100" {
		t.Errorf("%d kept, %d left, the first is %s", len(k.Steps), k.Left, k.Steps[0].Action)
	}
	k.add([]KeptStep{{Action: json.RawMessage(strings.Repeat("1", maxKeptBytes-10))}})
	if len(k.Steps) > 5 || k.Left+len(k.Steps) != 301 {
		t.Errorf("%d kept, %d left", len(k.Steps), k.Left)
	}
	s := newServer(t, always(`{"success":true,"taskId":"task_1","sessionId":"sess_1"}`), Policy{})
	list := "[" + strings.TrimSuffix(strings.Repeat(`{"wait":0},`, 1000), ",") + "]"
	for i := range maxActions/1000 + 1 {
		text, res := s.call(t, "run", `{"session":"sess_1","actions":`+list+`}`)
		if refused := strings.Contains(text, "at most 5000 actions"); refused != (i == maxActions/1000) || res.IsError != refused {
			t.Errorf("call %d: %q", i, text)
		}
	}
}

// TestLongCallsGoOn: a call does not wait longer than clients do. Its task goes on, and
// another call gets its end.
func TestLongCallsGoOn(t *testing.T) {
	var ended atomic.Bool
	s := newServer(t, func(w http.ResponseWriter, r *http.Request, body map[string]any) {
		switch {
		case r.URL.Path == "/v1/tasks/task_7":
			fmt.Fprint(w, `{"success":true,"task":{"taskId":"task_7","status":"running","steps":[{"actionPath":"0","action":"open","success":true},{"actionPath":"1","action":"click","success":true}]}}`)
		case r.Method == http.MethodGet && !ended.Load():
			select { // a poll waits as long as it says
			case <-r.Context().Done():
			case <-time.After(testHold / 4):
			}
			fmt.Fprint(w, `{"success":false,"status":"pending"}`)
		case r.Method == http.MethodPost:
			fmt.Fprint(w, `{"success":true,"async":true,"taskId":"task_7","sessionId":"sess_1"}`)
		default:
			fmt.Fprint(w, `{"success":true,"status":"complete","taskId":"task_7","sessionId":"sess_1","steps":[{"actionPath":"0","action":"getText","success":true,"result":"late"}]}`)
		}
	}, Policy{})
	began := time.Now()
	text, res := s.call(t, "run", `{"actions":[{"getText":"h1"}],"session":"new"}`)
	if took := time.Since(began); took < testHold || !strings.Contains(text, "running: task task_7, session sess_1") || !strings.Contains(text, "2 of its steps have ended, the last one is 1 click.") || res.IsError {
		t.Errorf("after %v: %q", took, text)
	}
	text, res = s.call(t, "run", `{"actions":[{"getText":"h1"}],"background":true,"session":"new"}`)
	if !strings.Contains(text, "running: task task_7, session sess_1") || res.IsError {
		t.Errorf("%q", text)
	}
	ended.Store(true)
	if text, _ = s.call(t, "look", `{"task":"task_7"}`); !strings.Contains(text, "[0] getText: late") {
		t.Errorf("%q", text)
	}
}

// TestFlowsAreMadeOfSteps: parameters, secrets and references of what is saved.
func TestFlowsAreMadeOfSteps(t *testing.T) {
	step := func(s string) KeptStep { return KeptStep{Action: json.RawMessage(s)} }
	flow, params, missed, err := compose([]KeptStep{
		step(`{"open":"https://shop.test/?q=lamp&n=5"}`),
		step(`{"fill":["#user","ada lamp"],"options":{"timeout":5,"save":"lamp"}}`),
		step(`{"fill":["#password","${secret:SHOP}"]}`),
		step(`{"if":{"condition":{"text":"lamp"},"then":[{"click":{"nth":5,"name":"lamp"}}]}}`),
	}, "Finds", map[string]json.RawMessage{"q": json.RawMessage(`"lamp"`), "n": json.RawMessage("5"), "none": json.RawMessage(`"desk"`)})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"description":"Finds","parameters":{"SHOP":{"required":true,"secret":true},"n":{"required":true,"type":"any"},"q":{"required":true,"type":"string"}},"actions":[` +
		`{"open":"https://shop.test/?q=${q}&n=${n}"},{"fill":["#user","ada ${q}"],"options":{"timeout":5,"save":"lamp"}},{"fill":["#password","${secret:SHOP}"]},` +
		`{"if":{"condition":{"text":"${q}"},"then":[{"click":{"nth":5,"name":"${q}"}}]}}]}`
	if string(flow) != want || len(params) != 3 || fmt.Sprint(missed) != "[none]" {
		t.Errorf("%s\nwant\n%s\n%v %v", flow, want, params, missed)
	}
	if _, _, _, err := compose([]KeptStep{step(`{"click":"@e5"}`)}, "", nil); err == nil || !strings.Contains(err.Error(), "@e5") {
		t.Errorf("a reference without a selector: %v", err)
	}
}

// TestValuesAreWholeWords: a value becomes a parameter where it is a word or a number of its
// own.
func TestValuesAreWholeWords(t *testing.T) {
	need.NoRace(t)
	params := []parameter{{name: "w", value: "blue lamp"}, {name: "q", value: "lamp"}, {name: "n", value: "17"}, {name: "z", value: "\u706f"}, {name: "e", value: "@b.test"}}
	for text, want := range map[string]string{
		"http://127.0.0.1:41771/17.html?a=17":      "http://127.0.0.1:41771/${n}.html?a=${n}",
		"lamps, lamp, clamp, LAMP":                 "lamps, ${q}, clamp, LAMP",
		"?q=old%20lamp&l=lamp_2":                   "?q=old%20${q}&l=${q}_2",
		"a blue lamp":                              "a ${w}",
		"${secret:lamp} of ${lamp.17} lamp ${17":   "${secret:lamp} of ${lamp.17} ${q} ${${n}",
		"\u53f0\u706f":                             "\u53f0${z}",
		"ada@b.test":                               "ada${e}",
		"\u00e4lamp 17\u20ac -17 1.17 \xff17 x17x": "\u00e4lamp ${n}\u20ac -${n} 1.${n} \xff${n} x17x",
	} {
		if got, _ := put(text, params, map[string]bool{}); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
	// Each place of a long word begins with the value, and is looked at once.
	long := strings.Repeat("a", 1<<20)
	if got, changed := put(long, []parameter{{name: "a", value: "a"}}, map[string]bool{}); changed || got != long {
		t.Error("a part of a long word was replaced")
	}
}

// TestPoliciesOnlyNarrow: sites of a person and of a model count together.
func TestPoliciesOnlyNarrow(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""}, {"a.test", "", "a.test"}, {"", "a.test", "a.test"},
		{"*.a.test", "x.a.test b.test", "x.a.test"}, {"a.test", "a.test", "a.test"}, {"a.test", "b.test", "none"}, {"a.test", "*.a.test", "a.test"},
	} {
		got, err := narrow(strings.Fields(c.a), strings.Fields(c.b))
		text := strings.Join(got, " ")
		if err != nil {
			text = "none"
		}
		if text != c.want {
			t.Errorf("%q and %q: %q", c.a, c.b, text)
		}
	}
	s := newServer(t, always(`{"success":true,"taskId":"task_1","sessionId":"sess_1"}`), Policy{Sites: []string{"*.a.test"}, Downloads: true})
	if text, res := s.call(t, "session", `{"do":"open","sites":["b.test"]}`); !res.IsError || !strings.Contains(text, "none of these sites") {
		t.Errorf("%q", text)
	}
	s.call(t, "session", `{"do":"open","sites":["x.a.test"]}`)
	s.call(t, "run", `{"session":"sess_1","actions":[{"wait":0}]}`)
	s.call(t, "look", `{"session":"sess_1","as":"picture"}`)
	got := s.requests()
	for _, r := range got[1:] {
		if !strings.Contains(r, `"sites":["x.a.test"]`) || strings.Contains(r, `"downloads"`) || !strings.Contains(r, `"uploads":"refuse"`) {
			t.Errorf("a request %s", r)
		}
	}
	if len(got) != 3 {
		t.Errorf("requests %s", got)
	}
	for _, wrong := range []string{"https://a.test/x", "*"} {
		if _, err := ParsePolicy([]string{wrong}, nil); err == nil {
			t.Errorf("%s is a site", wrong)
		}
	}
	if _, err := ParsePolicy(nil, []string{"everything"}); err == nil {
		t.Error("everything is allowed")
	}
}
