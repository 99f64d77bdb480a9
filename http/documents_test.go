package http_test

import (
	"crypto/sha256"
	"encoding/base64"
	nethttp "net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"troupe/engine"
)

// plainPage complains of a page of the documents that could do more than be
// read: the style and the one script in it are those that its policy names, and
// nothing comes from elsewhere.
func plainPage(t *testing.T, r *nethttp.Response, b []byte) {
	t.Helper()
	page, policy := string(b), r.Header.Get("Content-Security-Policy")
	for _, kind := range []string{"script", "style"} {
		parts := regexp.MustCompile("(?s)<"+kind+"[^>]*>(.*?)</"+kind+">").FindAllStringSubmatch(page, -1)
		if len(parts) != 1 {
			t.Fatalf("the page has %d of <%s>", len(parts), kind)
		}
		sum := sha256.Sum256([]byte(parts[0][1]))
		if want := kind + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "';"; !strings.Contains(policy, want) {
			t.Errorf("the policy is %q, want %s in it", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("the policy is %q", policy)
	}
	for _, bad := range []string{" style=", " onclick=", "ZgotmplZ", "&lt;nil&gt;", `src="http`, `src="//`, "<iframe"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	// The one form there may be asks this service, and nothing can send it elsewhere.
	if forms := strings.Count(page, "<form"); forms != 1 || !strings.Contains(page, `<form role="search" action="/docs/search" method="get">`) || !strings.Contains(policy, "form-action 'self';") {
		t.Errorf("the page has %d forms, or another than that of the search; the policy is %q", forms, policy)
	}
	for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Content-Type": "text/html; charset=utf-8"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
}

// TestDocsPage: the page links to what is in it, and shows every operation and
// action.
func TestDocsPage(t *testing.T) {
	e := openServer(t, &fakeActors{})
	r, b := fetch(t, e, "/docs")
	if r.StatusCode != 200 {
		t.Fatal(r.StatusCode)
	}
	page := string(b)
	plainPage(t, r, b)
	ids := map[string]int{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		ids[m[1]]++
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d places are called %s", n, id)
		}
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] == 0 {
			t.Errorf("a link leads to #%s, which is not there", m[1])
		}
	}
	want := engine.ActionNames()
	for _, path := range at(openAPI().raw, "paths") {
		for _, op := range path.(map[string]any) {
			id := op.(map[string]any)["operationId"].(string)
			if id != "executeAlias" {
				want = append(want, id)
			}
		}
	}
	slices.Sort(want)
	for _, id := range want {
		if ids[id] == 0 {
			t.Errorf("%s is not shown", id)
		}
	}
}

// TestDocuments: the documents are shown without a token, each in its place of
// the contents, and again only when they have changed.
func TestDocuments(t *testing.T) {
	e := openServer(t, &fakeActors{})
	for path, want := range map[string][]string{
		"/docs/start":         {`<title>Troupe</title>`, `href="/docs/start" aria-current="page"`, `href="/docs/actions"`},
		"/docs/actions/click": {`<h1 id="click">click</h1>`, `href="/docs/actions/click" aria-current="page"`, `href="/docs/actions/fill"`, `rel="next"`},
		"/docs/api":           {`href="#sessions"`, `href="/docs/errors"`},
		"/docs/recipes":       {`href="/docs/recipes/paging"`},
	} {
		r, b := fetch(t, e, path)
		documented(t, "GET", path, r.StatusCode, r.Header.Get("Content-Type"), b)
		if r.StatusCode != 200 {
			t.Errorf("%s answers %d", path, r.StatusCode)
			continue
		}
		plainPage(t, r, b)
		for _, w := range want {
			if !strings.Contains(string(b), w) {
				t.Errorf("%s has nothing of %s", path, w)
			}
		}
		for _, m := range regexp.MustCompile(`(?:href|src)="(/[^"#]*)`).FindAllStringSubmatch(string(b), -1) {
			if r, _ := fetch(t, e, m[1]); r.StatusCode != 200 {
				t.Errorf("%s leads to %s, which answers %d", path, m[1], r.StatusCode)
			}
		}
		if again, b := fetch(t, e, path, "If-None-Match", r.Header.Get("ETag")); again.StatusCode != 304 || len(b) > 0 {
			t.Errorf("%s again answers %d with %d bytes", path, again.StatusCode, len(b))
		}
	}
	for _, accept := range []string{"text/html,application/xhtml+xml;q=0.9", "application/json", ""} {
		r, b := fetch(t, e, "/docs/nothing", "Accept", accept)
		if kind := r.Header.Get("Content-Type"); r.StatusCode != 404 || strings.HasPrefix(kind, "text/html") != strings.HasPrefix(accept, "text/html") {
			t.Errorf("an unknown page is answered with %d as %s to %q", r.StatusCode, kind, accept)
		} else if strings.HasPrefix(kind, "text/html") {
			plainPage(t, r, b)
		}
	}
	for _, path := range []string{"/docs/images/usage-390.png", "/docs/scale.svg"} {
		r, b := fetch(t, e, path)
		if r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), "image/") || len(b) < 1000 || r.Header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" {
			t.Errorf("%s answers %d with %d bytes and %v", path, r.StatusCode, len(b), r.Header)
		}
	}
	for _, path := range []string{"/docs/", "/docs/actions/", "/docs/click", "/docs/api.md", "/docs/docs/api", "/docs/../go.mod", "/docs/%2e%2e/go.mod", "/docs/images/", "/docs/images/nothing.png", "/docs/decisions/README"} {
		r, b := fetch(t, e, path)
		documented(t, "GET", path, r.StatusCode, r.Header.Get("Content-Type"), b)
		if r.StatusCode != 404 {
			t.Errorf("%s answers %d", path, r.StatusCode)
		}
	}
}

// TestSearchingDocuments: the field of each page leads to the parts that have the
// words. What was typed comes back as text.
func TestSearchingDocuments(t *testing.T) {
	e := openServer(t, &fakeActors{})
	for _, c := range []struct{ name, query, want, not string }{
		{"nothing asked", "", "Type words into the field", "<ol"},
		{"only spaces", "?q=+%20", "Type words into the field", "<ol"},
		{"a heading and what is said there", "?q=uploadFile", `<a href="/docs/actions/uploadFile">uploadFile</a>`, ""},
		{"the words are marked", "?q=uploadFile", "<mark>uploadFile</mark>", ""},
		{"the words stay in the field", "?q=log+in", `name="q" value="log in"`, ""},
		{"nothing found", "?q=qqzzyx", "The documentation has no match for “qqzzyx”.", "<ol><li"},
		{"what runs elsewhere is text here", "?q=%3Cscript%3Ealert(1)%3C/script%3E", "&lt;script&gt;alert(1)&lt;/script&gt;", "<script>alert"},
		{"quotes end nothing", `?q=%22+onfocus=%22x`, `value="&#34; onfocus=&#34;x"`, `" onfocus="x`},
		{"one letter finds much, and shows some of it", "?q=e", "The best 30 sections", ""},
		{"as many letters as may be", "?q=" + strings.Repeat("%C3%A9", 200), "The documentation has no match", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, b := fetch(t, e, "/docs/search"+c.query)
			documented(t, "GET", "/docs/search", r.StatusCode, r.Header.Get("Content-Type"), b)
			if r.StatusCode != 200 {
				t.Fatalf("it answers %d %s", r.StatusCode, b)
			}
			plainPage(t, r, b)
			if !strings.Contains(string(b), c.want) {
				t.Errorf("the page has nothing of %s: %s", c.want, b)
			}
			if c.not != "" && strings.Contains(string(b), c.not) {
				t.Errorf("the page has %s: %s", c.not, b)
			}
		})
	}
	for _, query := range []string{"?q=" + strings.Repeat("a", 201), "?q=%ff%fe"} {
		r, b := fetch(t, e, "/docs/search"+query)
		documented(t, "GET", "/docs/search", r.StatusCode, r.Header.Get("Content-Type"), b)
		if r.StatusCode != 400 || !strings.Contains(string(b), "200 characters") {
			t.Errorf("%.20s answers %d %s", query, r.StatusCode, b)
		}
	}
}
