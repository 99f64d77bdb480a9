package engine

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestActsAfterLeaving goes on at once after input that takes the page elsewhere
// by a task of its own, as a submitted form does: what comes next belongs to
// where the page goes, every time. The page paints a lot after the input, which
// is what that task has to wait for.
func TestActsAfterLeaving(t *testing.T) {
	t.Parallel()
	const first = `<!doctype html><title>first</title><h1>first</h1>
<form id=f action=/there><input id=name><input id=auto oninput="busy();f.submit()"><button id=go onclick="busy()">go</button></form>
<div id=box></div><script>
const busy=()=>{for(let i=0;i<300;i++){const d=document.createElement('p');d.textContent='line '+i;box.append(d)}}
f.onsubmit=busy</script>`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if strings.HasPrefix(r.URL.Path, "/there") {
			fmt.Fprint(w, `<!doctype html><h1>second</h1><input id=name><button id=go onclick="this.textContent='pressed'">go</button>`)
			return
		}
		fmt.Fprint(w, first)
	}))
	t.Cleanup(srv.Close)
	const read = `{"getText":"h1","options":{"push":"seen"}}`
	for _, c := range []struct{ name, actions, want string }{
		{"read after a button that submits", `{"click":"#go"},` + read, "second"},
		{"read after Enter in a field", `{"press":["#name","Enter"]},` + read, "second"},
		{"read after typing that submits", `{"fill":["#auto","x"]},` + read, "second"},
		{"type after typing that submits", `{"fill":["#auto","x"]},{"fill":["#name","new"]},{"getValue":"#name","options":{"push":"seen"}}`, "new"},
		{"click after typing that submits", `{"fill":["#auto","x"]},{"click":"#go"},{"getText":"#go","options":{"push":"seen"}}`, "pressed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := newInstance(t)
			round := fmt.Sprintf(`{"open":%q},%s`, srv.URL, c.actions)
			o := play(t, in, `{"actions":[`+strings.TrimSuffix(strings.Repeat(round+",", 15), ",")+`,{"getSavedData":"seen"}]}`, TaskEnv{})
			if len(o.Failures) > 0 {
				t.Fatal(o.Failures)
			}
			want := `{"seen":[` + strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%q,", c.want), 15), ",") + `]}`
			if string(o.Data) != want {
				t.Errorf("after leaving: %s, want %s", o.Data, want)
			}
		})
	}
}
