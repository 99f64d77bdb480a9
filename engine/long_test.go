package engine

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
)

var long = flag.Int("long", 1500, "how many characters TestLongTexts types; -v tells how long that takes")

// TestLongTexts types texts that take a while into fields that do something at each
// character: every one arrives, in its order.
func TestLongTexts(t *testing.T) {
	need.All(t)
	t.Parallel()
	url := serve(t, `<!doctype html><textarea id=plain></textarea><div id=app></div><x-in id=deep></x-in><div id=edited contenteditable></div><script>
window.keys = 0; addEventListener('keydown', (e) => { if (e.isTrusted) keys++ }, true)
let state = ''; const draw = () => { let i = app.querySelector('textarea'); if (!i) { app.innerHTML = '<textarea id=controlled></textarea><p></p>'; i = app.firstChild; i.oninput = () => { state = i.value; draw() } } if (i.value !== state) i.value = state; app.lastChild.textContent = state.length }
draw(); customElements.define('x-in', class extends HTMLElement { connectedCallback() { this.attachShadow({ mode: 'open' }).innerHTML = '<input>' } })</script>`)
	text := strings.Repeat("The quick brown fox. ", *long/21+1)[:*long]
	in := newInstance(t)
	for _, field := range []string{"#plain", "#controlled", "#deep", "#edited"} {
		began := time.Now()
		o := play(t, in, fmt.Sprintf(`{"timeout":120000,"actions":[{"open":%q},{"fill":[%q,%q],"options":{"timeout":90000}},
			{"evaluate":"const e = document.querySelector('%s'), f = e.shadowRoot?.firstChild ?? e; return [(f.value ?? f.textContent).replaceAll('\\u00a0', ' '), keys]"}]}`, url, field, text, field), TaskEnv{})
		took := time.Since(began)
		if want := fmt.Sprintf("[%q,%d]", text, *long); len(o.Failures) > 0 || len(o.Warnings) > 0 || string(o.Data) != want {
			t.Errorf("%s has %d of %d bytes; %v %v", field, len(o.Data), len(want), failuresOf(o), o.Warnings)
		}
		t.Logf("%s: %d characters in %s", field, *long, took)
	}
}
