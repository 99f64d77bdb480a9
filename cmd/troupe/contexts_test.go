package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// fakeService answers as a service does that knows some tokens, and remembers what it was asked.
type fakeService struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string // token, method and path
	tokens []string
}

func newFakeService(t *testing.T, tokens ...string) *fakeService {
	t.Helper()
	s := &fakeService{tokens: tokens}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		s.mu.Lock()
		s.asked = append(s.asked, token+" "+r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		known := false
		for _, one := range s.tokens {
			known = known || one == token
		}
		switch {
		case !known:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"success":false,"error":"This token is not valid","code":"invalid_token","retryable":false}`)
		case r.URL.Path == "/v1/usage":
			fmt.Fprintf(w, `{"success":true,"plan":"pro","account":"of-%s"}`, token)
		default:
			fmt.Fprint(w, `{"success":true,"tasks":[],"result":[]}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// last is what was asked last, and forgets it.
func (s *fakeService) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		return ""
	}
	one := s.asked[len(s.asked)-1]
	s.asked = nil
	return one
}

// home gives a test a folder of its own for contexts.
func home(t *testing.T) (file string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	return filepath.Join(dir, "troupe", "contexts.json")
}

// saysOf plays a command line and checks how it ends and what it says.
func saysOf(t *testing.T, want int, says, stdin string, args ...string) string {
	t.Helper()
	code, out, errs := play(t, stdin, args...)
	if code != want || !strings.Contains(out+errs, says) {
		t.Errorf("%q ends with %d, want %d and %q:\n%s%s", args, code, want, says, out, errs)
	}
	return out + errs
}

// TestLogin: a token is checked and kept where only its owner reads it, and it is never shown.
func TestLogin(t *testing.T) {
	file, s := home(t), newFakeService(t, "troupe_one", "troupe_two")
	said := saysOf(t, 0, "Signed in to "+s.URL+" as of-troupe_one (plan pro)", "troupe_one\n", "login", s.URL+"/")
	if strings.Contains(strings.ReplaceAll(said, "of-troupe_one", ""), "troupe_one") {
		t.Errorf("the token is shown: %s", said)
	}
	for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if err := os.Chmod(file, 0o644); err != nil { // as an editor may leave it
		t.Fatal(err)
	}
	saysOf(t, 0, `"context": "work"`, "", "login", s.URL, "--token", "troupe_two", "--name", "work", "--json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("after the second login: %v, %v", info, err)
	}
	var all contexts
	b, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(b, &all) != nil || all.Current != "work" || len(all.Contexts) != 2 || all.Contexts["work"].Token != "troupe_two" {
		t.Errorf("%s, %v", b, err)
	}
	if out := saysOf(t, 0, "work", "", "context", "list"); strings.Contains(strings.ReplaceAll(out, "of-troupe_", ""), "troupe_") || !strings.Contains(out, "*") {
		t.Errorf("the list is %s", out)
	}
	first := nameOfURL(t, s.URL)
	saysOf(t, 0, "Commands go to "+s.URL, "", "contexts", "use", first)
	saysOf(t, 0, "of-troupe_one", "", "usage")
	saysOf(t, exitUsage, `did you mean "work"?`, "", "context", "use", "wrok")
	saysOf(t, 0, "No context is current now", "", "context", "remove", first)
	saysOf(t, exitUsage, "there is no token for "+defaultService, "", "usage")
}

func nameOfURL(t *testing.T, text string) string {
	t.Helper()
	at, err := parseService("it", text)
	if err != nil {
		t.Fatal(err)
	}
	return nameOf(at)
}

// TestLoginThatFails keeps nothing, and says what is wrong.
func TestLoginThatFails(t *testing.T) {
	file, s := home(t), newFakeService(t, "troupe_one")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/on") {
			http.Redirect(w, r, s.URL+"/v1/usage", http.StatusMovedPermanently)
			return
		}
		fmt.Fprint(w, "<html>")
	}))
	defer other.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	saysOf(t, exitFailed, "This token is not valid (401 invalid_token)", "troupe_wrong", "login", s.URL)
	saysOf(t, exitFailed, "no service answers at "+gone.URL, "troupe_one", "login", gone.URL)
	saysOf(t, exitUsage, "does not answer as Troupe does", "troupe_one", "login", other.URL)
	saysOf(t, exitUsage, "sign in at the address that answers", "troupe_one", "login", other.URL+"/on")
	saysOf(t, exitUsage, "the token is empty", "\n", "login", s.URL)
	saysOf(t, exitUsage, "what was given is not a token", "two words", "login", s.URL)
	saysOf(t, exitUsage, "want an address such as https://", "troupe_one", "login", "troupe.example.org")
	saysOf(t, exitUsage, "want an address such as https://", "troupe_one", "login", "https://ada:pw@troupe.example.org")
	saysOf(t, exitUsage, "is not the name of a context", "troupe_one", "login", s.URL, "--name", "a b")
	if _, err := os.Stat(file); err == nil {
		t.Error("a login that failed has left a context")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	saysOf(t, exitUsage, "is damaged", "", "usage")
}

// TestWhereCommandsGo: flags win over variables, and those over the contexts. The token of a
// context goes to its own service only.
func TestWhereCommandsGo(t *testing.T) {
	home(t)
	a, b := newFakeService(t, "troupe_a", "troupe_a2", "troupe_x"), newFakeService(t, "troupe_b", "troupe_x")
	saysOf(t, 0, "", "troupe_a2", "login", a.URL, "--name", "a2")
	saysOf(t, 0, "", "troupe_b", "login", b.URL, "--name", "b")
	saysOf(t, 0, "", "troupe_a", "login", a.URL, "--name", "a")
	for name, tc := range map[string]struct {
		args     []string
		url, env string
		a, b     string // the tokens that come there
		says     string
	}{
		"the context":                 {a: "troupe_a"},
		"another context":             {args: []string{"--context", "b"}, b: "troupe_b"},
		"the URL of a context":        {args: []string{"--url", b.URL}, b: "troupe_b"},
		"the URL of the current one":  {args: []string{"--url", a.URL}, a: "troupe_a"},
		"a URL in the environment":    {url: b.URL, b: "troupe_b"},
		"a token in the environment":  {env: "troupe_x", a: "troupe_x"},
		"both in the environment":     {url: b.URL, env: "troupe_x", b: "troupe_x"},
		"a context wins over them":    {args: []string{"--context", "a2"}, url: b.URL, env: "troupe_x", a: "troupe_a2"},
		"a flag wins over the token":  {args: []string{"--token", "troupe_b"}, url: b.URL, env: "troupe_x", b: "troupe_b"},
		"a flag wins over the URL":    {args: []string{"--url", a.URL}, url: b.URL, env: "troupe_x", a: "troupe_x"},
		"a token beside a context":    {args: []string{"--context", "b", "--token", "troupe_x"}, b: "troupe_x"},
		"a service without a context": {args: []string{"--url", "http://127.0.0.1:1"}, says: "there is no token for http://127.0.0.1:1"},
		"both flags":                  {args: []string{"--url", a.URL, "--context", "b"}, says: "give either --url or --context"},
		"no such context":             {args: []string{"--context", "c"}, says: "want a, a2, b"},
		"a bad URL":                   {url: "elsewhere", says: "TROUPE_URL is \"elsewhere\""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(clientsURL, tc.url)
			t.Setenv(clientsToken, tc.env)
			a.last()
			b.last()
			code, _, errs := play(t, "", append([]string{"task", "list"}, tc.args...)...)
			with := func(token string) string {
				if token == "" {
					return ""
				}
				return token + " GET /v1/tasks"
			}
			if toA, toB := a.last(), b.last(); toA != with(tc.a) || toB != with(tc.b) || (code == 0) != (tc.says == "") || !strings.Contains(errs, tc.says) {
				t.Errorf("%d, %q %q, %s", code, toA, toB, errs)
			}
		})
	}
}

// TestOperatorCommandsGoToTheContext: those that have a route, unless a data folder is named.
func TestOperatorCommandsGoToTheContext(t *testing.T) {
	home(t)
	s := newFakeService(t, "troupe_op")
	saysOf(t, 0, "", "troupe_op", "login", s.URL, "--name", "op")
	s.last()
	saysOf(t, 0, "troupe: at "+s.URL+" (context op)", "", "account", "list")
	if got := s.last(); !strings.HasPrefix(got, "troupe_op POST /v1/operator/") {
		t.Errorf("asked %q", got)
	}
	saysOf(t, 0, "", "", "account", "create", "ada", "--plan=pro", "--data", filepath.Join(t.TempDir(), "data"))
	saysOf(t, exitUsage, "give either --data or", "", "account", "list", "--data", t.TempDir(), "--url", s.URL)
	saysOf(t, exitUsage, "--account is for the operator of a data folder", "", "flow", "list", "--account", "ada", "--url", s.URL)
	saysOf(t, exitUsage, "--data needs --account", "", "flow", "list", "--data", t.TempDir())
	saysOf(t, exitUsage, "--browser is for a run without a service", "{}", "run", "-", "--browser", "/bin/false", "--url", s.URL)
	saysOf(t, exitUsage, "start the browser", `{"actions":[{"wait":1}]}`, "run", "-", "--browser", "/bin/false")
	if got := s.last(); got != "" {
		t.Errorf("asked %q", got)
	}
}

// TestWrongTokenOfACommand says where the token is from, and what to do.
func TestWrongTokenOfACommand(t *testing.T) {
	home(t)
	s := newFakeService(t, "troupe_one")
	saysOf(t, 0, "", "troupe_one", "login", s.URL, "--name", "work")
	s.tokens = nil
	saysOf(t, exitFailed, "the token is from the context work. Sign in again: troupe login "+s.URL, "", "session", "list")
	s.Close()
	saysOf(t, exitFailed, "Does the service run?", "", "session", "list")
}

// TestUnknownVariables stop what opens a store, warn who talks to a service, and are nothing to
// who asks for help.
func TestUnknownVariables(t *testing.T) {
	home(t)
	s := newFakeService(t, "troupe_one")
	saysOf(t, 0, "", "troupe_one", "login", s.URL)
	t.Setenv("TROUPE_WROKERS", "3")
	const says = `TROUPE_WROKERS is unknown; did you mean "TROUPE_WORKERS"?`
	saysOf(t, 0, "warning: the environment variable "+says, "", "task", "list")
	saysOf(t, 0, "warning: the environment variable "+says, "", "context", "list")
	saysOf(t, exitUsage, says, "", "serve", "--listen=127.0.0.1:0", "--data="+t.TempDir())
	saysOf(t, exitUsage, says, "", "store", "check", "--data="+t.TempDir())
	saysOf(t, exitUsage, says, "", "account", "list", "--data="+t.TempDir())
	saysOf(t, exitUsage, says, "{}", "run", "-", "--local")
	for _, args := range [][]string{{"version"}, {"--version"}, {"help"}, {"serve", "--help"}, {"completion", "bash"}, {"__complete", "--", "se"}} {
		if said := saysOf(t, 0, "", "", args...); strings.Contains(said, "TROUPE_WROKERS") {
			t.Errorf("%q says %s", args, said)
		}
	}
}

// TestCtrlC ends a command that waits for a service with the code that shells expect.
func TestCtrlC(t *testing.T) {
	home(t)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		<-r.Context().Done()
	}))
	defer s.Close()
	saysOf(t, 130, "troupe: interrupted\n", "", "task", "list", "--url", s.URL, "--token", "troupe_one")
}
