package outside_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"troupe/testkit/npm"
)

// views are the page's, with what stands in each when it is drawn.
var views = []struct{ name, ready string }{
	{"workers", ".picture:not([data-frames='0'])"}, {"tasks", ".tasks a"}, {"runs", "li[data-run] .state[data-is=failed]"}, {"playground", "#verdict .state[data-is=complete]"}, {"batches", "li[data-batch] .state[data-is=partial]"}, {"schedules", ".result .runs a"}, {"flows", ".tasks a[data-flow]"}, {"profiles", "li[data-profile] a"}, {"notices", "li[data-endpoint]"}, {"usage", "#used-tasks"}, {"operator", "tr[data-worker]"},
}

// prose are documents of each kind: prose, pictures, wide tables, code, what is
// made of the schema, what was searched for, drawings.
var prose = []string{"/docs/start", "/docs/limits", "/docs/web", "/docs/actions/click", "/docs/examples", "/docs", "/docs/search?q=session+cookies", "/docs/states"}

const look = `const {violations, passes} = await axe.run(document, {resultTypes: ['violations']});
	return {passes: passes.length, over: document.documentElement.scrollWidth - innerWidth, found: violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
		.map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 120) + ' ' + n.failureSummary).join(' | '))}`

// looked is what a look has found.
type looked struct {
	Passes int
	Over   int // how far the page is wider than what can be seen
	Found  []string
}

func (l looked) check(t *testing.T, of string) {
	t.Helper()
	if l.Passes < 10 {
		t.Errorf("%s: only %d rules hold: was there anything to look at?", of, l.Passes)
	}
	if l.Over > 0 {
		t.Errorf("%s: the page is %d pixels too wide", of, l.Over)
	}
	for _, f := range l.Found {
		t.Errorf("%s: %s", of, f)
	}
}

// axe looks for what keeps people out, in each view, light and dark, wide, on a tablet,
// and as narrow as a page of 1280 pixels becomes that is shown four times as large.
func axe(t *testing.T, w *web) {
	packages, err := npm.Install(filepath.Join("testdata", "web"), filepath.Join("..", "..", "..", ".cache", "web"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(packages, "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	// Something runs, something was shared, something has failed.
	status, got, err := post(w.base, w.ops, `{"async":true,"timeout":120000,"actions":[{"open":"http://demo.troupe.test/"},{"click":"#nope","options":{"timeout":50}},{"screenshot":"viewport"},{"wait":100000}]}`)
	if err != nil || status != 200 {
		t.Fatalf("%d, %v: %s", status, err, got)
	}
	task := read(t, got)
	if status, got, err := postTo(w.base+"/v1/links", w.ops, `{"object":"`+task.TaskID+`","label":"for Bob"}`); err != nil || status != 200 {
		t.Fatalf("%d, %v: %s", status, err, got)
	}
	if status, got, err := postTo(w.base+"/v1/batches", w.ops, `{"name":"prices","items":[{"id":1},{"id":99999}],"task":{"config":{"continueOnError":false,"onFailure":{"screenshot":true}},"actions":[{"open":"http://demo.troupe.test/product/${item.id}"},{"waitForElement":".price","options":{"timeout":50}}]}}`); err != nil || status != 202 {
		t.Fatalf("%d, %v: %s", status, err, got)
	}
	for path, body := range map[string]string{
		"/v1/endpoints": `{"url":"` + w.hook + `/looked","events":["batch.end"]}`,
		"/v1/schedules": `{"name":"prices","cron":"0 9 * * 1-5","timeZone":"Europe/Berlin","task":{"actions":[{"open":"http://demo.troupe.test/"}]}}`,
		"/v1/":          `{"queue":true,"notify":[{"url":"` + w.hook + `/looked"}],"actions":[{"wait":1}]}`,
	} {
		status, got, err := postTo(w.base+path, w.ops, body)
		var s struct{ Schedule struct{ ScheduleID string } }
		if err != nil || status >= 300 || json.Unmarshal([]byte(got), &s) != nil {
			t.Fatalf("%s: %d, %v: %s", path, status, err, got)
		}
		if id := s.Schedule.ScheduleID; id != "" {
			if status, got, err := postTo(w.base+path+"/"+id+"/run", w.ops, "{}"); err != nil || status != 200 {
				t.Fatalf("%d, %v: %s", status, err, got)
			}
		}
	}
	if status, got, err := sendTo("PUT", w.base+"/v1/profiles/looked", w.ops, `{"cookies":[],"origins":[]}`); err != nil || status != 200 {
		t.Fatalf("%d, %v: %s", status, err, got)
	}
	list := `{{ops}},{"evaluate":` + asJSON(string(source)+"; window.axe = axe") + `}`
	for i, v := range views {
		list += fmt.Sprintf(`,{"click":"nav a[data-view=%s]"},{"waitForElement":%q}`, v.name, v.ready)
		if v.name == "schedules" { // the form, and then the last runs
			list = strings.TrimSuffix(list, fmt.Sprintf(`,{"waitForElement":%q}`, v.ready)) + `,{"click":"#new-schedule"},{"waitForElement":"#verdict .state[data-is=complete]"},{"setViewportSize":[320,844]},{"evaluate":` + asJSON(look) + `,"options":{"push":"found"}}` +
				fmt.Sprintf(`,{"click":"li[data-schedule] a"},{"waitForElement":%q}`, v.ready)
		}
		if v.name == "profiles" {
			list += `,{"click":"li[data-profile] a"},{"waitForElement":"li[data-version]"}`
		}
		if v.name == "notices" {
			list += `,{"waitForElement":"li[data-notice]"},{"click":"li[data-notice] a"},{"waitForElement":".result .runs li"},{"click":"#show-secret"},{"waitForElement":"#notice-secret"}`
		}
		if v.name == "tasks" {
			list += fmt.Sprintf(`,{"click":"li[data-task=%s] a"},{"waitForElement":".shots img"}`, task.TaskID)
		}
		if v.name == "runs" {
			list += `,{"waitForElement":".chart"},{"click":"li[data-run]:has(.state[data-is=failed]) a"},{"waitForElement":".result .facts"}`
		}
		if v.name == "batches" {
			list += `,{"click":"li[data-batch] a"},{"waitForElement":".shots img"}`
		}
		for j, theme := range []string{"light", "dark"} {
			list += []string{`,{"setViewportSize":[320,844]}`, `,{"setViewportSize":[768,1024]}`, `,{"setViewportSize":[1280,800]}`}[(i+j)%3]
			list += fmt.Sprintf(`,{"selectOption":["#theme",%q]},{"evaluate":%s,"options":{"push":"found"}}`, theme, asJSON(look))
		}
	}
	for _, open := range []string{`{"click":"nav a[data-view=workers]"},{"click":".worker:has(.picture) button"},{"waitForElement":"#make-link"}`, `{"press":[null,"Escape"]},{"click":"nav a[data-view=operator]"},{"click":"tr[data-account=ops] .danger"},{"waitForElement":"#yes"}`} {
		list += "," + open + `,{"evaluate":` + asJSON(look) + `,"options":{"push":"found"}}`
	}
	list += `,{"press":[null,"Escape"]},{"evaluate":"await fetch('/v1/tasks/` + task.TaskID + `', {method: 'DELETE', headers: {Authorization: 'Bearer ' + sessionStorage.getItem('troupe.token')}})"},{"click":"#sign-out"},{"waitForElement":"#token"},{"evaluate":` + asJSON(look) + `,"options":{"push":"found"}}`
	list += `,{"evaluate":"return saved.found"}`
	var all []looked
	if got := w.plays(t, list); json.Unmarshal(got, &all) != nil || len(all) != 2*len(views)+4 {
		t.Fatalf("%s", got)
	}
	for i, one := range all {
		one.check(t, fmt.Sprintf("look %d", i))
	}
	for i, page := range prose {
		theme, width := []string{"light", "light", "dark", "dark"}[i%4], []int{1280, 320}[i%2]
		got := w.plays(t, fmt.Sprintf(`{"setViewportSize":[%d,800]},{"open":"{{base}}%s"},{"evaluate":%s},{"evaluate":%s}`, width, page,
			asJSON(string(source)+"; window.axe = axe; document.documentElement.dataset.theme = '"+theme+"'; window.broken = []"), asJSON(look)))
		var one looked
		if err := json.Unmarshal(got, &one); err != nil {
			t.Fatal(err)
		}
		one.check(t, fmt.Sprint(page, " ", theme, " ", width))
	}
}

// programs takes the programs that the playground makes of a task, and runs
// them.
func programs(t *testing.T, w *web) {
	// What is hard to quote in one language or another.
	const task = "{\"actions\": [\n  {\"open\": \"http://demo.troupe.test/\"},\n  {\"getText\": \"h1\", \"options\": {\"save\": \"h\"}},\n" +
		`  {"evaluate": "return [saved.h, \"it's\", 'a \"b\"', ` + "`tick`" + `, '\\\\', 'ß', 'TASK']"}` + "\n]}"
	got := w.plays(t, `{{ada}},{"click":"nav a[data-view=playground]"},{"evaluate":`+asJSON("await paste("+asJSON(task)+")")+`},
		{"waitForElement":"#verdict .state[data-is=complete]"},
		{"evaluate":"const all = {}; for (const b of document.querySelectorAll('button[data-language]')) { b.click(); all[b.dataset.language] = document.querySelector('#snippet').textContent; } return all"}`)
	var all map[string]string
	if err := json.Unmarshal(got, &all); err != nil || len(all) != 5 {
		t.Fatalf("%s: %v", got, err)
	}
	for _, run := range []struct{ name, file, command string }{
		{"curl", "run.sh", "sh run.sh"}, {"go", "main.go", "go run main.go"}, {"python", "run.py", "python3 run.py"}, {"javascript", "run.mjs", "node run.mjs"},
	} {
		t.Run(run.name, func(t *testing.T) {
			if program := strings.Fields(run.command)[0]; exec.Command("which", program).Run() != nil {
				t.Skip(program + " is not installed")
			}
			dir := t.TempDir()
			if strings.Contains(all[run.name], w.ada) {
				t.Error("the token is in the program")
			}
			if err := os.WriteFile(filepath.Join(dir, run.file), []byte(all[run.name]), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", run.command)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "NO_PROXY=127.0.0.1", "TROUPE_TOKEN="+w.ada)
			out, err := cmd.CombinedOutput()
			var a struct{ Data []string }
			if err != nil || json.Unmarshal(out, &a) != nil || asJSON(a.Data) != asJSON([]string{"Products", "it's", `a "b"`, "tick", `\`, "ß", "TASK"}) {
				t.Errorf("%v: %s\n%s", err, out, all[run.name])
			}
		})
	}
	var flow struct {
		Nodes []struct {
			Type       string
			Parameters struct{ Method, URL, JSONBody string }
		}
	}
	if err := json.Unmarshal([]byte(all["n8n"]), &flow); err != nil || len(flow.Nodes) != 1 {
		t.Fatalf("n8n: %v: %s", err, all["n8n"])
	}
	node := flow.Nodes[0]
	status, answer, err := postTo(node.Parameters.URL, w.ada, node.Parameters.JSONBody)
	if node.Type != "n8n-nodes-base.httpRequest" || node.Parameters.Method != "POST" || err != nil || status != 200 || !strings.Contains(answer, `"Products"`) {
		t.Errorf("n8n: %d, %v: %s\n%s", status, err, answer, all["n8n"])
	}
}
