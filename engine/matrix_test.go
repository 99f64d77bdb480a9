package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// The matrix plays every action that takes an element in the same situations,
// on one page: kit holds one element for each kind of action, and notes every
// event that reaches it. What an action gives and what it did are both compared.
const kit = `<button class=b>Press</button> <button class=gone>other</button>
<input class=i value=old> <input type=checkbox class=c> <input type=checkbox class=u checked>
<select class=s><option value=a>Apple<option value=b>Pear</select> <input type=file class=f>
<p class=p data-x=why>Some <b>text</b></p>`

// matrixPages are the pages of the matrix. In each the elements lie in another
// place: in the page, in a frame, in a frame of a frame, in a shadow root.
var matrixPages = map[string][]byte{
	"/plain.html":  []byte(`<!doctype html><script src=note.js></script><body>` + kit),
	"/start.html":  []byte(`<!doctype html><a id=go href="plain.html?delay=150">go</a>`),
	"/late.html":   []byte(`<!doctype html><script src=note.js></script><body><template id=tpl>` + kit + `</template>`),
	"/frame.html":  []byte(`<!doctype html><button class=b>not this</button><iframe id=fr src=plain.html width=700 height=300></iframe>`),
	"/nested.html": []byte(`<!doctype html><iframe id=fr src=middle.html width=800 height=400></iframe>`),
	"/middle.html": []byte(`<!doctype html><iframe id=in src=plain.html width=700 height=300></iframe>`),
	"/site.html":   []byte(`<!doctype html><button class=b>not this</button><p style=height:900px></p><iframe id=fr src="{{other}}/plain.html" width=700 height=300 style="border:9px solid;transform:scale(.9)"></iframe>`),
	"/port.html":   []byte(`<!doctype html><button class=b>not this</button><iframe id=fr src="{{port}}/plain.html" width=700 height=300></iframe>`),
	"/shadow.html": []byte(`<!doctype html><div id=host></div><script src=note.js></script><script>
		const root = host.attachShadow({mode: 'open'}); root.innerHTML = ` + "`" + kit + "`" + `; note(root)</script>`),
	"/closed.html": []byte(`<!doctype html><div id=host></div><script src=note.js></script><script>
		const root = host.attachShadow({mode: 'closed'}); root.innerHTML = ` + "`" + kit + "`" + `; note(root); window.closedRoot = root</script>`),
	"/closedsite.html": []byte(`<!doctype html><button class=b>Press not this</button><iframe id=fr src="{{other}}/closed.html" width=700 height=300></iframe>`),
	"/note.js": []byte(`const note = (root) => {
		root.log = []
		for (const t of ['click', 'contextmenu', 'input', 'change', 'keydown', 'mouseover']) root.addEventListener(t, (e) => {
			if (e.target.className) root.log.push(t + ' ' + e.target.className + (e.isTrusted ? '' : ' untrusted'))
		}, true)
	}
	note(document)`),
}

// A row is an action with a selector in the place of SEL. probe is what a
// script in the page finds afterwards, with root as what holds the elements.
type row struct {
	action, css, value, options string
	data                        string // what the action gives, as JSON; "" for {"success":true}
	probe, found                string
	late                        string // how a missing element is told of; "" for a failure
	not                         map[string]string
}

// What a row's elements are called in messages, and how they are written as
// XPath.
func xpathOf(css string) string {
	tag, class, _ := strings.Cut(css, ".")
	return fmt.Sprintf("//%s[@class='%s']", tag, class)
}

const logged = "return root.log.filter(l => !l.startsWith('mouseover')).join(', ')"

// roles are the descriptions of a row's elements.
var roles = map[string]string{
	"button.b": `{"role":"button","name":"Press"}`, "input.i": `{"role":"textbox"}`, "input.c": `{"role":"checkbox","nth":0}`, "input.u": `{"role":"checkbox","nth":-1}`,
	"select.s": `{"role":"combobox"}`, "input.f": `{"role":"button","name":"Choose File"}`, "p.p": `{"role":"paragraph"}`,
}

var rows = []row{
	{action: "click", css: "button.b", value: `SEL`, probe: logged, found: "click b"},
	{action: "clickHuman", css: "button.b", value: `SEL`, options: `"mode":"fast"`, probe: logged, found: "click b"},
	{action: "hover", css: "button.b", value: `SEL`, probe: "return root.log.includes('mouseover b') && root.querySelector('.b').matches(':hover')", found: "true"},
	{action: "hoverHuman", css: "button.b", value: `SEL`, options: `"mode":"fast"`, probe: "return root.log.includes('mouseover b') && root.querySelector('.b').matches(':hover')", found: "true"},
	{action: "fill", css: "input.i", value: `[SEL,"ab"]`, probe: "return root.querySelector('.i').value + '; ' + root.log.filter(l => /keydown|untrusted/.test(l)).length", found: "ab; 3"},
	{action: "press", css: "input.i", value: `[SEL,"x"]`, probe: "return root.querySelector('.i').value.replace('old', '') + '; ' + root.log.filter(l => l.startsWith('key'))", found: "x; keydown i"},
	{action: "check", css: "input.c", value: `SEL`, probe: "return root.querySelector('.c').checked + '; ' + root.log.filter(l => l.startsWith('c'))", found: "true; click c,change c"},
	{action: "uncheck", css: "input.u", value: `SEL`, probe: "return root.querySelector('.u').checked + '; ' + root.log.filter(l => l.startsWith('c'))", found: "false; click u,change u"},
	{action: "selectOption", css: "select.s", value: `[SEL,"b"]`, probe: "return root.querySelector('.s').value + '; ' + root.log.map(l => l.split(' ', 2).join(' ')).filter(l => l.startsWith('change') || l.startsWith('input'))", found: "b; input s,change s"},
	{action: "uploadFile", css: "input.f", value: `[SEL,"$file:0"]`, probe: "const f = root.querySelector('.f').files[0]; return f.name + ' ' + await f.text()", found: "hello.txt hello"},
	{action: "doubleClick", css: "button.b", value: `SEL`, probe: logged, found: "click b, click b"},
	{action: "rightClick", css: "button.b", value: `SEL`, probe: logged, found: "contextmenu b"},
	{action: "tap", css: "button.b", value: `SEL`, probe: logged, found: "click b"},
	{action: "drag", css: "button.b", value: `[SEL,[2,2]]`, probe: logged, found: "click b"},
	{action: "focus", css: "input.i", value: `SEL`, probe: "return root.activeElement.className", found: "i"},
	{action: "selectText", css: "p.p", value: `SEL`, probe: "return String(root.getSelection())", found: "Some text"},
	{action: "paste", css: "input.i", value: `[SEL,"pp"]`, probe: "return root.querySelector('.i').value.replace('old', '')", found: "pp"},
	{action: "scrollTo", css: "p.p", value: `SEL`, probe: "return root.querySelector('.p').getBoundingClientRect().top >= 0", found: "true"},
	{action: "getText", css: "p.p", value: `SEL`, data: `"Some text"`},
	{action: "getHTML", css: "p.p", value: `SEL`, data: `"Some <b>text</b>"`},
	{action: "getAttribute", css: "p.p", value: `[SEL,"data-x"]`, data: `"why"`},
	{action: "getValue", css: "input.i", value: `SEL`, data: `"old"`},
	{action: "extractAll", css: "p.p", value: `[SEL,{"bold":"b","x":["$this","data-x"]}]`, data: `[{"bold":"text","x":"why"}]`, late: `[]`},
	{action: "find", css: "p.p", value: `SEL`},
	{action: "waitForElement", css: "p.p", value: `SEL`},
	{action: "findByText", css: "p.p", value: `"some text"`, options: `"selector":SEL`},
	{action: "findByAttribute", css: "p.p", value: `["data-x","hy"]`, not: map[string]string{
		"css": "bySelf", "role selector": "bySelf", "xpath": "bySelf", "$key": "bySelf", "$this": "bySelf", "stale element": "bySelf"}},
	{action: "screenshot", css: "p.p", value: `SEL`, data: `{"success":true,"url":"~screenshot.png$"}`, not: map[string]string{"$this": "notInLoop"}},
	{action: "if", css: "p.p", value: `{"condition":{"selector":SEL,"property":"textContent","operator":"==","value":"Some text"},"then":[{"wait":0}],"else":[{"getSavedData":"no"}]}`,
		late: `{"no":null}`, not: map[string]string{"timeout": "neverWaits"}},
	{action: "while", css: "p.p", value: `{"condition":{"all":[SEL,{"selector":SEL,"property":"textContent","operator":"==","value":"Some text"},{"cached":"turned","operator":"empty"}]},"do":[{"evaluate":"return true","options":{"save":"turned"}}]}`,
		data: `{"success":true,"iterations":1}`, late: `{"success":true,"iterations":0}`, not: map[string]string{"timeout": "neverWaits"}},
	{action: "until", css: "p.p", value: `{"condition":{"any":[{"not":{"visible":SEL}},{"cached":"turned","operator":"notEmpty"}]},"do":[{"evaluate":"return true","options":{"save":"turned"}}]}`,
		data: `{"success":true,"iterations":1}`, late: `{"success":true,"iterations":0}`, not: map[string]string{"timeout": "neverWaits"}},
	{action: "assert", css: "p.p", value: `{"any":[{"all":[{"count":[SEL,"==",1]},{"visible":SEL}]},{"count":[SEL,"==",0]}]}`,
		late: `{"success":true}`, not: map[string]string{"timeout": "neverWaits"}},
	{action: "forEach", css: "p.p", value: `{"elements":SEL,"do":[{"getText":"$this b"},{"forEach":{"elements":"$this b","do":[{"click":"$this"}]}}]}`, data: `{"success":true,"iterations":1}`,
		late: `{"success":true,"iterations":0}`},
	{action: "loop", css: "p.p", value: `{"each":SEL,"do":[{"getText":"$this b","options":{"push":"k"}}]}`, data: `{"k":["text"]}`,
		late: `{"success":true,"iterations":0}`, not: map[string]string{"$this": "notNested"}},
}

type situation struct {
	name, list, sel, root string
	options               string
	inFrame               bool   // the script that looks afterwards runs there, too
	fails                 string // code of the failure that is wanted
}

// situations are the columns, in their order, with the lists of actions that
// bring each about. ACT is the action, with SEL as it is written there.
var situations = []situation{
	{name: "css", list: `{"open":"{{url}}/plain.html"},ACT`, sel: "CSS", root: "document"},
	{name: "role selector", list: `{"open":"{{url}}/plain.html"},ACT`, sel: "ROLE", root: "document"},
	{name: "role selector", list: `{"open":"{{url}}/closedsite.html"},ACT`, sel: "ROLE", root: "closedRoot", options: `"iframe":"#fr"`, inFrame: true},
	{name: "xpath", list: `{"open":"{{url}}/plain.html"},ACT`, sel: "XPATH", root: "document"},
	{name: "$key", list: `{"open":"{{url}}/plain.html"},{"find":"CSS","options":{"save":"el"}},ACT`, sel: "$el", root: "document"},
	{name: "$this", list: `{"open":"{{url}}/plain.html"},{"loop":{"each":"CSS","do":[ACT]}}`, sel: "$this", root: "document"},
	{name: "iframe", list: `{"open":"{{url}}/frame.html"},ACT`, sel: "CSS", root: "fr.contentDocument", options: `"iframe":"#fr"`},
	{name: "nested iframe", list: `{"open":"{{url}}/nested.html"},ACT`, sel: "CSS", root: "fr.contentDocument.querySelector('#in').contentDocument", options: `"iframe":["#fr","#in"]`},
	{name: "frame of another site", list: `{"open":"{{url}}/site.html"},ACT`, sel: "CSS", root: "document", options: `"iframe":"#fr"`, inFrame: true},
	{name: "frame of another site", list: `{"open":"{{url}}/port.html"},ACT`, sel: "CSS", root: "document", options: `"iframe":"#fr"`, inFrame: true}, // in the process of its page
	{name: "shadow root", list: `{"open":"{{url}}/shadow.html"},ACT`, sel: "#host CSS", root: "host.shadowRoot"},
	{name: "closed shadow root", list: `{"open":"{{url}}/closed.html"},ACT`, sel: "#host CSS", root: "closedRoot"},
	{name: "missing element", list: `{"open":"{{url}}/start.html"},ACT`, sel: "CSS", options: `"timeout":150`, fails: "element_not_found"},
	{name: "stale element", list: `{"open":"{{url}}/plain.html"},{"find":"CSS","options":{"save":"el"}},{"evaluate":"for (const e of document.querySelectorAll('CSS')) e.outerHTML = e.outerHTML"},ACT`,
		sel: "$el", options: `"timeout":150`, fails: "element_gone"},
	{name: "timeout", list: `{"open":"{{url}}/late.html"},ACT`, sel: "CSS", options: `"timeout":150`, fails: "element_not_found"},
	{name: "after navigation", list: `{"open":"{{url}}/start.html"},{"click":"#go"},ACT`, sel: "CSS", root: "document"},
}

// TestEveryActionInEverySituation plays the matrix: all of it if all tests are asked for,
// or it is named. Otherwise it plays each action in every eighth situation, and each
// situation with every eighth action.
//
// The situations of an action are played one behind the other, like the requests of a
// session: most of what each took was a new context with a new process for its page.
func TestEveryActionInEverySituation(t *testing.T) {
	s := script{pages: matrixPages, files: []scriptFile{{"hello.txt", []byte("hello")}}}
	base, other := s.server(t)
	files := s.given(t)
	for i, r := range rows {
		t.Run(r.action, func(t *testing.T) {
			t.Parallel()
			in := oneBehindTheOther(t)
			for j, at := range situations {
				if r.not[at.name] != "" || !need.Nth(i+j, 8) {
					continue
				}
				t.Run(at.name, func(t *testing.T) {
					list, want := r.at(t, at)
					fill := strings.NewReplacer("{{url}}", base, "{{other}}", other)
					w, _ := json.Marshal(want)
					runCaseOn(t, in, fill.Replace(`{"actions":[`+list+`]}`), fill.Replace(string(w)), files)
				})
			}
		})
	}
}

// at is the list of actions that plays a row in a situation, and the answer that
// is wanted.
func (r row) at(t *testing.T, at situation) (list string, want map[string]any) {
	t.Helper()
	sel := strings.NewReplacer("XPATH", xpathOf(r.css), "CSS", r.css).Replace(at.sel)
	act := func(options ...string) string {
		quoted, _ := json.Marshal(sel)
		if sel == "ROLE" {
			quoted = []byte(roles[r.css])
		}
		return strings.ReplaceAll(fmt.Sprintf(`{"%s":%s,"options":{%s}}`, r.action, r.value, strings.Join(compact(options...), ",")), "SEL", string(quoted))
	}
	given := value(t, r.data)
	want = map[string]any{"end": "completed", "failures": nil, "warnings": nil, "data": given}
	push := ""
	absent := at.fails == "element_not_found" || r.not["timeout"] == "neverWaits" // to a condition, what was there is absent too
	switch {
	case at.fails != "" && r.late != "" && absent: // absence is no failure
		want["data"] = value(t, r.late)
	case at.fails != "":
		for k, v := range failing(r, at.fails, sel) {
			want[k] = v
		}
	case r.probe != "":
		want["data"] = r.found
	case at.name == "$this" && r.data != "":
		push = `"push":"got"`
		want["data"] = map[string]any{"got": []any{given}}
	case at.name == "$this":
		want["data"] = map[string]any{"success": true, "iterations": 1.0}
	}
	list = strings.NewReplacer("CSS", r.css, "ACT", act(r.options, at.options, push)).Replace(at.list)
	if at.fails == "" && r.probe != "" {
		probe, _ := json.Marshal("const root = " + at.root + "; return String(await (async () => {" + r.probe + "})())")
		list += `,{"evaluate":` + string(probe) + map[bool]string{true: `,"options":{` + at.options + `}`}[at.inFrame] + `}`
	}
	if at.name == "timeout" { // it was too short: with more time the action succeeds
		list += `,{"evaluate":"setTimeout(() => document.body.append(tpl.content.cloneNode(true)), 150)"},` + act(r.options)
		want["data"] = given
	}
	return list, want
}

// failing is how an action fails that does not get its element.
func failing(r row, code, sel string) map[string]any {
	text := `~^Element "` + sel + `" not found within 150ms: `
	switch {
	case code == "element_gone":
		text = `~^"\$el" is no longer attached to the page`
	case r.action == "findByText":
		text = `~^Element with text "some text" not found within 150ms: `
	case r.action == "findByAttribute":
		text = `~^Element with data-x containing "hy" not found within 150ms: 0 elements have the attribute`
	}
	return map[string]any{"failures": []any{map[string]any{"code": code}}, "code": code, "error": text, "data": nil, "within": 5000.0}
}

func value(t *testing.T, s string) any {
	t.Helper()
	if s == "" {
		s = `{"success":true}`
	}
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func compact(all ...string) (out []string) {
	for _, s := range all {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}
