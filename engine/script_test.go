package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"

	"troupe/testkit/need"
)

var only = flag.String("case", "", "run only the cases whose name matches")

// A script is a txtar file with pages and cases:
//
//	-- page.html --            a page, served under its name; in it, {{other}} and {{third}} are the
//	                           same server as other sites, {{port}} is another origin of its own site,
//	                           {{own}} its own
//	-- file a.txt --           a file of the request: $file:0 is the first
//	-- flow name@2 --          a stored flow; without a version it is the first
//	-- case what is shown --   a request; {{url}} is the server, {{other}} the same server as another origin,
//	                           {{soon}} a time in a month, in seconds since the epoch
//	-- want --                 what its answer must hold
//
// With "Through the proxy." in the comment before the first of them, the browser
// goes through the outbound proxy.
//
// In want, each field must be in the answer with that value: "data" as a whole,
// other objects at least with the fields named. A string that begins with "~" is
// a regular expression, null wants nothing to be there. Beside the outcome's own
// fields there are "error" and "code" of the first failure, "warning", "notes" of
// all steps of the trace, "dataHas" with some fields of the data, "invalid"
// with the faults of a request that was refused, "picture" (see picture_test.go)
// and "within", the most milliseconds that it may have taken.
//
// A case's name may end in tags such as [css] [iframe]: the columns of
// docs/coverage.md that it fills in the row of its file's action.
type script struct {
	proxied bool
	pages   map[string][]byte
	files   []scriptFile
	flows   FlowList
	cases   []scriptCase
}

type scriptFile struct {
	name string
	data []byte
}

type scriptCase struct {
	name, task, want string
	tags             []string
}

var soon = strconv.FormatInt(time.Now().Add(30*24*time.Hour).Unix(), 10)

var tagged = regexp.MustCompile(`^(.*?)((?: \[[$a-z ]+\])*)$`)

func newCase(name string) scriptCase {
	m := tagged.FindStringSubmatch(name)
	c := scriptCase{name: m[1]}
	for _, tag := range strings.Split(m[2], "]") {
		if tag = strings.TrimLeft(tag, " ["); tag != "" {
			c.tags = append(c.tags, tag)
		}
	}
	return c
}

func readScript(t *testing.T, path string) script {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := script{pages: map[string][]byte{}, proxied: bytes.Contains(a.Comment, []byte("Through the proxy."))}
	for _, f := range a.Files {
		switch name, isCase := strings.CutPrefix(f.Name, "case "); {
		case isCase:
			c := newCase(name)
			c.task = string(f.Data)
			s.cases = append(s.cases, c)
		case f.Name == "want":
			if len(s.cases) == 0 || s.cases[len(s.cases)-1].want != "" {
				t.Fatalf("%s: a want without its case", path)
			}
			s.cases[len(s.cases)-1].want = string(f.Data)
		case strings.HasPrefix(f.Name, "file "):
			s.files = append(s.files, scriptFile{strings.TrimPrefix(f.Name, "file "), f.Data})
		case strings.HasPrefix(f.Name, "flow "):
			name, version, ok := ParseFlowReference(strings.TrimPrefix(f.Name, "flow "))
			if !ok {
				t.Fatalf("%s: the name of %s", path, f.Name)
			}
			s.flows = append(s.flows, StoredFlow{name, max(1, version), f.Data, nil})
		default:
			s.pages["/"+f.Name] = f.Data
		}
	}
	return s
}

// TestScripts plays all cases if all tests are asked for, or it is named. Otherwise it
// plays every fifth case of a script, and every third of those that fill a column of the
// coverage table.
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
			with := s.given(t)
			for i, c := range s.cases {
				if *only != "" && !regexp.MustCompile(*only).MatchString(c.name) || !need.Nth(i, 5) && (len(c.tags) == 0 || !need.Nth(i, 3)) {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					fill := strings.NewReplacer("{{url}}", base, "{{other}}", other, "{{soon}}", soon, "{{tls}}", strings.Replace(base, "http", "https", 1))
					instance := newInstance
					if s.proxied {
						instance = newProxied
					}
					runCaseOn(t, instance, fill.Replace(c.task), fill.Replace(c.want), with)
				})
			}
		})
	}
}

// given is what comes with a request.
type given struct {
	files []Upload
	flows FlowList
}

// given is what comes with each request of the script.
func (s script) given(t *testing.T) (out given) {
	out.flows = s.flows
	for _, f := range s.files {
		path := filepath.Join(t.TempDir(), "upload")
		if err := os.WriteFile(path, f.data, 0o600); err != nil {
			t.Fatal(err)
		}
		out.files = append(out.files, Upload{Name: f.name, Path: path, Size: int64(len(f.data))})
	}
	return out
}

func runCase(t *testing.T, body, want string, with given) {
	t.Helper()
	runCaseOn(t, newInstance, body, want, with)
}

func runCaseOn(t *testing.T, instance func(testing.TB) *instance, body, want string, with given) {
	t.Helper()
	var w map[string]any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("reading want: %v\n%s", err, want)
	}
	got, k := answerOf(t, instance, body, with)
	var diffs []string
	for key, v := range w {
		switch key {
		case "picture":
			diffs = append(diffs, k.picture(t, v.(map[string]any))...)
		case "within":
			if ms := got["duration"].(float64) / 1e6; ms > v.(float64) {
				diffs = append(diffs, fmt.Sprintf("within: want %v ms, took %.0f", v, ms))
			}
		case "dataHas":
			matchValue(key, v, got["data"], false, &diffs)
		default:
			matchValue(key, v, got[key], key == "data", &diffs)
		}
	}
	if len(diffs) > 0 {
		full, _ := json.MarshalIndent(got, "", "  ")
		t.Errorf("%s\nin\n%s\nrequest\n%s", strings.Join(diffs, "\n"), full, body)
	}
}

// answer is the outcome of a request as a plain value.
func answer(t *testing.T, body string, with given) (map[string]any, *kept) {
	t.Helper()
	return answerOf(t, newInstance, body, with)
}

func answerOf(t *testing.T, instance func(testing.TB) *instance, body string, with given) (map[string]any, *kept) {
	t.Helper()
	k := &kept{}
	task, err := ParseWith([]byte(body), with.files, with.flows)
	if err != nil {
		var faults []any
		for _, f := range err.(*Invalid).Faults {
			faults = append(faults, f.Path+": "+f.Message)
		}
		return map[string]any{"invalid": faults}, k
	}
	in := instance(t)
	ctx, cancel := context.WithTimeout(context.Background(), task.Timeout)
	defer cancel()
	o := in.Play(ctx, task, TaskEnv{SaveFile: k.save})
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	if !jsontext.Value(b).IsValid() { // as strict readers take it: whole characters, and names once
		t.Errorf("the outcome is no JSON: %.500s", b)
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if f, ok := got["failures"].([]any); ok {
		first := f[0].(map[string]any)
		got["error"], got["code"] = first["error"], first["code"]
	}
	var notes []any
	for i := range o.Steps {
		for _, n := range o.Steps[i].Notes {
			notes = append(notes, n)
		}
	}
	got["notes"] = notes
	if w, ok := got["warnings"].([]any); ok {
		got["warning"] = w[0].(map[string]any)["message"]
	}
	return got, k
}

func directFetch(ctx context.Context, url string, limit int64, may func(string) error) (string, io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", nil, err
	}
	res, err := following(http.DefaultClient, may).Do(req)
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
