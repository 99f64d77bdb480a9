package http_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"troupe/http"
)

// notAsked are headers that handlers read and that pages may send without asking, or
// never send themselves.
var notAsked = []string{"Origin", "Accept", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "Sec-Websocket-Protocol", "Accept-Encoding", "Expect", "Content-Encoding",
	"Access-Control-Request-Method", "Content-Length", "Transfer-Encoding", "Content-Transfer-Encoding"}

// TestPreflightOfEveryRoute: what the browser asks before it sends a request of an
// allowed page is answered from the table of routes, with each method at the path and
// each header that the route reads.
func TestPreflightOfEveryRoute(t *testing.T) {
	e := openServer(t, &fakeActors{}, func(cfg *http.Config) { cfg.Origins = []string{"https://console.example"} })
	list := func(h map[string][]string, name string) []string {
		all := strings.Split(strings.Join(h[name], ", "), ", ")
		for i := range all {
			all[i] = strings.ToLower(all[i])
		}
		return all
	}
	for _, w := range http.Routes() {
		path := regexp.MustCompile(`{[^}]*}`).ReplaceAllString(w.Path, "x")
		status, _, h := e.ask(t, "OPTIONS "+path, "Host: troupe.example", "Origin: https://console.example", "Access-Control-Request-Method: "+w.Method,
			"Access-Control-Request-Headers: "+strings.ToLower(strings.Join(w.Headers, ",")))
		if status != 204 || !slices.Contains(list(h, "Access-Control-Allow-Methods"), strings.ToLower(w.Method)) {
			t.Errorf("%s %s: %d, the methods are %q", w.Method, w.Path, status, h["Access-Control-Allow-Methods"])
		}
		want := []string{"X-Request-Id"}
		if w.Entry != "nothing" {
			want = append(want, "Authorization")
		}
		if w.Method == "POST" || w.Method == "PUT" {
			want = append(want, "Content-Type")
		}
		switch {
		case w.Path == "/mcp":
			want = append(want, "Mcp-Protocol-Version", "Mcp-Session-Id", "Troupe-Sites", "Troupe-Allow")
		case strings.HasSuffix(w.Path, "/events"):
			want = append(want, "Last-Event-ID")
		case w.Path == "/v1/" || w.Path == "/v1/execute":
			want = append(want, "Idempotency-Key", "traceparent")
		case w.Path == "/files/{file}":
			want = append(want, "Range")
		}
		for _, header := range append(want, w.Headers...) {
			if !slices.Contains(list(h, "Access-Control-Allow-Headers"), strings.ToLower(header)) {
				t.Errorf("%s %s: %s is not among the headers %q", w.Method, w.Path, header, h["Access-Control-Allow-Headers"])
			}
		}
	}
	if status, _, h := e.ask(t, "OPTIONS /nowhere", "Host: troupe.example", "Origin: https://console.example", "Access-Control-Request-Method: POST"); status != 204 ||
		!slices.Contains(list(h, "Access-Control-Allow-Methods"), "post") {
		t.Errorf("where nothing is: %d %v", status, h)
	}
}

// TestHeadersThatRoutesRead finds a header that some handler reads and no route names.
func TestHeadersThatRoutesRead(t *testing.T) {
	var named []string
	for _, w := range http.Routes() {
		for _, h := range w.Headers {
			named = append(named, strings.ToLower(h))
		}
	}
	read := regexp.MustCompile(`Request\.Header\.Peek(?:All)?\("([^"]+)"|Request\.Header\.Peek(?:All)?\(fasthttp\.Header(\w+)\)`)
	found := 0
	for _, pattern := range []string{"*.go", "*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range read.FindAllSubmatch(b, -1) {
				plain := strings.ToLower(strings.ReplaceAll(string(bytes.Join(m[1:], nil)), "-", ""))
				found++
				same := func(h string) bool { return strings.ReplaceAll(strings.ToLower(h), "-", "") == plain }
				if !slices.ContainsFunc(named, same) && !slices.ContainsFunc(notAsked, same) {
					t.Errorf("%s reads %s: name it with reading at its route", name, bytes.Join(m[1:], nil))
				}
			}
		}
	}
	if found < 8 {
		t.Errorf("only %d places were found that read headers", found)
	}
}
