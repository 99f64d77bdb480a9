package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"troupe/testkit/need"
)

// aside are the actions that look into no frame, or that only hold others, with the reason.
var aside = map[string]string{
	"open": "goes elsewhere", "openNewTab": "goes elsewhere", "back": "goes elsewhere", "forward": "goes elsewhere", "reload": "is for the tab", "closeTab": "is for the tab",
	"switchTab": "is for the tab", "getTabs": "is for tabs", "setViewportSize": "is for the tab", "onDialog": "is for the tab", "wait": "waits", "waitForEvent": "is for the tab",
	"waitForResponse": "is for requests", "waitForDownload": "is for files", "getDownload": "is for files", "getCookies": "is for cookies", "setCookies": "is for cookies",
	"deleteCookie": "is for cookies", "clearCookies": "is for cookies", "set": "is for the cache", "getSavedData": "is for the cache", "clearSavedData": "is for the cache",
	"break": "leaves a list", "continue": "leaves a list", "return": "leaves a list", "run": "holds actions", "try": "holds actions", "retry": "holds actions",
	"pdf": "shows what a person sees", "getPage": "names the tab", "notify": "asks no page", "type": "goes where the focus is, TestInputStaysOutOfForeignFrames",
	"mouse": "goes where the pointer is, TestInputStaysOutOfForeignFrames", "keyDown": "goes where the focus is, TestInputStaysOutOfForeignFrames", "keyUp": "goes where the focus is, TestInputStaysOutOfForeignFrames",
	"byPassChallenge": "looks only into frames of the sites, as its script shows",
}

// framed are rows for what the matrix does not play.
var framed = []row{
	{action: "getLinks", value: `{}`}, {action: "getTable", value: `{"selector":"p.p"}`}, {action: "getMarkdown", value: `{}`},
	{action: "extract", value: `{"type":"object","properties":{"a":{"type":"string","x-select":"p.p"}}}`}, {action: "snapshot", value: `{"within":"p.p"}`}, {action: "snapshot", value: `true`},
	{action: "evaluate", value: `"return document.body.textContent"`}, {action: "scrollY", value: `10`}, {action: "scrollX", value: `10`},
}

// TestBoundTasksLeaveForeignFrames: whatever an action is, in a frame of a site that the
// task may not go to it reads nothing and does nothing.
//
// Promise: A task with sites reads nothing in frames of other sites, and sends nothing to them (docs/api.md#sites).
func TestBoundTasksLeaveForeignFrames(t *testing.T) {
	s := script{pages: matrixPages, files: []scriptFile{{"hello.txt", []byte("hello")}}}
	base, other := s.server(t)
	files := s.given(t)
	covered := map[string]bool{}
	for i, r := range append(slices.Clone(rows), framed...) {
		covered[r.action] = true
		for j, page := range []string{"site.html", "port.html"} {
			if !need.Nth(i+j, 4) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d/%s", r.action, i, page), func(t *testing.T) {
				t.Parallel()
				sel, _ := json.Marshal(r.css)
				options := strings.Join(compact(r.options, `"iframe":"#fr","timeout":1500`), ",")
				act := strings.ReplaceAll(fmt.Sprintf(`{"%s":%s,"options":{%s}}`, r.action, r.value, options), "SEL", string(sel))
				body := strings.NewReplacer("{{url}}", base, "{{other}}", other).Replace(`{"config":{"sites":["` + base + `"]},"actions":[{"open":"{{url}}/` + page + `"},` + act + `]}`)
				task, err := Parse([]byte(body), files.files)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := contextFor(task.Timeout)
				defer cancel()
				in := newInstance(t)
				o := in.Play(ctx, task, TaskEnv{SaveFile: new(kept).save})
				if len(o.Failures) != 1 || o.Failures[0].Code != CodeSiteNotAllowed || !strings.Contains(o.Failures[0].Text, "not one of the task's sites") {
					t.Errorf("%s: %s %v", act, o.Data, failuresOf(o))
				}
			})
		}
	}
	for name := range registry {
		if !covered[name] && aside[name] == "" {
			t.Errorf("the action %s is neither played in a frame of another site nor named as one that looks into none", name)
		}
	}
}

// inFrame is a page with a frame of another site that tells what is done to it.
type inFrame struct {
	own, other string
	mu         sync.Mutex
	told       []string
}

func newInFrame(t *testing.T) *inFrame {
	f := new(inFrame)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, at, _ := strings.Cut(r.Host, ":")
		switch r.URL.Path {
		case "/told":
			f.mu.Lock()
			if r.URL.RawQuery != "" {
				f.told = append(f.told, r.URL.RawQuery)
			}
			f.mu.Unlock()
		case "/in":
			fmt.Fprint(w, `<body style="margin:0"><h2>forsworn words</h2><button id=b style="position:fixed;inset:0;width:100%;height:100%">Buy</button><input id=i><script>
const tell = (e) => fetch('/told?' + e.type, {keepalive: true})
for (const e of ['click', 'dblclick', 'contextmenu', 'keydown', 'input', 'paste', 'drop', 'touchstart', 'mousedown']) addEventListener(e, tell, true)
addEventListener('dragover', (e) => e.preventDefault(), true)
onmessage = () => i.focus(); fetch('/told')</script>`)
		case "/data":
			fmt.Fprint(w, `<script>location = 'data:text/html,<h2>forsworn words</h2>'</script>`)
		case "/mine":
			fmt.Fprint(w, `<h2>our own</h2>`)
		default:
			fmt.Fprintf(w, `<body style="margin:0"><h1 draggable=true id=h style="width:300px;margin:0">Here</h1><input id=own><div id=around style="width:300px"><iframe id=f src="http://localhost:%[1]s/in" width=300 height=200></iframe></div>
<div id=host style="width:300px"></div><script>const root = host.attachShadow({mode: 'closed'}); root.innerHTML = '<iframe src="http://localhost:%[1]s/in" width=300 height=100></iframe>'</script>
<iframe id=sand sandbox=allow-scripts src="http://localhost:%[1]s/data" width=300 height=60></iframe>
<iframe id=mine src="/mine" width=300 height=60></iframe><iframe id=doc srcdoc="<h2>said by the page</h2>" width=300 height=60></iframe><iframe id=box sandbox srcdoc="<h2>said in a box</h2>" width=300 height=60></iframe>`, at)
		}
	}))
	t.Cleanup(srv.Close)
	f.own, f.other = srv.URL, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	return f
}

func (f *inFrame) heard() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.told, " ")
}

// TestInputStaysOutOfForeignFrames: what is clicked, dragged or typed in the page itself
// does not get into a frame of a site that the task may not go to.
func TestInputStaysOutOfForeignFrames(t *testing.T) {
	t.Parallel()
	focusInto := `{"evaluate":"document.querySelector('#f').contentWindow.postMessage(1, '*'); document.querySelector('#f').focus()"},{"wait":300}`
	for _, act := range []string{
		`{"click":"#f"}`, `{"click":"#around"}`, `{"click":"#host"}`, `{"doubleClick":"#f"}`, `{"rightClick":"#f"}`, `{"tap":"#f"}`, `{"clickHuman":"#f","options":{"mode":"fast"}}`,
		`{"hover":"#f"}`, `{"hoverHuman":"#f","options":{"mode":"fast"}}`, `{"drag":["#h","#f"]}`, `{"drag":["#f",[10,10]]}`, `{"drag":["#h",[40,120]]}`, `{"drag":["$file:0","#f"]}`, `{"uploadFile":["#f","$file:0"]}`,
		focusInto + `,{"press":[null,"x"]}`, focusInto + `,{"type":"some text"}`, focusInto + `,{"paste":[null,"some text"]}`,
		`{"mouse":{"click":[100,150]}}`, `{"mouse":{"click":[100,150]},"options":{"button":"right"}}`, `{"mouse":{"move":[100,150]}}`, `{"mouse":{"down":[100,150]}}`, `{"mouse":{"drag":[[20,10],[100,150]]}}`,
		`{"mouse":{"down":[600,10]}},{"mouse":{"up":[100,150]}}`, `{"mouse":{"down":[600,10]},"options":{"button":"middle"}},{"mouse":{"move":[100,150]}}`,
		`{"mouse":{"move":[600,400]}},{"evaluate":"f.style.cssText = 'position:fixed;left:500px;top:300px'"},{"mouse":"down"}`, `{"mouse":{"move":[600,400]}},{"evaluate":"f.style.cssText = 'position:fixed;left:500px;top:300px'"},{"mouse":{"wheel":[0,50]}}`,
		focusInto + `,{"keyDown":"x"}`, `{"keyDown":"x"},` + focusInto + `,{"keyUp":"x"}`,
		`{"press":["#own","Tab"]},{"press":[null,"Tab"]},{"press":[null,"Tab"]},{"press":[null,"x"]}`, `{"evaluate":"own.oninput = () => f.focus()"},{"focus":"#own"},{"type":"abc"}`, `{"evaluate":"own.oninput = () => f.focus()"},{"fill":["#own","abc"]}`,
	} {
		t.Run(act, func(t *testing.T) {
			t.Parallel()
			f := newInFrame(t)
			s := script{files: []scriptFile{{"hello.txt", []byte("hello")}}}
			task, err := Parse([]byte(`{"config":{"actionTimeout":4000,"sites":["127.0.0.1"]},"actions":[{"open":"`+f.own+`/"},{"waitForEvent":"load"},`+act+`,{"wait":300}]}`), s.given(t).files)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := contextFor(task.Timeout)
			defer cancel()
			o := newInstance(t).Play(ctx, task, TaskEnv{})
			if len(o.Failures) == 0 || o.Failures[0].Code != CodeSiteNotAllowed {
				t.Errorf("%s %v", o.Data, failuresOf(o))
			}
			if heard := f.heard(); heard != "" {
				t.Errorf("the frame of the other site got %s", heard)
			}
		})
	}
}

// TestReadersLeaveForeignFramesOut: what reads a whole page leaves such frames out, and
// says so. Frames of the page's own site, and what it writes into frames itself, stay.
func TestReadersLeaveForeignFramesOut(t *testing.T) {
	t.Parallel()
	f := newInFrame(t)
	for _, act := range []string{`{"snapshot":true}`, `{"getMarkdown":{"part":"all"}}`} {
		o := play(t, newInstance(t), `{"config":{"sites":["127.0.0.1"]},"actions":[{"open":"`+f.own+`/"},{"waitForEvent":"load"},{"wait":300},`+act+`]}`, TaskEnv{})
		said := string(o.Data)
		for _, w := range o.Warnings {
			said += w.Message
		}
		for _, want := range []string{"our own", "said by the page", "said in a box", "of sites that are not the task's"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is missing in %s %v", act, want, said, failuresOf(o))
			}
		}
		if strings.Contains(said, "forsworn") || strings.Contains(said, "Buy") {
			t.Errorf("%s has what the frame says: %s", act, said)
		}
	}
	var k kept
	o := play(t, newInstance(t), `{"config":{"sites":["127.0.0.1"],`+allEvidence+`},"actions":[{"open":"`+f.own+`/"},{"waitForEvent":"load"},{"wait":300},{"snapshot":{"find":"Buy"}},{"find":"h2 #nope","options":{"timeout":300}}]}`, TaskEnv{SaveFile: k.save})
	if strings.Contains(string(o.Data), "Buy") {
		t.Errorf("find: %s", o.Data)
	}
	if o.Evidence == nil {
		t.Fatal("no evidence")
	}
	if html := string(k.files[o.Evidence.HTML]); strings.Contains(html, "forsworn") || !strings.Contains(html, "our own") {
		t.Errorf("the source: %s", html)
	}
	for _, c := range []struct{ act, data string }{
		{`{"getText":"h2","options":{"iframe":"#mine"}}`, `"our own"`}, {`{"getText":"h2","options":{"iframe":"#doc"}}`, `"said by the page"`}, {`{"getText":"h2","options":{"iframe":"#box"}}`, `"said in a box"`},
		{`{"getText":"h2","options":{"iframe":"#sand"}}`, ``}, {`{"getText":"h2","options":{"iframe":{"url":"/in"}}}`, ``},
	} {
		o := play(t, newInstance(t), `{"config":{"sites":["127.0.0.1"]},"actions":[{"open":"`+f.own+`/"},{"waitForEvent":"load"},{"wait":300},`+c.act+`]}`, TaskEnv{})
		if c.data == "" {
			failsWith(CodeSiteNotAllowed)(t, o)
		} else {
			noFailure(c.data)(t, o)
		}
	}
	// What such a frame asks for is neither waited for nor kept.
	var har kept
	o = play(t, newInstance(t), `{"config":{"sites":["127.0.0.1"],"har":{}},"actions":[{"waitForResponse":"/told","options":{"timeout":1500}},{"open":"`+f.own+`/"},{"waitForEvent":"load"},{"wait":500}]}`, TaskEnv{SaveFile: har.save})
	failsWith(CodeTimeout)(t, o)
	if b := string(har.files[o.HARFile]); b == "" || strings.Contains(b, "forsworn") || !strings.Contains(b, "our own") {
		t.Errorf("the HAR: %s", b)
	}
	// A later task of a session whose sites were not bounded before.
	in := newInstance(t)
	noFailure(`"forsworn words"`)(t, play(t, in, `{"actions":[{"open":"`+f.own+`/"},{"waitForEvent":"load"},{"getText":"h2","options":{"iframe":"#f"}}]}`, TaskEnv{}))
	failsWith(CodeSiteNotAllowed)(t, play(t, in, `{"config":{"sites":["127.0.0.1"]},"actions":[{"getText":"h2","options":{"iframe":"#f"}}]}`, TaskEnv{}))
	// Both sites named: as without a bound.
	noFailure(`"forsworn words"`)(t, play(t, newInstance(t), `{"config":{"sites":["127.0.0.1","localhost"]},"actions":[{"open":"`+f.own+`/"},{"waitForEvent":"load"},{"click":"#around"},{"getText":"h2","options":{"iframe":"#f"}}]}`, TaskEnv{}))
}

// TestUploadsStayOnTheirSites: a file is not fetched from another site, also where its
// address leads there.
func TestUploadsStayOnTheirSites(t *testing.T) {
	t.Parallel()
	own, other, asked := elsewhere(t)
	for _, act := range []string{`{"uploadFile":["#file","` + other + `/x"]}`, `{"uploadFile":["#file","` + own + `/redirect"]}`} {
		o := play(t, newInstance(t), `{"config":{"sites":["127.0.0.1"]},"actions":[{"open":"`+own+`/"},{"evaluate":"document.body.innerHTML='<input type=file id=file>'"},`+act+`]}`, TaskEnv{})
		if n := len(o.Failures); n != 1 || o.Failures[0].Code != CodeSiteNotAllowed || asked.Load() != 0 {
			t.Errorf("%s: %v, asked %d times", act, o.Failures, asked.Load())
		}
	}
}
