package engine

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestReadsAfterLeaving reads at once after input that takes the page elsewhere
// by a task of its own, as a submitted form does: what is read belongs to where
// the page goes, every time. The page paints a lot after the click, which is
// what that task has to wait for.
func TestReadsAfterLeaving(t *testing.T) {
	const first = `<!doctype html><title>first</title><h1>first</h1>
<form id=f action=/there><input id=name><input id=auto oninput="busy();f.submit()"><button id=go onclick="busy()">go</button></form>
<div id=box></div><script>
const busy=()=>{for(let i=0;i<300;i++){const d=document.createElement('p');d.textContent='line '+i;box.append(d)}}
f.onsubmit=busy</script>`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if strings.HasPrefix(r.URL.Path, "/there") {
			fmt.Fprint(w, "<!doctype html><h1>second</h1>")
			return
		}
		fmt.Fprint(w, first)
	}))
	t.Cleanup(srv.Close)
	for _, c := range []struct{ name, action string }{
		{"a button that submits", `{"click":"#go"}`},
		{"Enter in a field", `{"press":["#name","Enter"]}`},
		{"a script that submits while somebody types", `{"fill":["#auto","x"]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := newInstance(t)
			round := fmt.Sprintf(`{"open":%q},%s,{"getText":"h1","options":{"push":"seen"}}`, srv.URL, c.action)
			o := play(t, in, `{"actions":[`+strings.TrimSuffix(strings.Repeat(round+",", 15), ",")+`,{"getSavedData":"seen"}]}`, Stage{})
			if len(o.Failures) > 0 {
				t.Fatal(o.Failures)
			}
			if want := `{"seen":["second"` + strings.Repeat(`,"second"`, 14) + `]}`; string(o.Data) != want {
				t.Errorf("after leaving, %s was read, want %s", o.Data, want)
			}
		})
	}
}
