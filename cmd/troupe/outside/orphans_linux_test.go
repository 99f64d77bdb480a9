package outside_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"troupe/testkit/wait"
)

// listed is a process as the kernel lists it.
type listed struct {
	pid, parent, group int
	state              string
}

// everyProcess lists what runs, and what has ended and was not asked for.
func everyProcess(t *testing.T) (all []listed) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stats {
		b, err := os.ReadFile(s)
		if err != nil {
			continue // it is gone
		}
		var p listed
		rest := string(b[strings.LastIndexByte(string(b), ')')+2:])
		if _, err := fmt.Sscan(rest, &p.state, &p.parent, &p.group); err != nil {
			continue
		}
		p.pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(s)))
		all = append(all, p)
	}
	return all
}

// childrenOf lists the children of a process: those that have ended, or those that run.
func childrenOf(t *testing.T, parent int, ended bool) (all []listed) {
	t.Helper()
	for _, p := range everyProcess(t) {
		if p.parent == parent && (p.state == "Z") == ended {
			all = append(all, p)
		}
	}
	return all
}

// TestNothingStaysOfEndedBrowsers: a service that is the first process of a container, and
// one below a first process that takes care of nothing, leave no zombies when browsers end,
// and play tasks after that.
func TestNothingStaysOfEndedBrowsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a process the first of a namespace")
	}
	if out, err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("there are no namespaces here: %v %s", err, out)
	}
	for name, first := range map[string]string{
		"the service is the first process":    `exec "$@"`,
		"the first process asks for nothing":  `"$@" & exec sleep 600`,
		"a shell is between it and the first": `(trap : TERM; "$@"; true) & exec sleep 600`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(shortFolder(t), "data")
			c := spawnAs(t, "unshare", "", nil, "--pid", "--fork", "--mount-proc", "sh", "-c", first, "sh",
				program, "serve", "--listen=127.0.0.1:0", "--data="+data, "--workers=2")
			base := c.greeting(t)
			token := tokenLine.FindStringSubmatch(c.out.String())[1]
			service := serviceBelow(t, c.Process.Pid)
			for range 2 {
				for _, b := range childrenOf(t, service, false) {
					_ = syscall.Kill(b.pid, syscall.SIGKILL)
				}
				wait.Until(t, "a task is played after that", func() bool {
					status, got, err := post(base, token, `{"queueTimeout":20000,"actions":[{"open":"http://demo.troupe.test/"},{"getText":".name"}]}`)
					return err == nil && status == 200 && strings.Contains(got, "Demo Shop")
				})
			}
			if said := c.errs.String(); strings.Contains(said, "no child processes") {
				t.Errorf("the ends are told of as %s", said)
			}
			wait.Until(t, "nothing has ended and was not asked for", func() bool {
				return len(zombiesBelow(t, c.Process.Pid)) == 0
			})
			if err := syscall.Kill(service, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			wait.Until(t, "the service has ended", func() bool {
				return strings.Contains(c.errs.String(), "the service has stopped")
			})
			for _, p := range zombiesBelow(t, c.Process.Pid) {
				if p.pid != service { // where nobody asks for that
					t.Errorf("a zombie is left: %+v", p)
				}
			}
			for _, p := range childrenOf(t, c.Process.Pid, false) { // the first of the namespace: all others end with it
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			}
			_ = c.end(t, hang)
		})
	}
}

// below lists the processes that a process has started, and those that they have.
func below(t *testing.T, top int) (all []listed) {
	t.Helper()
	processes, in := everyProcess(t), map[int]bool{top: true}
	for grown := true; grown; {
		grown = false
		for _, p := range processes {
			if in[p.parent] && !in[p.pid] {
				in[p.pid], grown = true, true
				all = append(all, p)
			}
		}
	}
	return all
}

func zombiesBelow(t *testing.T, top int) (all []listed) {
	t.Helper()
	for _, p := range below(t, top) {
		if p.state == "Z" {
			all = append(all, p)
		}
	}
	return all
}

// serviceBelow finds the service among what a process has started.
func serviceBelow(t *testing.T, top int) int {
	t.Helper()
	for _, p := range below(t, top) {
		if at, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid)); at == program {
			return p.pid
		}
	}
	t.Fatal("the service is not found")
	return 0
}
