package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// swaps are pages that want a reference to act upon something that it has not named.
// Each has a button "Save" that a snapshot gives a reference for. Then the page does
// what it is there for. What gets a click notes its data-id in hits.
var swaps = map[string]struct {
	page, then string
	acts       bool // the reference still names the button: a click must reach it
}{
	"names change places":          {`<button data-id=good id=a>Save</button><button data-id=bad id=b>Delete</button>`, `a.textContent = 'Delete'; b.textContent = 'Save'; [a.dataset.id, b.dataset.id] = ['bad', 'other']`, false},
	"a label says another name":    {`<span id=n>Save</span><button data-id=bad aria-labelledby=n>x</button>`, `n.textContent = 'Delete all'`, false},
	"another under the same one":   {`<div style="position:relative"><button data-id=good id=a>Save</button></div>`, `a.insertAdjacentHTML('afterend', '<button data-id=bad style="position:absolute;left:0;top:0;width:300px;height:100px;opacity:0.01">Delete</button>')`, true},
	"clicks fall through":          {`<div style="position:relative;height:60px"><button data-id=bad style="position:absolute;left:0;top:0;width:200px;height:60px">Delete</button><button data-id=good id=a style="position:absolute;left:0;top:0;width:200px;height:60px">Save</button></div>`, `a.style.pointerEvents = 'none'`, true},
	"copies instead of it":         {`<div id=d><button data-id=good id=a>Save</button></div>`, `const x = a.cloneNode(true), y = a.cloneNode(true); x.dataset.id = y.dataset.id = 'bad'; d.replaceChildren(x, y)`, false},
	"a name with hidden letters":   {`<div id=d><button data-id=good>Save</button></div>`, `d.innerHTML = '<button data-id=bad>Sa\u200bve</button>'`, false},
	"a name turned around":         {`<div id=d><button data-id=good>Save</button></div>`, `d.innerHTML = '<button data-id=bad>\u202eevaS\u202c</button>'`, false},
	"a role with hidden letters":   {`<div id=d><button data-id=good>Save</button></div>`, `d.innerHTML = '<div tabindex=0 role="butt\u200bon" data-id=bad>Save</div>'`, false},
	"another under the pointer":    {`<div id=d><button data-id=good id=a style="width:200px;height:60px">Save</button></div>`, `a.onpointermove = a.onpointerover = () => { d.innerHTML = '<button data-id=bad style="width:200px;height:60px">Delete</button>' }`, false},
	"a new name under the pointer": {`<button data-id=good id=a style="width:200px;height:60px">Save</button>`, `a.onpointermove = a.onpointerover = () => { a.textContent = 'Delete'; a.dataset.id = 'bad' }`, false},
	"a frame that goes elsewhere":  {`<iframe id=f srcdoc="<button data-id=good>Save</button>"></iframe>`, `f.srcdoc = '<p>Pay?</p><button data-id=bad>Save</button>'`, false},
	"frames in frames that go":     {`<iframe id=f srcdoc='<iframe srcdoc="<button data-id=good>Save</button>"></iframe>'></iframe>`, `f.contentDocument.querySelector('iframe').srcdoc = '<h1>Delete?</h1><button data-id=bad>Save</button>'`, false},
	"frames that change places":    {`<div id=d><iframe id=f srcdoc="<button data-id=good>Save</button>"></iframe><iframe id=g srcdoc="<button data-id=bad>Go</button>"></iframe></div>`, `g.contentDocument.querySelector('button').textContent = 'Save'; d.prepend(g)`, true},
	"the same one moved":           {`<div id=d><button data-id=good id=a>Save</button></div><div id=e><button data-id=bad>Delete</button></div>`, `e.append(a)`, true},
}

// hitScript notes in the topmost document what gets a click.
const hitScript = `<script>
top.hits ??= [];
const note = (d) => d.addEventListener('click', (e) => top.hits.push(e.target.closest('[data-id]')?.dataset.id ?? 'nothing'), true);
note(document);
const frames2 = (d) => { for (const f of d.querySelectorAll('iframe')) { const on = () => { note(f.contentDocument); frames2(f.contentDocument) }; f.addEventListener('load', on); if (f.contentDocument?.readyState === 'complete') on() } };
addEventListener('load', () => frames2(document));
frames2(document);
</script>`

// TestReferencesActOnlyOnWhatTheyNamed: whatever a page does between look and act, a
// click reaches what the reference has named, or nothing.
func TestReferencesActOnlyOnWhatTheyNamed(t *testing.T) {
	t.Parallel()
	s := script{pages: map[string][]byte{}}
	names := map[string]string{}
	for name, c := range swaps {
		path := fmt.Sprintf("/s%d.html", len(names))
		names[name] = path
		s.pages[path] = []byte("<!doctype html><meta charset=utf-8>" + c.page + hitScript)
	}
	base, _ := s.server(t)
	for name, path := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, c := newInstance(t), swaps[name]
			o := playTask(t, in, fmt.Sprintf(`{"actions":[{"open":"%s%s"},{"snapshot":{"find":"Save","limit":1},"options":{"save":"s"}},{"return":"${s.matches.0}"}],"timeout":60000}`, base, path))
			var m match
			if len(o.Failures) > 0 || json.Unmarshal(o.Data, &m) != nil || m.Name != "Save" {
				t.Fatalf("%s %+v", o.Data, o.Failures)
			}
			then, _ := json.Marshal(c.then)
			o = playTask(t, in, fmt.Sprintf(`{"actions":[{"evaluate":%s},{"click":%q,"options":{"timeout":1500,"continueOnError":true}},{"evaluate":"return hits"}],"timeout":60000}`, then, m.Ref))
			var hits []string
			if json.Unmarshal(o.Data, &hits) != nil {
				t.Fatalf("%s %+v", o.Data, o.Failures)
			}
			if slices.ContainsFunc(hits, func(h string) bool { return h != "good" }) {
				t.Errorf("%s reached %q, %+v", m.Ref, hits, o.Failures)
			}
			if c.acts && (len(o.Failures) > 0 || len(hits) == 0) || !c.acts && len(o.Failures) == 0 {
				t.Errorf("%s reached %q, %+v", m.Ref, hits, o.Failures)
			}
		})
	}
}
