package outside_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"troupe/testkit/wait"
)

// TestPlansAreReadAgain: at SIGHUP, for requests that come then; a file that is
// wrong changes nothing.
//
// Promise: Plans are read again without a restart (docs/operations.md).
func TestPlansAreReadAgain(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	config := filepath.Join(dir, "config.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{}`)
	c, base := serve(t, filepath.Join(dir, "data"), "--workers=1", "--config="+config, "--log-format=json")
	token := tokenLine.FindStringSubmatch(c.out.String())
	if token == nil {
		t.Fatal("no token")
	}
	hangup := func() {
		t.Helper()
		if err := c.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	type told struct {
		Limits struct{ TasksPerDay, SyncTimeout *int64 }
	}
	usage := func() (u told) {
		t.Helper()
		if status, body := fetch(t, base+"/v1/usage", token[1]); status != 200 || json.Unmarshal([]byte(body), &u) != nil {
			t.Fatal(status, body)
		}
		return u
	}
	const task = `{"actions":[{"wait":1}]}`
	if u := usage(); u.Limits.TasksPerDay != nil {
		t.Errorf("%+v", u)
	}
	write(`{"plans":{"pro":{"tasksPerDay":1,"syncTimeoutMs":61000}}}`)
	hangup()
	until(t, "the plan is another", func() bool { u := usage(); return u.Limits.TasksPerDay != nil && *u.Limits.TasksPerDay == 1 })
	if u := usage(); *u.Limits.SyncTimeout != 61000 {
		t.Errorf("%+v", u)
	}
	for _, want := range []int{200, 429} {
		if status, body, err := post(base, token[1], task); status != want {
			t.Errorf("%d %s %v, want %d", status, body, err, want)
		}
	}
	if status, body := fetch(t, base+"/readyz", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	write(`{"plans":{"pro":{"tasksPerDay":"many"}}}`)
	hangup()
	until(t, "the log says that the file is wrong", func() bool { return strings.Contains(c.errs.String(), "the plans stay as they are") })
	if u := usage(); *u.Limits.TasksPerDay != 1 {
		t.Errorf("%+v", u)
	}
	write(`{}`)
	hangup()
	until(t, "there is no limit again", func() bool { return usage().Limits.TasksPerDay == nil })
	if status, body, err := post(base, token[1], task); status != 200 {
		t.Errorf("%d %s %v", status, body, err)
	}
	changes := func() int { return strings.Count(c.errs.String(), `"changed":["pro"]`) }
	until(t, "the log tells of both changes", func() bool { return changes() >= 2 })
	if n := changes(); n != 2 {
		t.Errorf("the log tells of %d changes", n)
	}
}

// TestDrainAndResume: the operator takes a service out and brings it back, and
// no task suffers.
func TestDrainAndResume(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	finish := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select { // the task lasts for as long as its page
		case <-finish:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(site.Close)
	c, base := serve(t, data, "--workers=2", "--allow-cidr=127.0.0.1/32")
	token := tokenLine.FindStringSubmatch(c.out.String())
	if token == nil {
		t.Fatal("no token")
	}
	const task = `{"actions":[{"wait":1}]}`
	ended := make(chan string, 1)
	go func() {
		status, got, err := post(base, token[1], fmt.Sprintf(`{"actions":[{"open":%q}],"timeout":60000,"config":{"actionTimeout":30000}}`, site.URL))
		ended <- fmt.Sprint(status, got, err)
	}()
	until(t, "the task runs", func() bool {
		_, body := fetch(t, base+"/v1/capacity", token[1])
		return strings.Contains(body, `"busy":1`)
	})
	if code, out, errs := play(t, "", "drain", "--data", data); code != 0 || !strings.Contains(out, "1 runs and 0 wait") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	if status, body, err := post(base, token[1], task); status != 503 || !strings.Contains(body, `"code":"draining"`) {
		t.Errorf("%d %s %v", status, body, err)
	}
	for path, want := range map[string]string{"/readyz": "draining", "/v1/capacity?format=text": "draining\n"} {
		if status, body := fetch(t, base+path, ""); status != 503 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if code, _, errs := play(t, "", "drain", "--data", data, "--wait=1ms"); code != exitFailed || !strings.Contains(errs, "1 task runs and 0 wait") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	close(finish)
	code, out, errs := play(t, "", "drain", "--data", data, "--wait=2m", "--json")
	if code != 0 || !strings.Contains(out, `"busy": 0`) || !strings.Contains(out, `"draining": true`) {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	if got := <-ended; !strings.HasPrefix(got, "200") || !strings.Contains(got, `"success":true`) {
		t.Errorf("the task that ran: %s", got)
	}
	if code, out, errs := play(t, "", "resume", "--data", data); code != 0 || !strings.Contains(out, "of 2 workers are free") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	if status, body, err := post(base, token[1], task); status != 200 {
		t.Errorf("%d %s %v", status, body, err)
	}
}

// until is how most tests here wait.
var until = wait.Until
