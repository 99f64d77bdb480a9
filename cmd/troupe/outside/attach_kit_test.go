package outside_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"troupe/testkit/need"
	"troupe/testkit/npm"
)

// attachKit is a service with one worker, a session in it, and a site.
type attachKit struct {
	base, token string
	site, other string // two sites for a browser
	session     string
	data        string // the folder of the service
}

func newAttachKit(t *testing.T, args ...string) *attachKit {
	t.Helper()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	k := &attachKit{data: filepath.Join(dir, "data")}
	pages := httptest.NewServer(http.HandlerFunc(attachPages))
	t.Cleanup(pages.Close)
	k.site = pages.URL
	k.other = strings.Replace(pages.URL, "127.0.0.1", "localhost", 1)
	c, base := serve(t, k.data, append([]string{"--workers=1", "--allow-private"}, args...)...)
	k.base, k.token = base, tokenLine.FindStringSubmatch(c.out.String())[1]
	k.open(t, `{"timeout":60000}`)
	return k
}

// open opens a session in the place of the one that the kit had.
func (k *attachKit) open(t *testing.T, body string) {
	t.Helper()
	var made struct {
		Session struct {
			ID string `json:"sessionId"`
		}
	}
	k.do(t, "POST", "/v1/sessions", body, 201, &made)
	k.session = made.Session.ID
}

// do sends a request and decodes the answer, which must have the status.
func (k *attachKit) do(t *testing.T, method, path, body string, want int, out any) string {
	t.Helper()
	status, text, err := sendTo(method, k.base+path, k.token, body)
	if err != nil || status != want {
		t.Fatalf("%s %s: %v, %d %s", method, path, err, status, text)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(text), out); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return text
}

// ticket is the address of the session's socket, with a ticket.
func (k *attachKit) ticket(t *testing.T, body string) string {
	t.Helper()
	var made struct{ URL string }
	k.do(t, "POST", "/v1/sessions/"+k.session+"/tickets", body, 201, &made)
	return made.URL
}

// list plays a list in the session, once the client before has left.
func (k *attachKit) list(t *testing.T, actions string) map[string]any {
	t.Helper()
	var out map[string]any
	k.do(t, "POST", "/v1/", fmt.Sprintf(`{"session":{"id":%q},"queueTimeout":20000,"actions":%s}`, k.session, actions), 200, &out)
	if out["success"] != true {
		t.Fatalf("the list after the client: %v", out)
	}
	return out
}

// attachPages are the pages of the site.
func attachPages(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	name := "nobody"
	if c, err := r.Cookie("user"); err == nil {
		name = c.Value
	}
	switch r.URL.Path {
	case "/login":
		if r.Method == "POST" {
			http.SetCookie(w, &http.Cookie{Name: "user", Value: r.FormValue("name"), Path: "/"})
			http.Redirect(w, r, "/home", http.StatusSeeOther)
			return
		}
		fmt.Fprint(w, `<form method=post><input id=name name=name><input id=word name=word type=password><button>Sign in</button></form>`)
	case "/home":
		fmt.Fprintf(w, `<script>window.first = window.mark</script><h1>Hello %s</h1><button onclick="window.open('/home')">Popup</button><a href="/file" download>File</a><p id=ups></p><script>onmouseup=()=>ups.textContent+='up '</script>`, name)
	case "/framed":
		fmt.Fprintf(w, `<h1>outside</h1><iframe id=outer src="%s/outer?site=http://%s"></iframe>`, r.URL.Query().Get("other"), r.Host)
	case "/outer":
		fmt.Fprintf(w, `<button onclick="said.textContent='clicked'">x</button><p id=said></p><iframe id=inner src="%s/inner"></iframe>`, r.URL.Query().Get("site"))
	case "/inner":
		fmt.Fprint(w, `<h1>innermost</h1>`)
	case "/upload":
		fmt.Fprint(w, `<input type=file>`)
	case "/file":
		w.Header().Set("Content-Type", "application/octet-stream")
		fmt.Fprint(w, "a downloaded file")
	default:
		http.NotFound(w, r)
	}
}

// attachPackages are the clients from npm.
func attachPackages(t *testing.T) string {
	t.Helper()
	need.Registry(t)
	packages, err := npm.Install(filepath.Join("testdata", "attach"), filepath.Join("..", "..", "..", ".cache", "attach"))
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// client is the command of a script that attaches a client from npm.
func attachScript(t *testing.T, packages, name string, args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("testdata", "attach", name))
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.Command("node", append([]string{script}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = append(os.Environ(), "NODE_PATH="+packages, "NO_PROXY=*", "TMPDIR="+t.TempDir())
	return cmd, &out, &errs
}
