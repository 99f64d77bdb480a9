package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"troupe/testkit/need"
	"troupe/testkit/npm"
)

// TestApps drives applications that nobody here wrote: libraries as npm has
// them, served from this machine, with no build between. Each script's pages
// stand beside its cases, as in TestScripts; {{map}} in a page is an import map
// of everything that is installed, /npm/ its files, and /svelte/ a page of the
// script that Svelte compiles.
func TestApps(t *testing.T) {
	need.All(t)
	t.Parallel() // most of its time it waits for modules, one behind the other
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
					// An application of a hundred modules takes long to load on a busy machine.
					task := strings.Replace(c.task, `{"actions":`, `{"timeout":120000,"config":{"actionTimeout":40000},"actions":`, 1)
					runCase(t, fill.Replace(task), fill.Replace(c.want), given{})
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
	return npm.Install(filepath.Join("testdata", "apps"), filepath.Join("..", ".cache", "apps"))
})

func installedApps(t *testing.T) string {
	t.Helper()
	need.Registry(t)
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
	mux.HandleFunc("/npm/", func(w http.ResponseWriter, r *http.Request) { servePackage(w, r, root) })
	for name, source := range s.pages { // now: the compiler takes longer than a page would wait on a slow machine
		if !strings.HasSuffix(name, ".svelte") {
			continue
		}
		js, err := compileSvelte(root, source)
		if err != nil {
			t.Fatal(err)
		}
		mux.HandleFunc("/svelte"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/javascript")
			w.Write(js)
		})
	}
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
		fmt.Fprint(w, strings.NewReplacer("{{map}}", `<script>window.process={env:{NODE_ENV:'production'}}</script><script type=importmap>`+imports+`</script>`, "{{port}}", port(r.Host)).Replace(string(body)))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
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
