package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync"
	"testing"
)

// TestApps drives applications that nobody here wrote: libraries as npm has
// them, served from this machine, with no build between. Each script's pages
// stand beside its cases, as in TestScripts; {{map}} in a page is an import map
// of everything that is installed, /npm/ its files, and /cjs/ a package that is
// no module made into one.
func TestApps(t *testing.T) {
	root := installedApps(t)
	files, err := filepath.Glob("testdata/apps/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no applications", err)
	}
	n := 0
	for _, file := range files {
		s := readScript(t, file)
		url := appServer(t, root, s)
		n += len(s.cases)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			for _, c := range s.cases {
				if *only != "" && !regexp.MustCompile(*only).MatchString(c.name) {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					fill := strings.NewReplacer("{{url}}", url, "{{other}}", strings.Replace(url, "127.0.0.1", "localhost", 1))
					runCase(t, fill.Replace(c.task), fill.Replace(c.want), nil)
				})
			}
		})
	}
	if n < 25 {
		t.Errorf("there are %d scenarios, want at least 25", n)
	}
}

// installed is the folder of packages, made once.
var installed = sync.OnceValues(func() (string, error) {
	root, err := filepath.Abs(filepath.Join("..", ".cache", "apps"))
	if err != nil {
		return "", err
	}
	stamp := filepath.Join(root, "installed.json")
	lock, err := os.ReadFile("testdata/apps/package-lock.json")
	if err != nil {
		return "", err
	}
	if have, err := os.ReadFile(stamp); err == nil && string(have) == string(lock) {
		return filepath.Join(root, "node_modules"), nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", errors.New("npm is not installed, and the application tests need it to fetch the applications: run `make setup`, or install the packages nodejs and npm")
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := os.ReadFile(filepath.Join("testdata", "apps", name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(root, name), b, 0o644); err != nil {
			return "", err
		}
	}
	// Nothing of the packages runs here: their install scripts neither.
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm could not install the applications: %w\n%s", err, out)
	}
	return filepath.Join(root, "node_modules"), os.WriteFile(stamp, lock, 0o644)
})

func installedApps(t *testing.T) string {
	t.Helper()
	root, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// appServer serves a script's pages, the packages, and a small backend.
func appServer(t *testing.T, root string, s script) string {
	imports := importMap(t, root)
	mux := http.NewServeMux()
	mux.HandleFunc("/npm/", func(w http.ResponseWriter, r *http.Request) {
		name := packageFile(root, strings.TrimPrefix(r.URL.Path, "/npm/"))
		if strings.HasSuffix(name, ".mjs") || strings.HasSuffix(name, ".js") {
			w.Header().Set("Content-Type", "text/javascript")
		}
		http.ServeFile(w, r, name)
	})
	mux.HandleFunc("/cjs/", func(w http.ResponseWriter, r *http.Request) {
		serveCommonJS(w, root, strings.TrimPrefix(r.URL.Path, "/cjs/"))
	})
	mux.HandleFunc("/items", func(w http.ResponseWriter, r *http.Request) { // a list that comes page by page
		var from int
		fmt.Sscan(r.URL.Query().Get("from"), &from)
		var items []string
		for i := from; i < min(from+20, 60); i++ {
			items = append(items, fmt.Sprintf("item %d", i))
		}
		json.NewEncoder(w).Encode(items)
	})
	mux.HandleFunc("/altcha", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(newPuzzle(4321))
	})
	mux.HandleFunc("/altcha/submit", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p id=verdict>%s</p>", checkPuzzle(r.FormValue("altcha")))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, ok := s.pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, strings.NewReplacer("{{map}}", `<script type=importmap>`+imports+`</script>`, "{{port}}", port(r.Host)).Replace(string(body)))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

// packageFile finds the file that an import means: its name may lack the ending.
func packageFile(root, name string) string {
	full := filepath.Join(root, filepath.FromSlash(path.Clean("/"+name)))
	for _, try := range []string{full, full + ".js", filepath.Join(full, "index.js")} {
		if st, err := os.Stat(try); err == nil && !st.IsDir() {
			return try
		}
	}
	return full
}

// importMap tells the browser where each package's modules are, as the packages
// themselves say it.
func importMap(t *testing.T, root string) string {
	t.Helper()
	imports := map[string]string{}
	walk := func(dir, name string) {
		b, err := os.ReadFile(filepath.Join(root, dir, "package.json"))
		if err != nil {
			return
		}
		var p struct {
			Exports json.RawMessage
			Module  string
			Main    string
		}
		if json.Unmarshal(b, &p) != nil {
			return
		}
		base := "/npm/" + dir + "/"
		imports[name+"/"] = base
		entry := p.Module
		if entry == "" {
			entry = p.Main
		}
		if entry != "" {
			imports[name] = base + strings.TrimPrefix(entry, "./")
		}
		var exports map[string]json.RawMessage
		if json.Unmarshal(p.Exports, &exports) == nil {
			for key, v := range exports {
				if !strings.HasPrefix(key, ".") {
					v, key = p.Exports, "."
				}
				if target := exportFor(v); target != "" && !strings.Contains(key, "*") {
					imports[name+strings.TrimPrefix(key, ".")] = base + strings.TrimPrefix(target, "./")
				}
			}
		}
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "@") {
			scoped, err := os.ReadDir(filepath.Join(root, e.Name()))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			for _, s := range scoped {
				walk(e.Name()+"/"+s.Name(), e.Name()+"/"+s.Name())
			}
			continue
		}
		walk(e.Name(), e.Name())
	}
	for _, name := range []string{"react", "react-dom", "react-dom/client", "scheduler"} {
		imports[name] = "/cjs/" + name
	}
	b, err := json.Marshal(map[string]any{"imports": imports})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// exportFor chooses among the conditions of an export.
func exportFor(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(v, &m) != nil {
		return ""
	}
	for _, c := range []string{"browser", "import", "module", "es2015", "production", "default"} {
		if t := exportFor(m[c]); t != "" {
			return t
		}
	}
	return ""
}

var required = regexp.MustCompile(`\brequire\(["']([^"']+)["']\)`)

// serveCommonJS makes a module of a file that is none.
func serveCommonJS(w http.ResponseWriter, root, name string) {
	file := packageFile(root, name)
	b, err := os.ReadFile(file)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	rel, _ := filepath.Rel(root, file)
	needs := map[string]bool{}
	for _, m := range required.FindAllStringSubmatch(string(b), -1) {
		needs[m[1]] = !strings.Contains(m[1], "development")
	}
	var names []string
	for n, wanted := range needs {
		if wanted {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	var out, table strings.Builder
	for i, n := range names {
		at := n
		if strings.HasPrefix(n, ".") {
			at = path.Join(path.Dir(filepath.ToSlash(rel)), n)
		}
		fmt.Fprintf(&out, "import m%d from '/cjs/%s';\n", i, at)
		fmt.Fprintf(&table, "%q:m%d,", n, i)
	}
	w.Header().Set("Content-Type", "text/javascript")
	fmt.Fprintf(w, "%sconst process={env:{NODE_ENV:'production'}},module={exports:{}},exports=module.exports,require=(n)=>({%s})[n];\n(()=>{%s\n})();\nexport default module.exports;\n", out.String(), table.String(), b)
}

// puzzle is a challenge of ALTCHA: the page's own script finds the number.
type puzzle struct {
	Algorithm string `json:"algorithm"`
	Challenge string `json:"challenge"`
	Salt      string `json:"salt"`
	MaxNumber int    `json:"maxnumber"`
	Signature string `json:"signature"`
}

var puzzleKey = []byte("a key for tests")

func newPuzzle(number int) puzzle {
	salt := "0123456789abcdef0123"
	sum := sha256.Sum256(fmt.Appendf(nil, "%s%d", salt, number))
	p := puzzle{Algorithm: "SHA-256", Challenge: hex.EncodeToString(sum[:]), Salt: salt, MaxNumber: 10000}
	p.Signature = sign(p.Challenge)
	return p
}

func sign(s string) string {
	mac := hmac.New(sha256.New, puzzleKey)
	mac.Write([]byte(s))
	return hex.EncodeToString(mac.Sum(nil))
}

func checkPuzzle(payload string) string {
	b, err := base64.StdEncoding.DecodeString(payload)
	var a struct {
		puzzle
		Number int `json:"number"`
	}
	if err != nil || json.Unmarshal(b, &a) != nil {
		return fmt.Sprintf("not verified: %q", payload)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s%d", a.Salt, a.Number))
	if hex.EncodeToString(sum[:]) != a.Challenge || sign(a.Challenge) != a.Signature {
		return "wrong answer"
	}
	return "verified"
}
