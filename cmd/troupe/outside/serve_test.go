package outside_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"troupe/testkit/leaks"
	"troupe/testkit/need"
	"troupe/testkit/paths"
	"troupe/testkit/wait"
)

// child is the program in a process of its own.
type child struct {
	*exec.Cmd
	out, errs output
	done      chan error
}

type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func spawn(t *testing.T, args ...string) *child {
	t.Helper()
	return spawnIn(t, "", args...)
}

// spawnIn starts the program in a network of its own; empty: that of this
// process.
func spawnIn(t *testing.T, network string, args ...string) *child {
	t.Helper()
	return spawnAs(t, program, network, nil, args...)
}

// spawnWith starts the program with more variables in its environment.
func spawnWith(t *testing.T, env []string, args ...string) *child {
	t.Helper()
	return spawnAs(t, program, "", env, args...)
}

func spawnAs(t *testing.T, program, network string, env []string, args ...string) *child {
	t.Helper()
	need.Browser(t)
	leaks.Check(t)
	for _, arg := range args { // whoever asks the service learns nothing of where its data is
		if data, ok := strings.CutPrefix(arg, "--data="); ok && len(data) > 8 {
			paths.Hide(t, data)
			paths.Hide(t, browsersIn(data))
		}
	}
	c := &child{Cmd: exec.Command(program, args...), done: make(chan error, 1)}
	if network != "" { // the command becomes the program, so signals reach it
		c.Cmd = exec.Command("ip", append([]string{"netns", "exec", network, program}, args...)...)
	}
	c.Env = append(os.Environ(), env...)
	c.Stdout, c.Stderr = &c.out, &c.errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.done <- c.Wait() }()
	t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Signal(syscall.SIGTERM)
			c.end(t, hang)
		}
		if t.Failed() {
			t.Logf("%v said\n%s%s", args, c.out.String(), c.errs.String())
		}
	})
	return c
}

// hang is how long a test waits for what comes sooner, on whatever machine.
const hang = wait.Hang

// end waits for the end of the process.
func (c *child) end(t *testing.T, within time.Duration) error {
	t.Helper()
	select {
	case err := <-c.done:
		return err
	case <-time.After(within):
		_ = c.Process.Kill()
		t.Fatalf("it did not end within %v", within)
		return nil
	}
}

var address = regexp.MustCompile(`answers on (https?://\S+)`)

// serve starts the service and waits until it greets.
func serve(t *testing.T, data string, args ...string) (c *child, base string) {
	t.Helper()
	c = spawn(t, append([]string{"serve", "--listen=127.0.0.1:0", "--data=" + data}, args...)...)
	return c, c.greeting(t)
}

// greeting waits until the service says where it answers.
func (c *child) greeting(t *testing.T) (base string) {
	t.Helper()
	deadline := time.Now().Add(hang)
	for {
		said := c.out.String()
		if m := address.FindStringSubmatch(said); m != nil && strings.HasSuffix(said, "\n") {
			return m[1]
		}
		select {
		case err := <-c.done:
			t.Fatalf("the service ended: %v\n%s%s", err, said, c.errs.String())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("the service does not greet")
		}
	}
}

// post plays a task with a token.
func post(base, token, task string) (int, string, error) {
	return postTo(base+"/v1/", token, task)
}

func postTo(address, token, task string) (int, string, error) {
	return sendTo("POST", address, token, task)
}

func sendTo(method, address, token, body string) (int, string, error) {
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := alone.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

var (
	tokenLine = regexp.MustCompile(`(?m)^  (troupe_\S+)$`)
	curlLine  = regexp.MustCompile(`(?m)^  (curl .*)$`)
	onlyToken = regexp.MustCompile(`^troupe_\S+\n$`)
)

// shopTask signs in at the demo shop and lists what it sells.
const shopTask = `{"actions":[` +
	`{"open":"http://demo.troupe.test/login"},` +
	`{"fill":["#user","ada"]},` +
	`{"fill":["#password","demo"]},` +
	`{"click":"#login"},` +
	`{"waitForElement":"#user-name"},` +
	`{"open":"http://demo.troupe.test/"},` +
	`{"extractAll":[".product",{"name":"h3","price":".price"}],"options":{"limit":3}}` +
	`]}`

// TestServe is the life of a service: the first start, tokens, a stop, a later
// start, a kill.
func TestServe(t *testing.T) {
	leaks.Check(t)
	dir, err := os.MkdirTemp("", "tr") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // after the services have ended
	data := filepath.Join(dir, "data")
	first, base := serve(t, data)
	if info, err := os.Stat(data); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data folder: %v, %v", info.Mode(), err)
	}
	said := first.out.String()
	token, curl := tokenLine.FindStringSubmatch(said), curlLine.FindStringSubmatch(said)
	if token == nil || curl == nil {
		t.Fatalf("the first start says\n%s", said)
	}

	// The printed line works as it stands.
	if _, err := exec.LookPath("curl"); err == nil {
		cmd := exec.Command("sh", "-c", curl[1])
		cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1")
		got, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(got), `"success":true`) || !strings.Contains(string(got), "Oak Lamp") {
			t.Errorf("curl: %v: %s", err, got)
		}
	} else if status, got, err := post(base, token[1], shopTask); err != nil || status != 200 || !strings.Contains(got, "Oak Lamp") {
		t.Errorf("the printed task: %d, %v: %s", status, err, got)
	}

	// A picture comes back over the address in the result.
	_, got, err := post(base, token[1], `{"actions":[{"open":"http://demo.troupe.test/"},{"screenshot":"viewport"}]}`)
	where := regexp.MustCompile(regexp.QuoteMeta(base) + `/files/[^"]+`).FindString(got)
	if err != nil || where == "" {
		t.Fatalf("the screenshot: %v: %s", err, got)
	}
	if r, err := http.Get(where); err != nil || r.StatusCode != 200 || r.Header.Get("Content-Type") != "image/png" {
		t.Errorf("%s: %v, %v", where, r, err)
	} else {
		r.Body.Close()
	}

	// The service has the store locked; the command asks it.
	code, basic, stderr := play(t, "", "token", "create", "--account=ada", "--plan=basic", "--data="+data)
	if code != 0 || !onlyToken.MatchString(basic) {
		t.Fatalf("token create: %d, %q, %s", code, basic, stderr)
	}
	basic = strings.TrimSpace(basic)
	const little = `{"actions":[{"evaluate":"return 6*7"}]}`
	if status, got, err := post(base, basic, little); status != 200 || !strings.Contains(got, `"data":42`) {
		t.Errorf("the new token: %d, %v: %s", status, err, got)
	}
	if status, got, _ := post(base, basic+"x", little); status != 401 {
		t.Errorf("a token that is none: %d: %s", status, got)
	}
	if code, _, stderr := play(t, "", "token", "create", "--account=ada", "--plan=pro", "--data="+data); code != exitFailed ||
		!strings.Contains(stderr, "has the plan basic") {
		t.Errorf("another plan: %d, %s", code, stderr)
	}
	if second := spawn(t, "serve", "--listen=127.0.0.1:0", "--data="+data); second.end(t, hang) == nil ||
		!strings.Contains(second.errs.String(), "in use") {
		t.Errorf("a second service on the same data: %s", second.errs.String())
	}

	_ = first.Process.Signal(syscall.SIGTERM)
	if err := first.end(t, hang); err != nil {
		t.Errorf("the stop: %v", err)
	}
	if _, err := os.Stat(socketIn(data)); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	if strings.Contains(first.errs.String(), token[1]) || strings.Contains(first.errs.String(), basic) {
		t.Error("a token is in the log")
	}

	// Now the command opens the store itself.
	if code, out, stderr := play(t, "", "token", "create", "--account=ada", "--data="+data); code != 0 || !onlyToken.MatchString(out) {
		t.Errorf("token create without a service: %d, %q, %s", code, out, stderr)
	}

	again, base := serve(t, data)
	if said := again.out.String(); strings.Contains(said, "troupe_") || !strings.Contains(said, "token create --account") {
		t.Errorf("a later start says\n%s", said)
	}
	if status, got, err := post(base, basic, little); status != 200 {
		t.Errorf("the token after a restart: %d, %v: %s", status, err, got)
	}
	_ = again.Process.Kill()
	_ = again.end(t, hang)

	third, base := serve(t, data)
	if status, got, err := post(base, basic, little); status != 200 {
		t.Errorf("the token after a kill: %d, %v: %s", status, err, got)
	}
	_ = third.Process.Signal(syscall.SIGINT)
	if err := third.end(t, hang); err != nil {
		t.Errorf("the stop: %v", err)
	}
	browsers := browsersIn(data)
	if left, _ := filepath.Glob(filepath.Join(browsers, "*")); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	os.Remove(browsers)
}

// TestStop: the first signal lets a task end, the second does not.
//
// Promise: A stopped service ends its tasks or marks them `interrupted`, and leaves
// nothing behind (docs/operations.md).
func TestStop(t *testing.T) {
	leaks.Check(t)
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // after the services have ended
	for _, tc := range []struct {
		name, want string
		signals    int
	}{
		{"once", `"success":true`, 1},
		{"twice", `"code":"interrupted"`, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			finish := make(chan struct{})
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select { // the task lasts for as long as its page
				case <-finish:
				case <-r.Context().Done():
				}
			}))
			t.Cleanup(site.Close)
			c, base := serve(t, filepath.Join(dir, tc.name), "--workers=1", "--allow-cidr=127.0.0.1/32")
			token := tokenLine.FindStringSubmatch(c.out.String())
			answer := make(chan string, 1)
			go func() {
				_, got, err := post(base, token[1], fmt.Sprintf(`{"actions":[{"open":%q}],"timeout":60000,"config":{"actionTimeout":30000}}`, site.URL))
				answer <- fmt.Sprint(got, err)
			}()
			busy := func() bool {
				req, _ := http.NewRequest("GET", base+"/v1/workers", nil)
				req.Header.Set("Authorization", "Bearer "+token[1])
				r, err := http.DefaultTransport.RoundTrip(req)
				if err != nil {
					return false
				}
				defer r.Body.Close()
				b, _ := io.ReadAll(r.Body)
				return strings.Contains(string(b), `"busy"`)
			}
			wait.Until(t, "the task runs", busy)
			_ = c.Process.Signal(syscall.SIGTERM)
			for end := time.Now().Add(hang); ; time.Sleep(5 * time.Millisecond) {
				r, err := http.Get(base + "/readyz")
				if err == nil {
					r.Body.Close()
				}
				if err == nil && r.StatusCode == 503 {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("readyz does not turn: %v, %v", r, err)
				}
			}
			if status, got, err := post(base, token[1], `{"actions":[{"wait":1}]}`); status != 503 || !strings.Contains(got, `"draining"`) {
				t.Errorf("a new task: %d, %v: %s", status, err, got)
			}
			if tc.signals == 2 {
				_ = c.Process.Signal(syscall.SIGTERM)
			} else {
				close(finish)
			}
			if got := <-answer; !strings.Contains(got, tc.want) {
				t.Errorf("the running task: %s", got)
			}
			if err := c.end(t, hang); err != nil {
				t.Errorf("the stop: %v", err)
			}
		})
	}
}
