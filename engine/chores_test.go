package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/testkit/need"
)

// TestChores does what people do in applications that nobody here wrote, each chore
// once as it goes well, and once more with something in its way that the list itself
// has to catch. Scripts are those of TestApps; "server" in want is what the server has
// got, other than requests for something.
func TestChores(t *testing.T) {
	need.Registry(t)
	need.All(t)
	root := installedApps(t)
	files, err := filepath.Glob("testdata/chores/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no chores", err)
	}
	chores := map[string]int{}
	imports := importMap(t, root)
	for _, file := range files {
		s := readScript(t, file)
		for _, c := range s.cases {
			name, _, _ := strings.Cut(c.name, ", but ")
			chores[name]++
		}
		with := s.given(t)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			for _, c := range s.cases {
				if *only != "" && !regexp.MustCompile(*only).MatchString(c.name) {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					doChore(t, s, c, with, &choreServer{t: t, root: root, imports: imports, pages: s.pages})
				})
			}
		})
	}
	for name, n := range chores {
		if n != 2 {
			t.Errorf("the chore %q has %d cases, want one that goes well and one that does not", name, n)
		}
	}
	if len(chores) < 40 {
		t.Errorf("there are %d chores, want 40", len(chores))
	}
}

// doChore runs one case, and compares what its server got.
func doChore(t *testing.T, s script, c scriptCase, with given, srv *choreServer) {
	url := srv.start()
	fill := strings.NewReplacer("{{url}}", url, "{{other}}", strings.Replace(url, "127.0.0.1", "localhost", 1))
	with.flows = slices.Clone(with.flows)
	for i := range with.flows {
		with.flows[i].Source = []byte(fill.Replace(string(with.flows[i].Source)))
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(fill.Replace(c.want)), &want); err != nil {
		t.Fatalf("reading want: %v", err)
	}
	server, checked := want["server"]
	delete(want, "server")
	rest, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	task := fill.Replace(c.task)
	if n := stepsOf(t, task, with); n < 6 {
		t.Errorf("the chore has %d steps, want 6 or more", n)
	}
	runCase(t, task, string(rest), with)
	if checked {
		var diffs []string
		matchValue("server", server, srv.got(), true, &diffs)
		if len(diffs) > 0 {
			t.Errorf("%s\nThe server got %q", strings.Join(diffs, "\n"), srv.got())
		}
	}
}

// stepsOf counts the actions of a task, but not the one that runs a flow.
func stepsOf(t *testing.T, task string, with given) int {
	parsed, err := ParseWith([]byte(task), with.files, with.flows)
	if err != nil {
		t.Fatalf("%v\n%s", err, task)
	}
	return parsed.Review(time.Hour).Actions - strings.Count(task, `"run"`)
}

// choreServer serves the pages of a chore, the packages, and the backend of all the
// applications. Each case has one of its own.
type choreServer struct {
	t             *testing.T
	root, imports string
	pages         map[string][]byte

	mu       sync.Mutex
	requests []any          // what was sent to it
	times    map[string]int // how often each address was sent something
}

func (s *choreServer) start() string {
	s.times = map[string]int{}
	srv := httptest.NewServer(s)
	s.t.Cleanup(srv.Close)
	return srv.URL
}

func (s *choreServer) got() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]any{}, s.requests...)
}

// choreLib is what the applications of chores have in common.
const choreLib = `const q = new URLSearchParams(location.search);
const send = async (method, path, body) => {
	const json = !(body instanceof FormData);
	const r = await fetch(path, {method, headers: json ? {'Content-Type': 'application/json'} : {}, body: json ? JSON.stringify(body) : body});
	if (!r.ok) throw new Error('status ' + r.status);
	return r.json();
};
const post = (path, body) => send('POST', path, body);
const get = async (path) => { const r = await fetch(path); if (!r.ok) throw new Error('status ' + r.status); return r.json() };
const say = (text) => { let e = document.getElementById('said'); if (!e) { e = document.createElement('p'); e.id = 'said'; document.body.append(e) } e.textContent = text };
`

func (s *choreServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Allow-Headers", "*")
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/npm/"):
		servePackage(w, r, s.root)
	case path == "/lib.js":
		w.Header().Set("Content-Type", "text/javascript")
		io.WriteString(w, choreLib)
	case strings.HasPrefix(path, "/api/"):
		s.api(w, r, strings.TrimPrefix(path, "/api/"))
	case strings.HasPrefix(path, "/export."):
		s.export(w, r)
	default:
		s.page(w, r)
	}
}

func (s *choreServer) page(w http.ResponseWriter, r *http.Request) {
	body, ok := s.pages[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	other := "http://localhost:" + port(r.Host)
	if strings.HasPrefix(r.Host, "localhost") {
		other = "http://127.0.0.1:" + port(r.Host)
	}
	fmt.Fprint(w, strings.NewReplacer("{{map}}", `<script>window.process={env:{NODE_ENV:'production'}}</script><script type=importmap>`+s.imports+`</script>`,
		"{{lib}}", `<script src=/lib.js></script>`, "{{other}}", other).Replace(string(body)))
}

// api takes what is sent and keeps it. The first part of an address says how it goes:
// flaky fails twice, broken always, slow takes its time, rows is a list in pages.
func (s *choreServer) api(w http.ResponseWriter, r *http.Request, name string) {
	kind, _, _ := strings.Cut(name, "/")
	switch {
	case r.Method == http.MethodOptions:
		return
	case kind == "rows":
		s.rows(w, r)
		return
	case kind == "me":
		user, err := r.Cookie("user")
		if err != nil {
			http.Error(w, `{"error":"sign in first"}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"user":%q}`, user.Value)
		return
	}
	body, err := summary(r)
	if err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	s.times[r.Method+name]++
	n := s.times[r.Method+name]
	status := http.StatusOK
	switch {
	case kind == "broken":
		status = http.StatusInternalServerError
	case kind == "flaky" && n <= 2:
		status = http.StatusServiceUnavailable
	case kind == "login" && !strings.Contains(body, `"password":"sesame"`):
		status = http.StatusUnauthorized
	}
	line := strings.TrimSpace(r.Method + " " + name + " " + body)
	if status != http.StatusOK {
		line = strconv.Itoa(status) + " " + line
	}
	if r.Method != http.MethodGet {
		s.requests = append(s.requests, line)
	}
	s.mu.Unlock()
	if kind == "slow" {
		time.Sleep(300 * time.Millisecond)
	}
	if kind == "login" && status == http.StatusOK {
		http.SetCookie(w, &http.Cookie{Name: "user", Value: "ada", Path: "/"})
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"ok":%t,"id":%d}`, status == http.StatusOK, n)
}

// summary is a body in one line: JSON and forms as they are, files by name and size.
func summary(r *http.Request) (string, error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		b, err := io.ReadAll(r.Body)
		return string(b), err
	}
	if err := r.ParseMultipartForm(32 << 20); err != nil {
		return "", err
	}
	var parts []string
	for name, values := range r.MultipartForm.Value {
		if !slices.Contains([]string{"relativePath", "name", "type"}, name) && !strings.HasPrefix(name, "dz") { // what uploaders add
			parts = append(parts, name+"="+strings.Join(values, ","))
		}
	}
	for _, list := range r.MultipartForm.File {
		for _, f := range list {
			parts = append(parts, fmt.Sprintf("%s (%d bytes)", f.Filename, f.Size))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " "), nil
}

// total is how many rows the list in pages has.
const total = 95

func rowOf(i int) map[string]any {
	return map[string]any{"id": i, "name": fmt.Sprintf("Item %02d", i), "price": (i * 37) % 100, "city": []string{"Oslo", "Lima", "Rome", "Kyiv"}[i%4]}
}

// rows is a page of ten rows. With fail, that page does not come the first two times.
func (s *choreServer) rows(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	if fail := r.URL.Query().Get("fail"); fail != "" && fail == strconv.Itoa(page) {
		s.mu.Lock()
		s.times["rows"+fail]++
		n := s.times["rows"+fail]
		s.mu.Unlock()
		if n <= 2 {
			http.Error(w, `{"error":"try again"}`, http.StatusServiceUnavailable)
			return
		}
	}
	list := []any{}
	for i := page * 10; i < min(page*10+10, total); i++ {
		list = append(list, rowOf(i))
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"rows": list, "total": total, "page": page})
}

// export is a file to save. With cut it ends in the middle.
func (s *choreServer) export(w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	if strings.HasSuffix(r.URL.Path, ".json") {
		list := []any{}
		for i := range 3 {
			list = append(list, rowOf(i))
		}
		json.NewEncoder(&b).Encode(list)
	} else {
		b.WriteString("id,name,price\n")
		for i := range 3 {
			fmt.Fprintf(&b, "%d,Item %02d,%d\n", i, i, (i*37)%100)
		}
	}
	w.Header().Set("Content-Disposition", "attachment; filename="+strings.TrimPrefix(r.URL.Path, "/"))
	w.Header().Set("Content-Type", "application/octet-stream")
	if r.URL.Query().Has("cut") {
		w.Header().Set("Content-Length", "100000")
		io.WriteString(w, b.String())
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	io.WriteString(w, b.String())
}
