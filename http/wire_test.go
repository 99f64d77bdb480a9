package http_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"troupe/actors/api"
	"troupe/http"
)

var update = flag.Bool("update", false, "write the answers into testdata")

// TestWire plays each testdata/*.txtar: the request as it goes over the wire,
// the reply of the actors where it gets to them, and the whole answer.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			part := map[string][]byte{}
			for _, f := range ar.Files {
				part[f.Name] = f.Data
			}
			c := &fakeActors{asleep: part["asleep"] != nil}
			if script := part["executed"]; script != nil {
				var x api.Executed
				strict(t, script, &x)
				c.execute = func(context.Context, *api.Execute) (*api.Executed, error) { return &x, nil }
			}
			if script := part["started"]; script != nil {
				var x api.Started
				strict(t, script, &x)
				c.start = func(context.Context, *api.Execute) (*api.Started, error) { return &x, nil }
			}
			if script := part["polled"]; script != nil {
				var x api.Polled
				strict(t, script, &x)
				c.poll = func(context.Context, *api.Poll) (*api.Polled, error) { return &x, nil }
			}
			if script := part["followed"]; script != nil {
				var x api.Followed
				strict(t, script, &x)
				c.follow = follower(&x)
			}
			c.found = part["found"] != nil
			if script := part["status"]; script != nil {
				strict(t, script, &c.status)
			}
			if script := part["workers"]; script != nil {
				strict(t, script, &c.list)
			}
			if script := part["error"]; script != nil {
				c.execute = func(context.Context, *api.Execute) (*api.Executed, error) {
					return nil, fmt.Errorf("%s", script)
				}
			}
			e := openServer(t, c, func(cfg *http.Config) {
				if script := part["unready"]; script != nil {
					cfg.Unready = func() string { return strings.TrimSpace(string(script)) }
				}
				cfg.Degraded = func() bool { return part["degraded"] != nil }
				if script := part["notices"]; script != nil {
					cfg.Notices = func() []string { return strings.Split(strings.TrimSpace(string(script)), "\n") }
				}
			})
			conn := e.dial(t, nil)
			send(t, conn, part["request"])
			got := receive(t, conn)
			for _, x := range c.seen { // a refused start names its task
				got = strings.ReplaceAll(got, x.TaskID, "TASK")
			}
			if played := c.taskCount() > 0; played != (part["executed"] != nil || part["started"] != nil || part["error"] != nil) {
				t.Errorf("the task reached the actors: %v", played)
			}
			line := strings.Fields(string(part["request"]))
			head, body, _ := strings.Cut(got, "\n\n")
			var status int
			_, _ = fmt.Sscan(head, &status)
			_, kind, _ := strings.Cut(head, "Content-Type: ")
			kind, _, _ = strings.Cut(kind, "\n")
			documented(t, line[0], line[1], status, kind, []byte(body))
			if *update {
				setPart(ar, "response", got)
				if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(part["response"]); got != want {
				t.Errorf("the answer is\n%s\nand should be\n%s", got, want)
			}
		})
	}
}

// strict decodes a script, in which a misspelt field would prove nothing.
func strict(t *testing.T, script []byte, v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(script))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatal(err)
	}
}

func setPart(ar *txtar.Archive, name, data string) {
	for i := range ar.Files {
		if ar.Files[i].Name == name {
			ar.Files[i].Data = []byte(data)
			return
		}
	}
	ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(data)})
}

// send writes a request as testdata has it: lines end in CRLF on the wire, and
// the length of the body is counted.
func send(t testing.TB, c net.Conn, request []byte) {
	t.Helper()
	head, body, _ := strings.Cut(string(request), "\n\n")
	body = strings.TrimSuffix(body, "\n")
	head = strings.ReplaceAll(strings.TrimSuffix(head, "\n"), "\n", "\r\n") + "\r\nHost: test\r\nX-Request-Id: case-1\r\n"
	if body != "" {
		head += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	if _, err := io.WriteString(c, head+"\r\n"+body); err != nil {
		t.Fatal(err)
	}
}

// receive reads one answer and tells what of it clients see.
func receive(t testing.TB, c net.Conn) string {
	t.Helper()
	r, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if id := r.Header.Get("X-Request-Id"); id != "case-1" {
		t.Errorf("X-Request-Id is %q", id)
	}
	var b strings.Builder
	fmt.Fprintln(&b, r.StatusCode)
	for _, h := range []string{"Content-Type", "Allow", "Retry-After", "Www-Authenticate", "Connection"} {
		if v := r.Header.Get(h); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", h, v)
		}
	}
	return b.String() + "\n" + string(body)
}
