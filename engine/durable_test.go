package engine

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// playSteps plays a list in an instance and gives its outcome.
func playSteps(t *testing.T, in *instance, list string) *Outcome {
	t.Helper()
	task, err := Parse([]byte(`{"actions":`+list+`,"config":{"trace":true,"continueOnError":false}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	o := in.Play(context.Background(), task, TaskEnv{})
	if len(o.Failures) > 0 {
		t.Fatalf("%s: %v", list, o.Failures[0].Text)
	}
	return o
}

// TestReferencesBecomeSelectorsThatLast: a list with references is played, rewritten by
// what its trace says, and does the same in a new browser context without a snapshot.
func TestReferencesBecomeSelectorsThatLast(t *testing.T) {
	t.Parallel()
	s := script{pages: map[string][]byte{
		"/shop.html": []byte(`<!doctype html><title>Shop</title><ul><li><h2>Oak lamp</h2><button onclick="said.textContent+='lamp '">Add</button><li><h2>Chair</h2><button onclick="said.textContent+='chair '">Add</button></ul>
			<label>Name <input onchange="said.textContent+=value+' '"></label><div data-testid=box onclick="said.textContent+='box '" style="cursor:pointer"><i>x</i></div><p><b onclick="said.textContent+='bold '" style="cursor:pointer;display:block">y</b></p><p><b>z</b></p>
			<iframe id=pay src="{{other}}/pay.html" width=400 height=200></iframe><p id=said></p><script>onmessage = (e) => said.textContent += e.data + ' '</script>`),
		"/pay.html": []byte(`<!doctype html><button onclick="parent.postMessage('paid', '*')">Pay</button><iframe srcdoc="<button onclick=&quot;top.postMessage('inner', '*')&quot;>Inner</button>" width=200 height=90></iframe>`),
	}}
	base, _ := s.server(t)
	in := newInstance(t)
	open := `{"open":"` + base + `/shop.html"},{"waitForElement":"button","options":{"iframe":["#pay","iframe"]}}`
	look := playSteps(t, in, `[`+open+`,{"snapshot":true}]`)
	var v struct{ Snapshot string }
	if err := json.Unmarshal(look.Data, &v); err != nil {
		t.Fatal(err)
	}
	ref := func(line string) string {
		t.Helper()
		var found string
		for l := range strings.Lines(v.Snapshot) {
			if strings.Contains(l, line) {
				found = l // the last one
			}
		}
		_, rest, ok := strings.Cut(found, "[ref=")
		if !ok {
			t.Fatalf("nothing has a reference like %q in\n%s", line, v.Snapshot)
		}
		n, _, _ := strings.Cut(rest, "]")
		return "@" + n
	}
	list := `[{"click":"` + ref(`button "Add"`) + `"},{"fill":["` + ref(`textbox "Name"`) + `","Ada @e1"]},{"click":"` + ref(`]: x`) + `"},{"click":{"selector":"` + ref(`]: "y"`) + `"}},` +
		`{"click":"` + ref(`button "Pay"`) + `","options":{"timeout":5000}},{"click":"` + ref(`button "Inner"`) + `"},{"if":{"condition":"` + ref(`button "Pay"`) + `","then":[{"getText":"` + ref(`listitem`) + ` h2"}]}}]`
	o := playSteps(t, in, list)
	selectors := map[string]DurableSelector{}
	for _, step := range o.Steps {
		for k, d := range step.Selectors {
			selectors[k] = d
		}
	}
	lasting, err := Durable(json.RawMessage(list), selectors)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ReplaceAll(string(lasting), "Ada @e1", ""), "@e") || !strings.Contains(string(lasting), `"Ada @e1"`) {
		t.Errorf("the list still has references, or a text in it was taken for one: %s", lasting)
	}
	said := `{"waitForElement":{"selector":"#said","hasText":"inner"}},{"getText":"#said"}`
	again := playSteps(t, newInstance(t), `[`+open+`,`+strings.TrimSuffix(string(lasting[1:]), "]")+`,`+said+`]`)
	const want = `"chair Ada @e1 box bold paid inner"`
	if first := playSteps(t, in, `[`+said+`]`); string(first.Data) != want {
		t.Errorf("with references: %s, want %s", first.Data, want)
	}
	if string(again.Data) != want {
		t.Errorf("without: %s, want %s\n%s", again.Data, want, lasting)
	}
	if _, err := Durable(json.RawMessage(`[{"click":"@e999"}]`), selectors); err == nil || !strings.Contains(err.Error(), `/actions/0/click: there is no selector for "@e999"`) {
		t.Errorf("an unknown reference: %v", err)
	}
	one, err := Durable(json.RawMessage(`{"click":"@e1","options":{"iframe":"#x"}}`), map[string]DurableSelector{"@e1": {Selector: json.RawMessage(`"#a"`)}})
	if err != nil || string(one) != `{"click":"#a","options":{"iframe":null}}` {
		t.Errorf("%s, %v", one, err)
	}
}

// TestWhatLastsIsWhatAPersonWrote: elements without a name are found again by their
// words, or by a class that somebody has written, rather than by their place.
func TestWhatLastsIsWhatAPersonWrote(t *testing.T) {
	t.Parallel()
	s := script{pages: map[string][]byte{"/a.html": []byte(`<!doctype html><style>div{cursor:pointer}input{width:90px}</style>
		<div>Export <b>all</b></div><div>Twice</div><div>Twice</div><ul><li style="cursor:pointer">Home<li>Away</ul>
		<p><input class="css-abcdef is-open titlebar" value=v1><p><input class="titlebar-active css-abcxyz q7" value=v2><p><input class="note__field focus" value=v3><p><input class=note value=v4><p><input class=note value=v5>
		<section id=el-id-4932-64><input value=v6></section><section id=r-x><i id=:r1:><input value=v7></i></section><p class="low is-on"><input class=q7 value=v8></p><p id=row-17><b><input value=v9></b>`)}}
	base, _ := s.server(t)
	in := newInstance(t)
	var v struct{ Snapshot string }
	if err := json.Unmarshal(playSteps(t, in, `[{"open":"`+base+`/a.html"},{"snapshot":true}]`).Data, &v); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		": Export": `{"text":"Export all","exact":true}`, ": Home": `{"text":"Home","exact":true}`, ": Twice": `"div:nth-of-type(2)"`,
		": v1": `"input.titlebar"`, ": v2": `"p:nth-of-type(2) > input"`, ": v3": `"input.note__field"`, ": v5": `"p:nth-of-type(5) > input"`,
		": v6": `"section:nth-of-type(1) > input"`, ": v7": `"i > input"`, ": v8": `"p.low > input"`, ": v9": `"b > input"`,
	} {
		i := strings.Index(v.Snapshot, line)
		at := strings.LastIndex(v.Snapshot[:max(i, 0)], "[ref=")
		if i < 0 || at < 0 {
			t.Fatalf("nothing has a reference like %q in\n%s", line, v.Snapshot)
		}
		ref, _, _ := strings.Cut(v.Snapshot[at+5:], "]")
		o := playSteps(t, in, `[{"click":"@`+ref+`"}]`)
		if got := string(o.Steps[0].Selectors["@"+ref].Selector); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestReferencesGoOnInASession: numbers go on from one request of a session to the next,
// also where the session goes on in another browser.
func TestReferencesGoOnInASession(t *testing.T) {
	t.Parallel()
	s := script{pages: map[string][]byte{"/a.html": []byte(`<!doctype html><button onclick="this.title='hit'">One</button><button>Two</button>`)}}
	base, _ := s.server(t)
	in := newInstance(t)
	refs := func(in *instance, list string) string {
		t.Helper()
		var v struct{ Snapshot string }
		if err := json.Unmarshal(playSteps(t, in, list).Data, &v); err != nil {
			t.Fatal(err)
		}
		return v.Snapshot
	}
	const first = "- button \"One\" [ref=e1]\n- button \"Two\" [ref=e2]"
	if got := refs(in, `[{"open":"`+base+`/a.html"},{"snapshot":{"interactive":true}}]`); got != first {
		t.Fatalf("got %s", got)
	}
	if got := refs(in, `[{"snapshot":{"interactive":true}}]`); got != first {
		t.Errorf("in the next request: %s", got)
	}
	playSteps(t, in, `[{"click":"@e1"}]`)
	if o := playSteps(t, in, `[{"getAttribute":["@e1","title"]}]`); string(o.Data) != `"hit"` {
		t.Errorf("the click by a reference of an earlier request hit nothing: %s", o.Data)
	}
	state, err := in.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := newInstance(t)
	if err := other.Restore(t.Context(), state, nil); err != nil {
		t.Fatal(err)
	}
	task, err := Parse([]byte(`{"actions":[{"click":"@e2"}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if o := other.Play(t.Context(), task, TaskEnv{}); len(o.Failures) != 1 || o.Failures[0].Code != CodeElementGone || !strings.Contains(o.Failures[0].Text, `"@e2" is gone with the page that it was on`) {
		t.Errorf("a reference of before in a restored session: %v", o.Failures)
	}
	if got := refs(other, `[{"snapshot":{"interactive":true}}]`); got != "- button \"One\" [ref=e3]\n- button \"Two\" [ref=e4]" {
		t.Errorf("in a restored session: %s", got)
	}
}
