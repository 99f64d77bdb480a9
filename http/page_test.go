package http_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	nethttp "net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fetch gets an address of an edge, with headers in pairs.
func fetch(t *testing.T, e *edge, path string, headers ...string) (*nethttp.Response, []byte) {
	t.Helper()
	req, err := nethttp.NewRequest("GET", "http://"+e.addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	r, err := (&nethttp.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, b
}

// TestPage: the documents of the web page let in nothing but the service's own
// files, and have no script or style in themselves.
func TestPage(t *testing.T) {
	e := openServer(t, &fakeActors{})
	for _, path := range []string{"/", "/live"} {
		r, b := fetch(t, e, path)
		documented(t, "GET", path, r.StatusCode, r.Header.Get("Content-Type"), b)
		policy := r.Header.Get("Content-Security-Policy")
		nonce := regexp.MustCompile(`'nonce-([A-Z2-7]{20,})'`).FindStringSubmatch(policy)
		if nonce == nil || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") {
			t.Fatalf("%s: the policy is %q", path, policy)
		}
		if path == "/" && !bytes.Contains(b, []byte(`name="style-nonce" content="`+nonce[1]+`"`)) {
			t.Errorf("%s does not have the nonce that its policy names", path)
		}
		if again, _ := fetch(t, e, path); again.Header.Get("Content-Security-Policy") == policy {
			t.Errorf("%s has the same nonce twice", path)
		}
		for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, not %q", path, name, got, want)
			}
		}
		for _, bad := range []string{"<style", " style=", " onclick=", "javascript:", "http://", "https://", "{nonce}"} {
			if bytes.Contains(b, []byte(bad)) {
				t.Errorf("%s has %s", path, bad)
			}
		}
		for _, m := range regexp.MustCompile(`(?:src|href)="(/app/[^"]+)"`).FindAllSubmatch(b, -1) {
			if r, _ := fetch(t, e, string(m[1])); r.StatusCode != 200 {
				t.Errorf("%s names %s, which answers %d", path, m[1], r.StatusCode)
			}
		}
	}
}

// TestPageFiles: what a module imports is there, in the type that browsers want,
// zipped for who can read that, and not sent twice.
func TestPageFiles(t *testing.T) {
	e := openServer(t, &fakeActors{})
	modules, err := filepath.Glob("pages/app/*.js")
	if err != nil || len(modules) < 15 {
		t.Fatalf("%d modules: %v", len(modules), err)
	}
	imported := regexp.MustCompile(`(?:from |import\()"\./([^"]+)"`)
	for _, file := range modules {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		path := "/app/" + filepath.Base(file)
		r, b := fetch(t, e, path)
		documented(t, "GET", path, r.StatusCode, r.Header.Get("Content-Type"), b)
		if r.StatusCode != 200 || !bytes.Equal(b, want) || r.Header.Get("Content-Type") != "text/javascript; charset=utf-8" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s answers %d with %d bytes, %v", path, r.StatusCode, len(b), r.Header)
		}
		z, b := fetch(t, e, path, "Accept-Encoding", "gzip")
		if un, err := gzip.NewReader(bytes.NewReader(b)); err != nil || z.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s zipped: %v, %v", path, err, z.Header)
		} else if got, err := io.ReadAll(un); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s zipped has other content: %v", path, err)
		}
		if r, b := fetch(t, e, path, "If-None-Match", r.Header.Get("ETag")); r.StatusCode != 304 || len(b) > 0 {
			t.Errorf("%s again answers %d with %d bytes", path, r.StatusCode, len(b))
		}
		for _, m := range imported.FindAllSubmatch(want, -1) {
			if r, _ := fetch(t, e, "/app/"+string(m[1])); r.StatusCode != 200 {
				t.Errorf("%s imports %s, which answers %d", file, m[1], r.StatusCode)
			}
		}
	}
	for _, path := range []string{"/app/", "/app/index.html", "/app/../page.go", "/app/%2e%2e/page.go", "/app/vendor", "/app/nothing.js"} {
		if r, _ := fetch(t, e, path); r.StatusCode != 404 {
			t.Errorf("%s answers %d", path, r.StatusCode)
		}
	}
}

// TestTheEditorIsCurrent: the bundle was made from what is beside it.
func TestTheEditorIsCurrent(t *testing.T) {
	sum := sha256.New()
	for _, name := range []string{"codemirror.js", "package-lock.json", "build.js"} {
		b, err := os.ReadFile(filepath.Join("pages", "editor", name))
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(b)
	}
	b, err := os.ReadFile("pages/app/vendor/codemirror.js")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b[:300], []byte("// made from "+hex.EncodeToString(sum.Sum(nil))+"\n")) {
		t.Error("the editor was made from something else: run make editor")
	}
	lock, err := os.ReadFile("pages/editor/package-lock.json")
	if err != nil || bytes.Contains(lock, []byte("://")) {
		t.Errorf("the lock file names where packages were fetched: %v", err)
	}
}
