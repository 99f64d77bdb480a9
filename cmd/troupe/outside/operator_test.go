package outside_test

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
	"time"

	"troupe/actors/api"
	"troupe/http/admin"
	"troupe/testkit/wait"
)

// operatorCLI gives an operator's commands for one data folder.
type operatorCLI struct {
	t    *testing.T
	data string
}

// says runs a command that works and returns what it prints.
func (d operatorCLI) says(args ...string) string {
	d.t.Helper()
	code, out, stderr := play(d.t, "", append(args, "--data="+d.data)...)
	if code != 0 {
		d.t.Errorf("%v: exit code %d, %s", args, code, stderr)
	}
	return strings.TrimSpace(out)
}

// refuses runs a command that must not work.
func (d operatorCLI) refuses(code int, sentence string, args ...string) {
	d.t.Helper()
	got, out, stderr := play(d.t, "", append(args, "--data="+d.data)...)
	if got != code || out != "" || !strings.Contains(stderr, sentence) {
		d.t.Errorf("%v: exit code %d, %q, %s", args, got, out, stderr)
	}
}

// worker returns one of the list.
func (d operatorCLI) worker(name string) admin.Worker {
	d.t.Helper()
	var all []admin.Worker
	if err := json.Unmarshal([]byte(d.says("worker", "list", "--json")), &all); err != nil {
		d.t.Fatal(err)
	}
	for _, w := range all {
		if w.Name == name {
			return w
		}
	}
	return admin.Worker{}
}

// until waits for a worker to be as it should.
func (d operatorCLI) until(name, state string) admin.Worker {
	d.t.Helper()
	for end := time.Now().Add(hang); ; time.Sleep(10 * time.Millisecond) {
		w := d.worker(name)
		if stateOf(w) == state {
			return w
		}
		if time.Now().After(end) {
			d.t.Fatalf("the worker %q is %q, not %q", name, stateOf(w), state)
		}
	}
}

// TestOperator gives all commands: to a folder that holds nothing, to a service
// that runs, to what it leaves behind, and to the next one.
func TestOperator(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // after the services have ended
	d := operatorCLI{t, filepath.Join(dir, "data")}
	for _, args := range [][]string{
		{"account", "list"}, {"account", "set-plan", "ada", "pro"}, {"account", "delete", "ada"}, {"token", "list"}, {"token", "revoke", "tok_1"},
		{"worker", "list"}, {"worker", "drain", "mine"}, {"worker", "resume", "mine"}, {"worker", "remove", "mine"},
	} {
		d.refuses(exitUsage, "there is nothing in the data folder", args...)
	}
	if _, err := os.Stat(d.data); err == nil {
		t.Fatal("looking into a data folder makes it")
	}

	// Before the first start.
	d.says("account", "create", "ada", "--plan=free")
	d.refuses(exitFailed, "with the plan free", "account", "create", "ada", "--plan=pro")
	d.says("account", "set-plan", "ada", "pro")
	token := d.says("token", "create", "--account=ada")
	d.says("worker", "add", "mine", "--account=ada")
	d.refuses(exitFailed, `there is no account "eve"`, "worker", "add", "hers", "--account=eve")
	d.refuses(exitFailed, "no service runs here", "worker", "drain", "mine")
	if list := d.says("worker", "list"); !strings.Contains(list, "mine") || strings.Contains(list, "worker-1") {
		t.Errorf("workers without a service:\n%s", list)
	}

	release := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(site.Close)
	let := sync.OnceFunc(func() { close(release) })
	t.Cleanup(let) // before the site closes
	first, base := serve(t, d.data, "--workers=1", "--allow-cidr=127.0.0.1/32")
	mine := d.until("mine", "online")
	on := func(session string) string {
		return fmt.Sprintf(`{"actions":[{"evaluate":"return 6*7"}],"workerId":%q%s}`, mine.ID, session)
	}
	works := func(base, task string) (a of) {
		t.Helper()
		status, got, err := post(base, token, task)
		if err != nil || status != 200 || !strings.Contains(got, `"data":42`) {
			t.Fatalf("%s: %d, %v: %s", task, status, err, got)
		}
		return read(t, got)
	}
	works(base, on(""))
	d.says("worker", "add", "extra")
	d.until("extra", "online")

	// A drain lets the task end.
	ended := make(chan string, 1)
	go func() {
		_, got, err := post(base, token, fmt.Sprintf(`{"actions":[{"open":%q},{"evaluate":"return 6*7"}],"workerId":%q}`, site.URL, mine.ID))
		ended <- fmt.Sprint(got, err)
	}()
	d.until("mine", "busy")
	if said := d.says("worker", "drain", "mine"); !strings.Contains(said, "continues to the end") {
		t.Error(said)
	}
	d.until("mine", "busy, draining")
	let()
	if got := <-ended; !strings.Contains(got, `"data":42`) {
		t.Errorf("the task on a worker that was drained: %s", got)
	}
	d.until("mine", "drained")
	if status, got, err := post(base, token, on("")); status != 409 || !strings.Contains(got, "worker_offline") {
		t.Errorf("on a drained worker: %d, %v: %s", status, err, got)
	}
	d.says("worker", "resume", "mine")
	d.until("mine", "online")
	d.refuses(exitFailed, "drain it, or start the service with fewer", "worker", "remove", "worker-1")
	session := works(base, on(`,"session":{"preserve":true}`)).SessionID

	// What was added outlives the service, however it ends.
	_ = first.Process.Kill()
	_ = first.end(t, hang)
	if w := d.worker("mine"); w.ID != mine.ID || w.Account != "ada" {
		t.Errorf("after the kill: %+v", w)
	}
	again, base := serve(t, d.data, "--workers=1")
	d.until("mine", "reserved")
	d.until("extra", "online")
	works(base, fmt.Sprintf(`{"actions":[{"evaluate":"return 6*7"}],"session":{"id":%q}}`, session))

	// What is removed is gone, with what was on it.
	d.says("worker", "remove", "mine")
	if status, got, err := post(base, token, on(fmt.Sprintf(`,"session":{"id":%q}`, session))); status != 403 || !strings.Contains(got, "foreign_worker") {
		t.Errorf("on a worker that was removed: %d, %v: %s", status, err, got)
	}
	if status, got, err := post(base, token, fmt.Sprintf(`{"actions":[{"wait":1}],"session":{"id":%q}}`, session)); status != 409 || !strings.Contains(got, "session_mismatch") {
		t.Errorf("the session of a worker that was removed: %d, %v: %s", status, err, got)
	}
	d.refuses(exitFailed, `there is no worker "mine"`, "worker", "remove", "mine")

	// A token, then all that the account has.
	other := d.says("token", "create", "--account=ada")
	var tokens []admin.Token
	if err := json.Unmarshal([]byte(d.says("token", "list", "--account=ada", "--json")), &tokens); err != nil || len(tokens) != 2 {
		t.Fatalf("%+v, %v", tokens, err)
	}
	if list := d.says("token", "list"); strings.Contains(list, "troupe_") || !strings.Contains(list, tokens[0].ID) {
		t.Errorf("tokens:\n%s", list)
	}
	d.refuses(exitFailed, "must not appear on a command line", "token", "revoke", other)
	d.says("token", "revoke", tokens[0].ID)
	if status, got, err := post(base, token, on("")); status != 401 {
		t.Errorf("a revoked token: %d, %v: %s", status, err, got)
	}
	token = other
	works(base, `{"actions":[{"evaluate":"return 6*7"}],"session":{"preserve":true}}`)
	go func() {
		_, got, err := post(base, token, `{"actions":[{"wait":30000}],"timeout":60000}`)
		ended <- fmt.Sprint(got, err)
	}()
	wait.Until(t, "the task runs", func() bool { return d.worker("extra").State == "busy" || d.worker("worker-1").State == "busy" })
	if said := d.says("account", "delete", "ada"); !strings.Contains(said, "Tasks cancelled: 1, sessions ended: 1, workers removed: 0") {
		t.Error(said)
	}
	if got := <-ended; !strings.Contains(got, `"code":"cancelled"`) {
		t.Errorf("the task of a deleted account: %s", got)
	}
	if status, got, err := post(base, token, `{"actions":[{"wait":1}]}`); status != 401 {
		t.Errorf("the token of a deleted account: %d, %v: %s", status, err, got)
	}
	if list := d.says("account", "list"); strings.Contains(list, "ada") {
		t.Errorf("accounts:\n%s", list)
	}
	_ = again.Process.Signal(syscall.SIGTERM)
	if err := again.end(t, hang); err != nil {
		t.Errorf("the stop: %v", err)
	}
	if list := d.says("worker", "list"); strings.Contains(list, "mine") || !strings.Contains(list, "extra") {
		t.Errorf("workers after the stop:\n%s", list)
	}
	d.says("worker", "remove", "extra")
	os.Remove(browsersIn(d.data))
}

// stateOf tells the state with what a drain has made of it.
func stateOf(r admin.Worker) string {
	switch {
	case r.Draining && r.State == api.Offline:
		return "drained"
	case r.Draining:
		return string(r.State) + ", draining"
	default:
		return string(r.State)
	}
}
