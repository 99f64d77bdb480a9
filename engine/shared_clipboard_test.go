package engine

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// TestASharedClipboardIsNobodysElse: the clipboard of a shared browser is one. A
// worker that leaves takes what it has copied with it, though it was not reset;
// what another account has copied is gone before a task begins; and where several
// accounts may be in one browser at a time, nothing is pasted at all.
func TestASharedClipboardIsNobodysElse(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	launch, _ := sharing(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, copyingPage)
	}))
	defer srv.Close()
	url := srv.URL
	copies := func(in *instance, account string) {
		t.Helper()
		o := play(t, in, fmt.Sprintf(`{"actions":[{"open":%q},{"click":"#copy"},{"findByText":"copied"}]}`, url), TaskEnv{Account: account})
		if len(o.Failures) > 0 {
			t.Fatal(failuresOf(o))
		}
	}
	pasted := func(in *instance, account, key string) string {
		t.Helper()
		o := play(t, in, fmt.Sprintf(`{"config":{"continueOnError":false},"actions":[{"open":%q},{"press":["#to",%q]},{"findByText":"pasted","options":{"exact":false}},{"evaluate":"return said.textContent"}]}`, url, key), TaskEnv{Account: account})
		if len(o.Failures) > 0 {
			return o.Failures[0].Text
		}
		return string(o.Data)
	}
	a, b := launch(), launch()
	copies(a, "ada")
	if got := pasted(b, "ada", "Control+V"); got != `"pasted a text ü|"` {
		t.Fatalf("within an account, the page says %s: the test proves nothing", got)
	}
	if got := pasted(b, "bob", "Control+V"); got != `"pasted nothing |"` {
		t.Errorf("another account pastes %s", got)
	}
	copies(a, "ada")
	a.Close() // as when its worker is replaced
	if got := pasted(b, "ada", "Shift+Insert"); got != `"pasted nothing |"` {
		t.Errorf("after the end of a worker, another pastes %s", got)
	}

	a = launch()
	a.engine.Mixed = true
	for _, key := range []string{"Control+V", "Control+Shift+v", "Shift+Insert", "Control+Alt+V", "Paste"} {
		copies(a, "ada")
		if got, want := pasted(b, "ada", key), key+" pastes, and accounts share the clipboard here (--share-browsers-between-accounts): fill puts text into a field"; got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
	// No script reads it, not even of a task, with a person's word.
	copies(a, "ada")
	o := play(t, b, fmt.Sprintf(`{"actions":[{"open":%q},{"click":"#to"},{"evaluate":"const f = document.createElement('textarea'); document.body.append(f); f.focus(); const ok = document.execCommand('paste'); let read; try { read = await navigator.clipboard.readText() } catch (e) { read = e.name } return [ok, f.value, read]"}]}`, url), TaskEnv{Account: "bob"})
	if got := string(o.Data); got != `[false,"","NotAllowedError"]` {
		t.Errorf("a script reads %s: %v", got, failuresOf(o))
	}
	o = play(t, a, fmt.Sprintf(`{"actions":[{"open":%q},{"paste":["#to","text"]}]}`, url), TaskEnv{Account: "ada"})
	if len(o.Failures) != 1 || o.Failures[0].Code != CodeInvalidValue || !strings.Contains(o.Failures[0].Text, "accounts share") {
		t.Errorf("paste: %s", failuresOf(o))
	}
}
