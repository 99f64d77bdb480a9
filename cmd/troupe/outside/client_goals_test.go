package outside_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
)

// clientCLI is a person at a command line who is signed in to a service.
type clientCLI struct {
	t        *testing.T
	env      []string
	dir      string
	commands int // that reach the goal
}

// signedIn signs in to a new service. More are flags of the service.
func signedIn(t *testing.T, more ...string) (c *clientCLI, base string) {
	t.Helper()
	dir := t.TempDir()
	service, base := serve(t, filepath.Join(dir, "data"), more...)
	token := tokenLine.FindStringSubmatch(service.out.String())
	if token == nil {
		t.Fatalf("no token is printed: %s", service.out.String())
	}
	c = &clientCLI{t: t, dir: dir, env: []string{"XDG_CONFIG_HOME=" + filepath.Join(dir, "config")}}
	c.gives(0, "Signed in to "+base, token[1], "login", base)
	return c, base
}

// gives runs a command and checks how it ends and what it says.
func (c *clientCLI) gives(want int, says, stdin string, args ...string) (stdout string) {
	c.t.Helper()
	c.commands++
	code, out, errs := playWith(c.t, c.env, stdin, args...)
	if code != want || !strings.Contains(out+errs, says) {
		c.t.Fatalf("%v ends with %d, want %d and %q:\n%s%s", args, code, want, says, out, errs)
	}
	return strings.TrimSpace(out)
}

// until repeats a command that looks, which counts once.
func (c *clientCLI) until(says string, args ...string) (stdout string) {
	c.t.Helper()
	for end := time.Now().Add(hang); ; time.Sleep(100 * time.Millisecond) {
		out := c.gives(0, "", "", args...)
		if strings.Contains(out, says) {
			return out
		}
		if c.commands--; time.Now().After(end) {
			c.t.Fatalf("%v does not say %q: %s", args, says, out)
		}
	}
}

func (c *clientCLI) file(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// goal tries to reach something in so many commands.
func (c *clientCLI) goal(name string, commands int, reach func(t *testing.T)) {
	c.t.Run(name, func(t *testing.T) {
		outer, began := c.t, time.Now()
		c.t, c.commands = t, 0
		defer func() { c.t = outer }()
		reach(t)
		if c.commands != commands {
			t.Errorf("it took %d commands, not %d", c.commands, commands)
		}
		t.Logf("%d commands, %.1f s", c.commands, time.Since(began).Seconds())
	})
}

// TestFirstGoals: what a new user wants is reached by the command line alone, after one login.
func TestFirstGoals(t *testing.T) {
	need.Browser(t)
	told := make(chan string, 16)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var notice struct{ Type string }
		_ = json.NewDecoder(r.Body).Decode(&notice)
		told <- notice.Type
	}))
	defer receiver.Close()
	c, base := signedIn(t, "--workers=2", "--allow-host=127.0.0.1")
	const open = `{"open":"http://demo.troupe.test/"}`

	c.goal("a result", 1, func(t *testing.T) {
		out := c.gives(0, "", `{"actions":[`+open+`,{"getText":".name"}]}`, "run", "-")
		if r := parse(t, out); !r.Success || string(r.Data) != `"Demo Shop"` {
			t.Errorf("%s", out)
		}
	})
	c.goal("a picture", 1, func(t *testing.T) {
		dir := filepath.Join(c.dir, "pictures")
		out := c.gives(0, "", `{"actions":[`+open+`,{"screenshot":"viewport"}]}`, "run", "-", "--out", dir)
		path := filepath.Join(dir, "screenshot-1.png")
		if b, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(b), "\x89PNG") || !strings.Contains(out, `"file://`+path+`"`) || strings.Contains(out, base) {
			t.Errorf("%v, %d bytes, %s", err, len(b), out)
		}
	})
	c.goal("a session with a login", 4, func(t *testing.T) {
		id := c.gives(0, "sess_", "", "session", "open", "--label", "shop")
		c.gives(0, "", `{"actions":[{"open":"http://demo.troupe.test/login"},{"fill":["#user","ada"]},{"fill":["#password","demo"]},{"click":"#login"},{"waitForElement":"#user-name"}]}`,
			"run", "-", "--session", id)
		out := c.gives(0, "", `{"actions":[`+open+`,{"getText":"#user-name"}]}`, "run", "-", "--session", id)
		if r := parse(t, out); string(r.Data) != `"ada"` {
			t.Errorf("%s", out)
		}
		c.gives(0, "is closed", "", "session", "close", id)
	})
	c.goal("a batch of fifty from a table", 1, func(t *testing.T) {
		var table strings.Builder
		table.WriteString("id,selector\n")
		for i := range 50 {
			fmt.Fprintf(&table, "%d,h1\n", i%5+1)
		}
		results := filepath.Join(c.dir, "results.ndjson")
		c.gives(0, "50 of 50 items complete", "", "batch", "run",
			c.file("task.json", `{"actions":[{"open":"http://demo.troupe.test/product/${item.id}"},{"getText":"${item.selector}"}]}`),
			c.file("items.csv", table.String()), "--out", results)
		if b, err := os.ReadFile(results); err != nil || strings.Count(string(b), `,"status":"complete","endedAt"`) != 50 {
			t.Errorf("%v, %s", err, b)
		}
	})
	c.goal("a schedule", 3, func(t *testing.T) {
		var made struct{ ScheduleID string }
		out := c.gives(0, "", `{"actions":[`+open+`]}`, "schedule", "create", "-", "--every", "1h", "--name", "hourly", "--json")
		if err := json.Unmarshal([]byte(out), &made); err != nil {
			t.Fatal(err)
		}
		c.gives(0, made.ScheduleID, "", "schedule", "run", made.ScheduleID)
		c.until("complete", "schedules", "show", made.ScheduleID)
	})
	c.goal("a webhook", 3, func(t *testing.T) {
		c.gives(0, "is told of: end", "", "endpoint", "add", receiver.URL+"/hook", "--event", "end")
		c.gives(0, `"data": "Demo Shop"`, `{"queue":true,"actions":[`+open+`,{"getText":".name"}]}`, "run", "-")
		select {
		case <-told:
		case <-time.After(hang):
			t.Fatal("the receiver was told nothing")
		}
		c.until("delivered", "notice", "list")
	})
	c.goal("Markdown", 1, func(t *testing.T) {
		c.gives(0, "# ", `{"actions":[`+open+`,{"getMarkdown":{}}]}`, "run", "-")
	})
	c.goal("a PDF", 1, func(t *testing.T) {
		dir := filepath.Join(c.dir, "papers")
		out := c.gives(0, "", `{"actions":[`+open+`,{"pdf":{}}]}`, "run", "-", "--out", dir)
		if b, err := os.ReadFile(filepath.Join(dir, "page-1.pdf")); err != nil || !strings.HasPrefix(string(b), "%PDF") {
			t.Errorf("%v, %d bytes, %s", err, len(b), out)
		}
	})
	c.goal("why it failed", 3, func(t *testing.T) {
		var started struct{ TaskID string }
		out := c.gives(0, "", `{"actions":[`+open+`,{"click":"#nowhere","options":{"timeout":10}}],"config":{"onFailure":{"screenshot":true}}}`, "run", "-", "--detach")
		if err := json.Unmarshal([]byte(out), &started); err != nil || started.TaskID == "" {
			t.Fatalf("%v, %s", err, out)
		}
		c.until("element_not_found", "tasks", "list")
		out = c.gives(0, "", "", "task", "show", started.TaskID)
		for _, want := range []string{started.TaskID + " is ", `Element "#nowhere" not found`, "element_not_found", "screenshot: http"} {
			if !strings.Contains(out, want) {
				t.Errorf("it does not say %q: %s", want, out)
			}
		}
	})
}

// TestClientCommands: the rest of the commands, at a real service.
func TestClientCommands(t *testing.T) {
	need.Browser(t)
	c, base := signedIn(t, "--workers=1")
	const open = `{"open":"http://demo.troupe.test/"}`

	c.gives(0, "local", "", "usage")
	c.gives(exitUsage, "/actions/0/clik", "{\n\"actions\":[{\"clik\":\"a\"}]}", "run", "-")
	c.gives(exitUsage, "standard input:2:13: /actions/0/clik", "{\n\"actions\":[{\"clik\":\"a\"}]}", "run", "-")
	c.gives(exitFailed, `"line": 2`, "{\n\"actions\":[{\"clik\":\"a\"}]}", "validate", "-")
	c.gives(0, `"account": "pro"`, `{"actions":[`+open+`]}`, "validate", "-")
	c.gives(exitFailed, `"code": "element_not_found"`, `{"actions":[`+open+`,{"click":"#no","options":{"timeout":10}}]}`, "run", "-")
	c.gives(exitFailed, `"code": "task_timeout"`, `{"timeout":1000,"actions":[`+open+`,{"wait":5000}]}`, "run", "-")
	upload := c.file("a.txt", "some text")
	c.gives(0, `"a.txt`, `{"actions":[{"open":"http://demo.troupe.test/"},{"evaluate":"const i = document.createElement('input'); i.type = 'file'; i.id = 'up'; document.body.prepend(i)"},{"uploadFile":["#up","$file:0"]},{"evaluate":"return document.querySelector('#up').files[0].name + document.querySelector('#up').files[0].size"}]}`,
		"run", "-", "--file", upload)

	flow := c.file("search.json", `{"parameters":{"q":{}},"actions":[{"open":"http://demo.troupe.test/?q=${q}"},{"getText":"h1"}]}`)
	c.gives(0, "Version 1 of the flow search is stored", "", "flow", "put", "search", flow)
	c.gives(0, "search", "", "flows", "list")
	copied := c.gives(0, `"parameters"`, "", "flow", "get", "search")
	c.gives(0, "Version 2", copied, "flow", "put", "search", "-")
	c.gives(0, `"success": true`, "", "flow", "run", "search", "--with", "q=lamp")
	c.gives(exitUsage, "search.json:1:14: /actions/0/clik", "", "flow", "put", "bad", c.file("search.json", `{"actions":[{"clik":"a"}]}`))
	c.gives(0, "is deleted", "", "flow", "delete", "search")
	c.gives(exitFailed, "(404", "", "flow", "get", "search")

	var started struct{ TaskID string }
	out := c.gives(0, "", `{"actions":[`+open+`,{"wait":60000}],"timeout":120000}`, "run", "-", "--detach")
	if err := json.Unmarshal([]byte(out), &started); err != nil || started.TaskID == "" {
		t.Fatalf("%v, %s", err, out)
	}
	c.until("running", "task", "list")
	c.gives(0, "is cancelled", "", "task", "cancel", started.TaskID)
	c.gives(exitFailed, `"code": "cancelled"`, "", "task", "watch", started.TaskID)
	out = c.gives(0, "", `{"queue":true,"actions":[`+open+`,{"getText":".name"}]}`, "run", "-", "--detach")
	if err := json.Unmarshal([]byte(out), &started); err != nil {
		t.Fatal(err)
	}
	c.gives(0, "✓ 1 ", "", "task", "watch", started.TaskID)
	c.gives(0, started.TaskID, "", "task", "list", "--status", "ended")
	c.gives(exitFailed, "(404", "", "task", "show", "task_5c49f9d7f0a20751_1795449031")

	id := c.gives(0, "sess_", "", "session", "open", "--timeout", "1m")
	c.gives(0, id, "", "session", "list")
	c.gives(0, "Live picture: "+base, "", "session", "show", id)
	c.gives(0, "is closed", "", "session", "close", id)
	c.gives(exitFailed, "(404", "", "session", "close", id)

	c.gives(0, "whsec_", "", "notice", "secret")
	c.gives(exitUsage, "is not the URL of a receiver", "", "endpoint", "add", "hook")

	data := "--data=" + filepath.Join(c.dir, "data")
	c.gives(0, "", "", "account", "create", "op", "--plan=pro", "--operator", data)
	token := c.gives(0, "", "", "token", "create", "--account=op", data)
	c.gives(0, "operator", "", "account", "list", "--url", base, "--token", token)
	c.gives(0, "was created", "", "account", "create", "ada", "--plan=basic", "--url", base, "--token", token)
	c.gives(0, "worker", "", "worker", "list", "--url", base, "--token", token)
	c.gives(exitFailed, "operator", "", "account", "list")
}
