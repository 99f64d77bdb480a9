package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestASessionGoesOnInAnotherBrowser(t *testing.T) {
	var loads atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" {
			return
		}
		loads.Add(1)
		user := "nobody"
		if c, err := r.Cookie("user"); err == nil {
			user = c.Value
		}
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "user", Value: "ada", Path: "/", HttpOnly: true})
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<h1>%s %s</h1>", user, r.URL.Path)
	}))
	defer srv.Close()
	a := srv.URL
	b := strings.Replace(a, "127.0.0.1", "localhost", 1)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	first := newInstance(t)
	// b is visited and left again: its storage must not be forgotten.
	o := play(t, first, `{"actions":[{"open":"`+b+`/left"},{"evaluate":"localStorage.b='of b'"},{"open":"`+a+`/login"},{"evaluate":"localStorage.a='of a'; sessionStorage.s='of the tab'"},{"open":"`+a+`/cart"},`+
		`{"openNewTab":"`+a+`/second","options":{"closeOthers":false}},{"setViewportSize":[600,500]}]}`, TaskEnv{})
	if o.End != EndCompleted || len(o.Failures) > 0 {
		t.Fatalf("%s %v", o.End, o.Failures)
	}
	before := loads.Load()
	state, err := first.Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := first.Save(ctx); err != nil || !sameState(state, again) {
		t.Errorf("saving twice gives\n%s\nand\n%s, %v", state, again, err)
	}
	second := newInstance(t)
	if err := second.Restore(ctx, state, nil); err != nil {
		t.Fatal(err)
	}
	if n := loads.Load(); n != before {
		t.Errorf("saving and restoring made %d requests", n-before)
	}
	// Saving a restored session that nobody has used keeps its tabs.
	if unused, err := second.Save(ctx); err != nil || !strings.Contains(string(unused), "/cart") {
		t.Errorf("a restored session that was not used saves as %s, %v", unused, err)
	}
	o = play(t, second, `{"actions":[{"evaluate":"return [document.querySelector('h1').textContent, localStorage.a, innerWidth]"}]}`, TaskEnv{})
	if string(o.Data) != `["ada /second","of a",600]` || !o.Restored {
		t.Errorf("the current tab is %s, restored %v, %v", o.Data, o.Restored, o.Failures)
	}
	if n := len(second.context().Tabs()); n != 2 {
		t.Errorf("there are %d tabs, want 2", n)
	}
	below, err := second.context().Tabs()[0].Script.Evaluate(ctx, "return [location.pathname, sessionStorage.s]", nil, false)
	if err != nil || string(below) != `["/cart","of the tab"]` {
		t.Errorf("the tab below is %s, %v", below, err)
	}
	o = play(t, second, `{"actions":[{"open":"`+b+`/back"},{"evaluate":"return localStorage.b"}]}`, TaskEnv{})
	if string(o.Data) != `"of b"` || o.Restored {
		t.Errorf("the site that was left has %s, restored %v", o.Data, o.Restored)
	}
}

func sameState(a, b json.RawMessage) bool {
	var x, y map[string]any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}
