package browser_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"troupe/engine/browser"
	"troupe/testkit/need"
)

// described is a target of the page script.
func described(s map[string]any) map[string]any {
	return map[string]any{"t": map[string]any{"k": "by", "s": s, "a": "it"}, "ms": 100, "of": 100}
}

// TestNamesAreBounded: pages can make names that are large, deep, many or of each other.
func TestNamesAreBounded(t *testing.T) {
	need.All(t)
	t.Parallel()
	ctx, tab := newTab(t)
	for name, script := range map[string]string{
		"large":    `document.body.innerHTML = '<button>needle ' + 'x'.repeat(3e6) + '</button>'`,
		"many":     `document.body.innerHTML = '<button>needle' + '<i>word</i> '.repeat(30000) + '</button>'`,
		"deep":     `let n = document.body.appendChild(document.createElement('button')); n.append('needle '); for (let i = 0; i < 5000; i++) { n = n.appendChild(document.createElement('i')); n.append('x') }`,
		"circles":  `document.body.innerHTML = Array.from({length: 60}, (_, i) => '<button id=b' + i + ' aria-labelledby="' + Array.from({length: 60}, (_, k) => 'b' + k).join(' ') + '">needle<label>x<input aria-labelledby=b' + i + '></label></button>').join('')`,
		"owned":    `document.body.innerHTML = '<button id=a aria-owns="a b">needle</button><span id=b aria-owns="a b">x</span>'`,
		"labelled": `document.body.innerHTML = '<label for=q>needle</label>'.repeat(3000) + '<button id=q>x</button>'`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tab.Script.Evaluate(ctx, `document.body.innerHTML = '';`+script, nil, false); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			r, err := tab.Script.Call(ctx, "find", described(map[string]any{"role": "button", "name": "needle"}))
			if err != nil || r.Code != "" || time.Since(began) > 20*time.Second {
				t.Errorf("found after %v: %v %s", time.Since(began), err, r.Error)
			}
			all, err := tab.Script.Call(ctx, "shown", described(map[string]any{"role": "button"}))
			if err != nil || !strings.Contains(string(all.Value), map[bool]string{true: "x", false: "needle"}[name == "labelled"]) {
				t.Errorf("read as %.60s…: %v", all.Value, err)
			}
		})
	}
}

// TestNearIsBounded: what is near is looked for among very many elements for a moment.
func TestNearIsBounded(t *testing.T) {
	t.Parallel()
	ctx, tab := newTab(t)
	if _, err := tab.Script.Evaluate(ctx, `document.body.innerHTML = '<button>Saves</button>' + '<p class=row><button>Other <b>x</b></button></p>'.repeat(30000)`, nil, false); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r, err := tab.Script.Call(ctx, "near", described(map[string]any{"role": "button", "name": "Save"}))
	if took := time.Since(began); err != nil || !strings.HasPrefix(string(r.Value), `"button 'Saves' (button`) || took > 20*time.Second {
		t.Errorf("after %v: %.100s (%v)", took, r.Value, err)
	}
}

// TestClosedRootsAreBounded: of very many closed shadow roots the first are opened.
func TestClosedRootsAreBounded(t *testing.T) {
	t.Parallel()
	ctx, tab := newTab(t)
	if _, err := tab.Script.Evaluate(ctx, `for (let i = 0; i < 2100; i++) { const h = document.body.appendChild(document.createElement('x-y')); h.attachShadow({mode: 'closed'}).innerHTML = '<b>' + i + '</b>' }`, nil, false); err != nil {
		t.Fatal(err)
	}
	q := countIn{until: time.Now().Add(10 * time.Second)}
	r, _, err := tab.Ask(ctx, "count", q)
	var n int
	if err == nil {
		err = json.Unmarshal(r.Value, &n)
	}
	if err != nil || n != 2000 {
		t.Errorf("%d were opened (%v), want 2000", n, err)
	}
}

// countIn asks how many elements match.
type countIn struct{ until time.Time }

func (q countIn) Arg() (map[string]any, time.Duration) {
	return map[string]any{"t": browser.Part{Kind: "css", Sel: "b", As: "b"}, "ms": 1000, "of": 1000}, time.Until(q.until)
}
func (countIn) Ways() [][]browser.Part       { return nil }
func (q countIn) Place() []browser.Part      { return nil }
func (q countIn) Hurry() bool                { return false }
func (q countIn) Next() []browser.Part       { return nil }
func (q countIn) Below(int) browser.Question { return q }
