package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

var only = flag.String("case", "", "run only the cases whose name matches")

// A script is a txtar file with pages and cases:
//
//	-- page.html --            a page, served under its name
//	-- case what is shown --   a request; {{url}} is the server, {{other}} the same server as another origin
//	-- want --                 what its answer must hold
//
// In want, each field must be in the answer with that value: "data" as a whole,
// other objects at least with the fields named. A string that begins with "~" is
// a regular expression.
type script struct {
	pages map[string][]byte
	cases []scriptCase
}

type scriptCase struct{ name, task, want string }

func readScript(t *testing.T, path string) script {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := script{pages: map[string][]byte{}}
	for _, f := range a.Files {
		switch name, isCase := strings.CutPrefix(f.Name, "case "); {
		case isCase:
			s.cases = append(s.cases, scriptCase{name: name, task: string(f.Data)})
		case f.Name == "want":
			if len(s.cases) == 0 || s.cases[len(s.cases)-1].want != "" {
				t.Fatalf("%s: a want without its case", path)
			}
			s.cases[len(s.cases)-1].want = string(f.Data)
		default:
			s.pages["/"+f.Name] = f.Data
		}
	}
	return s
}

// server serves a script's pages, and addresses that behave in some way: see
// each case below.
func (s script) server(t *testing.T) (base, other string) {
	stop := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if ms, err := strconv.Atoi(q.Get("delay")); err == nil {
			select {
			case <-time.After(time.Duration(ms) * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
		switch {
		case r.URL.Path == "/hang": // never answers
			select {
			case <-r.Context().Done():
			case <-stop:
			}
			return
		case r.URL.Path == "/json":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"method":%q,"query":%q}`, r.Method, r.URL.RawQuery)
			return
		case r.URL.Path == "/echo": // shows what was sent
			r.ParseMultipartForm(1 << 20)
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<pre id=form>%s</pre><pre id=cookies>%s</pre>", r.Form.Encode(), r.Header.Get("Cookie"))
			return
		case r.URL.Path == "/cookie":
			http.SetCookie(w, &http.Cookie{Name: q.Get("name"), Value: q.Get("value"), Path: "/", HttpOnly: q.Has("httponly")})
			fmt.Fprint(w, "set")
			return
		case r.URL.Path == "/redirect":
			http.Redirect(w, r, q.Get("to"), http.StatusFound)
			return
		case r.URL.Path == "/download":
			w.Header().Set("Content-Disposition", `attachment; filename="`+q.Get("name")+`"`)
			fmt.Fprint(w, "the file")
			return
		case r.URL.Path == "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: one\n\n")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-stop:
			}
			return
		case r.URL.Path == "/empty":
			w.WriteHeader(http.StatusNoContent)
			return
		}
		body, ok := s.pages[r.URL.Path]
		if !ok {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<h1>not here</h1>")
			return
		}
		switch filepath.Ext(r.URL.Path) {
		case ".html":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		case ".js":
			w.Header().Set("Content-Type", "text/javascript")
		}
		if csp := q.Get("csp"); csp != "" {
			w.Header().Set("Content-Security-Policy", csp)
		}
		w.Write(bytes.ReplaceAll(body, []byte("{{other}}"), []byte("http://localhost:"+port(r.Host))))
	}))
	t.Cleanup(func() { close(stop); srv.Close() })
	return srv.URL, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
}

func port(host string) string { _, p, _ := strings.Cut(host, ":"); return p }

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		s := readScript(t, file)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			base, other := s.server(t)
			for _, c := range s.cases {
				if *only != "" && !regexp.MustCompile(*only).MatchString(c.name) {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					fill := strings.NewReplacer("{{url}}", base, "{{other}}", other)
					runCase(t, fill.Replace(c.task), fill.Replace(c.want))
				})
			}
		})
	}
}

func runCase(t *testing.T, body, want string) {
	t.Helper()
	got, k := answer(t, body)
	_ = k
	var w map[string]any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("reading want: %v\n%s", err, want)
	}
	var diffs []string
	for key, v := range w {
		matchValue(key, v, got[key], key == "data", &diffs)
	}
	if len(diffs) > 0 {
		full, _ := json.MarshalIndent(got, "", "  ")
		t.Errorf("%s\nin\n%s\nrequest\n%s", strings.Join(diffs, "\n"), full, body)
	}
}

// answer is the outcome of a request as a plain value.
func answer(t *testing.T, body string) (map[string]any, *kept) {
	t.Helper()
	k := &kept{}
	task, err := Parse([]byte(body), testFiles(t))
	if err != nil {
		var faults []any
		for _, f := range err.(*Invalid).Faults {
			faults = append(faults, f.Path+": "+f.Message)
		}
		return map[string]any{"invalid": faults}, k
	}
	in := newInstance(t)
	ctx, cancel := context.WithTimeout(context.Background(), task.Timeout)
	defer cancel()
	o := in.Play(ctx, task, Stage{SaveFile: k.save})
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if f, ok := got["failures"].([]any); ok {
		got["failures"] = f
		first := f[0].(map[string]any)
		got["error"], got["code"] = first["error"], first["code"]
	}
	if w, ok := got["warnings"].([]any); ok {
		got["warning"] = w[0].(map[string]any)["message"]
	}
	return got, k
}

func testFiles(*testing.T) []Upload { return nil }

func directFetch(ctx context.Context, url string, limit int64) (string, io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", nil, err
	}
	return filepath.Base(req.URL.Path), res.Body, nil
}

func matchValue(path string, want, got any, exact bool, diffs *[]string) {
	bad := func() {
		w, _ := json.Marshal(want)
		g, _ := json.Marshal(got)
		*diffs = append(*diffs, fmt.Sprintf("%s: want %s, got %s", path, w, g))
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || exact && len(g) != len(w) {
			bad()
			return
		}
		for k, v := range w {
			matchValue(path+"."+k, v, g[k], exact, diffs)
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			bad()
			return
		}
		for i := range w {
			matchValue(fmt.Sprintf("%s[%d]", path, i), w[i], g[i], exact, diffs)
		}
	case string:
		if re, ok := strings.CutPrefix(w, "~"); ok {
			g, isString := got.(string)
			if !isString || !regexp.MustCompile(re).MatchString(g) {
				bad()
			}
			return
		}
		if got != want {
			bad()
		}
	default:
		if got != want {
			bad()
		}
	}
}
