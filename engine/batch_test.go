package engine

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// batchPage has elements that are there, and some that come 40 ms after the page.
const batchPage = `<!doctype html><title>T</title>
<h1 id=h class=big>  Hello  </h1><p class=p data-k=p>first</p><p class=p>second</p>
<input id=name value=old><input id=num value=42><div id=ref>h</div><div id=host></div>
<ul><li class=row><b>one</b><i>1</i></li><li class=row><b>two</b></li><li class=row><b>three</b><i>3</i></li></ul>
<script>host.attachShadow({mode:'open'}).innerHTML='<b class=deep>deep</b>';
setTimeout(()=>{const d=document.createElement('div');d.id='late';d.textContent='came late';document.body.append(d)},40)</script>`

// TestFusingChangesNothing plays random lists of actions that read, once with
// as many in a call as go in and once one by one.
func TestFusingChangesNothing(t *testing.T) {
	url := serve(t, batchPage)
	batched, alone := newInstance(t), newInstance(t)
	alone.unbatched = true

	keys := []string{"a", "b"}
	selectors := []string{"#h", ".p", "#name", "#nope", "#late", "//p[2]", "//nope", "#host .deep", "p:nth-of-type(2)", "#${a}", "${b}", "[data-k=${b}]", "p[", "//p[", "//p/text()"}
	inLoop := append([]string{"$this", "$this b", "$this i", "$this .//b", "$this .nope"}, selectors...)

	rapid.Check(t, func(rt *rapid.T) {
		draw := func(what string, from []string) string { return rapid.SampledFrom(from).Draw(rt, what) }
		left := false // the page was left, or may have been: what comes late there does not come
		var steps func(n int, loop bool) string
		options := func(sel, action string) string {
			o := map[string]any{"timeout": 30}
			byOther := action == "findByText" || action == "findByAttribute" || action == "if" || action == "loop"
			if strings.Contains(sel, "late") && !byOther || action == "open" {
				o["timeout"] = 5000 // it comes, in time
			}
			if action != "open" && rapid.Bool().Draw(rt, "keeps") { // what it gives has times
				o[draw("how", []string{"save", "push"})] = draw("key", keys)
			}
			switch rapid.IntRange(0, 5).Draw(rt, "on error") {
			case 0:
				o["continueOnError"] = false
			case 1:
				o["continueOnError"] = true
			}
			if action == "extractAll" && rapid.Bool().Draw(rt, "limited") {
				o["limit"] = rapid.IntRange(0, 2).Draw(rt, "limit")
			}
			if action == "findByText" && rapid.Bool().Draw(rt, "among") {
				o["selector"] = draw("candidates", []string{"p", "b", "${a}", "#${b}"})
			}
			b, _ := json.Marshal(o)
			return string(b)
		}
		steps = func(n int, loop bool) string {
			var list []string
			for range n {
				from := selectors
				if loop {
					from = inLoop
				}
				sel := draw("selector", from)
				if left && strings.Contains(sel, "late") {
					sel = "#nope"
				}
				q, _ := json.Marshal(sel)
				action := draw("action", []string{"getText", "getHTML", "getAttribute", "getValue", "extractAll", "find", "findByText", "findByAttribute", "getSavedData", "if", "loop", "wait", "open"})
				var value string
				switch action {
				case "getAttribute":
					value = fmt.Sprintf(`[%s,%q]`, q, draw("attribute", []string{"class", "data-k", "nope", "${b}"}))
				case "extractAll":
					value = fmt.Sprintf(`[%s,{"t":"b","c":["$this","class"],"x":%q}]`, q, draw("field", []string{".//i", "i", "${a}"}))
				case "findByText":
					value = fmt.Sprintf("%q", draw("text", []string{"first", "nothing such", "${a}"}))
				case "findByAttribute":
					value = fmt.Sprintf(`["class",%q]`, draw("value", []string{"p", "nothing", "${b}"}))
				case "getSavedData":
					value = `["a","b"]`
				case "wait":
					value = "1"
				case "open":
					page := draw("page", []string{url, url + "?again", "http://127.0.0.1:1/", "about:blank"})
					left = left || !strings.HasPrefix(page, url)
					value = fmt.Sprintf("%q", page)
				case "if":
					if strings.Contains(sel, "late") {
						q = []byte(`"#h"`) // a condition looks once: what comes late is there or not, by chance
					}
					value = fmt.Sprintf(`{"condition":%s,"then":[%s]}`, q, steps(rapid.IntRange(0, 3).Draw(rt, "then"), loop))
				case "loop":
					if loop {
						action, value = "getText", string(q)
						break
					}
					what := draw("over", []string{`"each":".row"`, `"each":"#nope"`, `"repeat":3`, `"each":".row","maxIterations":2`})
					value = fmt.Sprintf(`{%s,"do":[%s]}`, what, steps(rapid.IntRange(1, 4).Draw(rt, "do"), true))
				default:
					value = string(q)
				}
				list = append(list, fmt.Sprintf(`{%q:%s,"options":%s}`, action, value, options(sel, action)))
			}
			return strings.Join(list, ",")
		}
		task := fmt.Sprintf(`{"config":{"trace":true,"continueOnError":%v},"actions":[{"open":%q},{"getText":"#ref","options":{"save":"a"}},{"getAttribute":[".p","data-k"],"options":{"save":"b"}},%s,{"getSavedData":["a","b"]}]}`,
			rapid.IntRange(0, 3).Draw(rt, "goes on") > 0, url, steps(rapid.IntRange(1, 8).Draw(rt, "steps"), false))
		if _, err := Parse([]byte(task), nil); err != nil {
			rt.Skip(err) // options that do not fit together
		}
		other := make(chan *Outcome, 1) // both mostly wait for what is not there
		go func() { other <- play(t, alone, task, TaskEnv{}) }()
		a, b := plainOutcome(t, play(t, batched, task, TaskEnv{})), plainOutcome(t, <-other)
		if a != b {
			rt.Fatalf("request\n%s\nbatched\n%s\none by one\n%s", task, a, b)
		}
	})
}

// TestAFusedReadTellsItsTime: the first of several in one call has waited, and
// its line of the trace says so.
func TestAFusedReadTellsItsTime(t *testing.T) {
	t.Parallel()
	url := serve(t, `<!doctype html><h1 id=h>x</h1><script>onload=()=>setTimeout(()=>{document.body.append(Object.assign(document.createElement('p'),{id:'late'}))},300)</script>`)
	o := play(t, newInstance(t), `{"config":{"trace":true},"actions":[{"open":"`+url+`"},{"getText":"#late"},{"getText":"#h"}]}`, TaskEnv{})
	// The element comes 300 ms after the page at the earliest, however long the page takes.
	if len(o.Failures) > 0 || o.Steps[0].Millis+o.Steps[1].Millis < 300 || o.Steps[2].Millis > o.Steps[1].Millis+100 {
		t.Errorf("%v %+v", failuresOf(o), o.Steps)
	}
}

var timing = regexp.MustCompile(`"timing":\s*\{[^}]*\}`)

// plainOutcome is an outcome without what differs from run to run.
func plainOutcome(t *testing.T, o *Outcome) string {
	t.Helper()
	o.Duration, o.Page = 0, nil // a page may not answer in time
	for i := range o.Steps {
		o.Steps[i].Millis = 0
	}
	b, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return timing.ReplaceAllString(string(b), "")
}
