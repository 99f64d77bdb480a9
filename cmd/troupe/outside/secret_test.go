package outside_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSecretsAreNowhere: a secret and a token go through a whole run of the
// service, at its most talkative, and are neither in what it prints and logs,
// nor in anybody's arguments or environment, nor in any file of its own.
//
// Promise: Secrets are not on the disk in plain text (docs/security.md).
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	service, base := serve(t, data, "--log-level=debug", "--workers=1")
	const value = "tr0ub4dor&3 horse"
	set := func(stdin string, args ...string) (int, string, string) {
		return play(t, stdin, append([]string{"secret", "set", "--data=" + data, "--account=local"}, args...)...)
	}
	code, token, stderr := play(t, "", "token", "create", "--account=local", "--data="+data)
	if token = strings.TrimSpace(token); code != 0 || token == "" {
		t.Fatalf("token create: %d %s", code, stderr)
	}
	if code, out, stderr := set(value+"\n", "pass", "--origin=HTTP://demo.troupe.test:80/"); code != 0 || !strings.Contains(out, "for http://demo.troupe.test.") || strings.Contains(out+stderr, value) {
		t.Fatalf("secret set: %d %s%s", code, out, stderr)
	}
	for text, args := range map[string][]string{
		"is no origin": {"pass", "--origin=demo.troupe.test"}, "not 1 to 64": {"a b", "--origin=http://demo.troupe.test"}, "no account": {"pass", "--origin=http://demo.troupe.test", "--account=nobody"},
	} {
		if code, _, stderr := set(value, args...); code != exitFailed || !strings.Contains(stderr, text) || strings.Contains(stderr, value) {
			t.Errorf("%v: %d %s", args, code, stderr)
		}
	}
	if code, _, stderr := set("", "pass", "--origin=http://demo.troupe.test"); code != exitUsage || !strings.Contains(stderr, "standard input") {
		t.Errorf("no value: %d %s", code, stderr)
	}
	if code, out, _ := play(t, "", "secret", "list", "--account=local", "--data="+data); code != 0 || !strings.Contains(out, "\npass  http://demo.troupe.test  20") || strings.Contains(out, value) {
		t.Errorf("secret list: %d %s", code, out)
	}

	// It gets to the page: a form with it is sent in an address, which is where
	// a careless log would have it.
	status, answer, err := post(base, token, `{"config":{"trace":true},"actions":[{"open":"http://demo.troupe.test/login"},{"fill":["#user","${secret:pass}"]},
		{"evaluate":"return user.value.length"},{"getValue":"#user"},{"evaluate":"await fetch('/?q='+encodeURIComponent(user.value));location='/?p='+encodeURIComponent(user.value)"},{"wait":200},{"evaluate":"return location.href"}]}`)
	if err != nil || status != 200 || !strings.Contains(answer, fmt.Sprintf(`"result":%d`, len(value))) || !strings.Contains(answer, `"data":"http://demo.troupe.test/?p=***"`) {
		t.Errorf("the task: %d %v %s", status, err, answer)
	}
	if status, _, err := post(base, token+"x", `{}`); status != 401 || err != nil {
		t.Errorf("a wrong token: %d %v", status, err)
	}
	hides := func(where string, b []byte) {
		t.Helper()
		for _, hidden := range []string{value, "tr0ub4dor%263", "tr0ub4dor&amp;3", `tr0ub4dor\u00263`, token} {
			if bytes.Contains(b, []byte(hidden)) {
				t.Errorf("%s holds %s", where, hidden)
			}
		}
	}
	hides("the answer", []byte(answer))
	running := 0
	for _, p := range processes(t) {
		if p.pid == os.Getpid() {
			continue
		}
		for _, what := range []string{"cmdline", "environ"} {
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.pid, what)); err == nil {
				running++
				hides(fmt.Sprintf("%s of process %d", what, p.pid), b)
			}
		}
	}
	if running < 4 {
		t.Errorf("%d files of processes were looked at", running)
	}
	if code, _, stderr := play(t, "", "secret", "remove", "pass", "--account=local", "--data="+data); code != 0 {
		t.Errorf("secret remove: %d %s", code, stderr)
	}
	if code, _, stderr := play(t, "", "secret", "remove", "pass", "--account=local", "--data="+data); code != exitFailed || !strings.Contains(stderr, "no secret") {
		t.Errorf("removed twice: %d %s", code, stderr)
	}
	if code, _, stderr := set(value, "kept", "--origin=http://demo.troupe.test"); code != 0 {
		t.Errorf("secret set: %d %s", code, stderr)
	}
	_ = service.Process.Signal(syscall.SIGTERM)
	if err := service.end(t, hang); err != nil {
		t.Error(err)
	}
	if said := service.out.String() + service.errs.String(); !strings.Contains(said, `"task"`) || !strings.Contains(said, "forward") {
		t.Errorf("the log has no tasks in it:\n%s", said)
	}
	if said := service.errs.String(); !strings.Contains(said, `"order":"/secret/set","about":"local/pass"`) {
		t.Errorf("the log does not have the command:\n%s", said)
	}
	hides("what the service prints", []byte(service.out.String()))
	hides("the log", []byte(service.errs.String()))
	err = filepath.WalkDir(data, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(p)
		hides(p, b)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	// Without the service the command does it itself.
	if code, out, stderr := play(t, "", "secret", "list", "--account=local", "--data="+data); code != 0 || !strings.Contains(out, "\nkept  ") {
		t.Errorf("secret list: %d %s%s", code, out, stderr)
	}
}
