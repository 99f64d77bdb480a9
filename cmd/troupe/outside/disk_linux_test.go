package outside_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// TestFullDisk fills the disk of the data folder under a service that runs.
func TestFullDisk(t *testing.T) {
	need.All(t)
	t.Parallel()
	dir := shortFolder(t)
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=100m"); err != nil {
		t.Skipf("no disk of its own can be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(dir, "filler")
	troubled(t, filepath.Join(dir, "data"), "nearly full", "storage_full", "the disk is nearly full", func() error {
		var disk syscall.Statfs_t
		if err := syscall.Statfs(dir, &disk); err != nil {
			return err
		}
		return os.WriteFile(filler, make([]byte, int64(disk.Bavail)*int64(disk.Bsize)-(1<<20)), 0o600)
	}, func() error { return os.Remove(filler) })
}

// TestStopOnFullDisk fills the disk of the data folder to the last byte under a
// service that has something in its log, stops it there, and starts it again: it
// ends as ever, comes up, and knows its tokens.
func TestStopOnFullDisk(t *testing.T) {
	t.Parallel()
	dir := shortFolder(t)
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=100m"); err != nil {
		t.Skipf("no disk of its own can be made here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	data := filepath.Join(dir, "data")
	c, base := serve(t, data, "--workers=1")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	const later = `{"async":true,"queueTimeout":20000,"actions":[{"evaluate":"return 6*7"}]}`
	_, got, err := post(base, token, later)
	task := read(t, got).TaskID
	if status, got := get(t, base, token, "/v1/get-result?wait=20000&taskId="+task); err != nil || status != 200 {
		t.Fatalf("the task: %v, %d: %s", err, status, got)
	}
	stop := func(c *child) {
		t.Helper()
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.end(t, hang); err != nil {
			t.Fatalf("the stop: %v\n%s", err, c.errs.String())
		}
	}
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; {
		_, err = filler.Write(make([]byte, 4096))
	}
	_ = filler.Close()
	stop(c)
	c, base = serve(t, data, "--workers=1")
	if status, got := get(t, base, token, "/v1/get-result?taskId="+task); status != 200 || !strings.Contains(got, `"data":42`) {
		t.Errorf("the result after a start on the full disk: %d: %s", status, got)
	}
	if status, got, err := post(base, token, later); status != 503 || !strings.Contains(got, `"storage_full"`) {
		t.Errorf("a task then: %v, %d: %s", err, status, got)
	}
	if status, got := get(t, base, "", "/readyz"); status != 503 || !strings.Contains(got, "nearly full") {
		t.Errorf("/readyz then: %d: %s", status, got)
	}
	if err := os.Remove(filler.Name()); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the service is ready", func() bool { status, _ := get(t, base, "", "/readyz"); return status == 200 })
	if status, got, err := post(base, token, later); status != 200 {
		t.Errorf("a task with space again: %v, %d: %s", err, status, got)
	}
	stop(c)
}

// TestUnwritableFolder takes the data folder's permission to make files away under
// a service that runs. Root needs none, so for root the folders are made immutable.
func TestUnwritableFolder(t *testing.T) {
	t.Parallel()
	data := filepath.Join(shortFolder(t), "data")
	set := func(locked bool) error {
		return filepath.WalkDir(data, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if os.Geteuid() != 0 {
				return os.Chmod(p, map[bool]os.FileMode{true: 0o500, false: 0o700}[locked])
			}
			return immutable(p, locked)
		})
	}
	try := t.TempDir()
	if err := immutable(try, true); os.Geteuid() == 0 && err != nil {
		t.Skipf("folders cannot be made immutable here: %v", err)
	}
	_ = immutable(try, false)
	t.Cleanup(func() { _ = set(false) })
	troubled(t, data, "accepts no new files", "storage_unwritable", "cannot be written to", func() error { return set(true) }, func() error { return set(false) })
}

// immutableFlag is FS_IMMUTABLE_FL of linux/fs.h.
const immutableFlag = 0x10

// immutable sets or clears a folder's flag by which nobody makes or removes
// anything in it.
func immutable(dir string, on bool) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	if flags &^= immutableFlag; on {
		flags |= immutableFlag
	}
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags)
}

// troubled lets something happen to the disk under a service that runs, and end
// again: each request has a definite answer, and afterwards all is well.
func troubled(t *testing.T, data, notice, code, command string, begin, end func() error) {
	c, base := serve(t, data, "--workers=1")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	_, limited, stderr := play(t, "", "token", "create", "--account=ada", "--plan=free", "--data="+data)
	if limited = strings.TrimSpace(limited); limited == "" {
		t.Fatal(stderr)
	}
	const later = `{"async":true,"queueTimeout":20000,"actions":[{"evaluate":"return 6*7"}]}`
	const session = `{"session":{"preserve":true},"queueTimeout":20000,"actions":[{"evaluate":"return 6*7"}]}`
	_, got, err := post(base, token, later)
	done := read(t, got)
	if get(t, base, token, "/v1/get-result?wait=20000&taskId="+done.TaskID); err != nil || !done.Success {
		t.Fatalf("the first task: %v: %s", err, got)
	}
	until := func(noted bool) {
		t.Helper()
		wait.Until(t, "/readyz says what holds of "+notice, func() bool {
			status, said := get(t, base, "", "/readyz")
			return strings.Contains(said, notice) == noted && (status == 503) == noted && strings.Contains(said, `"ready":false`) == noted
		})
	}
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	// What is written meanwhile may still go well: it needs no new file.
	if status, got, err := post(base, limited, shopTask); err != nil || status != 200 && status != 503 {
		t.Errorf("at the beginning: %d, %v: %s", status, err, got)
	}
	until(true)
	for _, tc := range []struct{ token, task string }{{token, shopTask}, {limited, shopTask}, {token, later}, {token, session}} {
		if status, got, err := post(base, tc.token, tc.task); status != 503 || !strings.Contains(got, `"code":"`+code+`","retryable":true`) {
			t.Errorf("meanwhile, %s: %d, %v: %s", tc.task, status, err, got)
		}
	}
	if status, got := get(t, base, token, "/v1/get-result?taskId="+done.TaskID); status != 200 || !strings.Contains(got, `"data":42`) {
		t.Errorf("a result that was there before: %d: %s", status, got)
	}
	if code, _, stderr := play(t, "", "account", "create", "bob", "--plan=free", "--data="+data); code != exitFailed || !strings.Contains(stderr, command) {
		t.Errorf("an operator's command: %d, %s", code, stderr)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	until(false)
	for _, tc := range []struct{ token, task string }{{limited, shopTask}, {token, later}, {token, session}} {
		if status, got, err := post(base, tc.token, tc.task); status != 200 || !strings.Contains(got, `"success":true`) {
			t.Errorf("afterwards, %s: %d, %v: %s", tc.task, status, err, got)
		}
	}
	_ = c.Process.Signal(syscall.SIGTERM) // before its disk goes
	if err := c.end(t, hang); err != nil {
		t.Errorf("the stop: %v", err)
	}
}

var diskKills = flag.Int("disk-kills", 0, "kills of the service on a full disk; 0: one, or two if all tests are asked for")

// TestKillOnFullDisk fills the disk of the data folder to the last byte under a service
// with tasks of all kinds, and kills it there, again and again: it starts, answers polls,
// results and lists, says that it is not ready and why, and writes the ends when there is
// room. Every second time, what a start has set free is taken too, and it is killed again.
func TestKillOnFullDisk(t *testing.T) {
	t.Parallel()
	dir := shortFolder(t)
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=200m"); err != nil {
		t.Skipf("no disk of its own can be made here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	data := filepath.Join(dir, "data")
	c, base := serve(t, data, "--workers=3")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	fillers := 0
	fill := func() {
		t.Helper()
		fillers++
		f, err := os.Create(filepath.Join(dir, "filler"+strconv.Itoa(fillers)))
		if err != nil {
			return // no room for that either
		}
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, 4096))
		}
		_ = f.Close()
	}
	send := func(task string) string {
		t.Helper()
		_, got, err := post(base, token, task)
		x := read(t, got)
		if err != nil || !x.Success {
			t.Fatalf("%s: %v: %s", task, err, got)
		}
		return x.TaskID
	}
	kills := 1
	if *diskKills > 0 {
		kills = *diskKills
	} else if need.AllAsked() {
		kills = 2 // of half a minute each
	}
	for kill := range kills {
		done := send(`{"async":true,"queueTimeout":20000,"actions":[{"evaluate":"return 6*7"}]}`)
		wait.Until(t, "a task has ended", func() bool {
			_, got := get(t, base, token, "/v1/get-result?wait=20000&taskId="+done)
			return strings.Contains(got, `"complete"`)
		})
		cut := send(`{"async":true,"queueTimeout":20000,"actions":[{"wait":60000}]}`)
		once := send(`{"queue":true,"actions":[{"wait":60000}]}`)
		twice := send(`{"queue":{"attempts":2},"actions":[{"evaluate":"return new Promise(f => setTimeout(() => f(6*7), 3000))"}]}`)
		waits := send(`{"queue":true,"actions":[{"evaluate":"return 'later'"}]}`)
		wait.Until(t, "the tasks run", func() bool {
			_, more := get(t, base, token, "/v1/get-result?taskId="+once)
			_, last := get(t, base, token, "/v1/get-result?taskId="+twice)
			return !strings.Contains(more, `"queued"`) && !strings.Contains(last, `"queued"`)
		})
		fill()
		for again := range 1 + kill%2 {
			_ = c.Process.Kill()
			_ = c.end(t, hang)
			if again > 0 {
				fill()
			}
			c, base = serve(t, data, "--workers=3")
		}
		poll := func(id string) string {
			status, got := get(t, base, token, "/v1/get-result?taskId="+id)
			if status != 200 {
				t.Errorf("kill %d: the poll of %s: %d: %s", kill, id, status, got)
			}
			return got
		}
		if got := poll(done); !strings.Contains(got, `"data":42`) {
			t.Errorf("kill %d: the result of before: %s", kill, got)
		}
		for _, id := range []string{cut, once} {
			if got := poll(id); !strings.Contains(got, `"interrupted"`) {
				t.Errorf("kill %d: what was cut off: %s", kill, got)
			}
		}
		for _, id := range []string{twice, waits} {
			if got := poll(id); !strings.Contains(got, `"pending"`) && !strings.Contains(got, `"queued"`) {
				t.Errorf("kill %d: what is still to run: %s", kill, got)
			}
		}
		if status, got := get(t, base, token, "/v1/tasks"); status != 200 || !strings.Contains(got, `"success":true`) {
			t.Errorf("kill %d: the list of tasks: %d: %s", kill, status, got)
		}
		if status, got := get(t, base, "", "/readyz"); status != 503 || !strings.Contains(got, "nearly full") {
			t.Errorf("kill %d: /readyz: %d: %s", kill, status, got)
		}
		if status, got, err := post(base, token, `{"async":true,"actions":[{"evaluate":"return 1"}]}`); err != nil || status != 503 || !strings.Contains(got, `"storage_full"`) {
			t.Errorf("kill %d: a new task: %v, %d: %s", kill, err, status, got)
		}
		for i := range fillers {
			_ = os.Remove(filepath.Join(dir, "filler"+strconv.Itoa(i+1)))
		}
		wait.Until(t, "the service is ready", func() bool { status, _ := get(t, base, "", "/readyz"); return status == 200 })
		for id, end := range map[string]string{cut: `"interrupted"`, once: `"interrupted"`, twice: `"data":42`, waits: `"later"`} {
			wait.Until(t, "the end of a task is known", func() bool { return strings.Contains(poll(id), end) })
		}
		reserve := func() bool { _, err := os.Stat(filepath.Join(data, "store.reserve")); return err == nil }
		wait.Until(t, "the reserve is there again", reserve)
		_ = c.Process.Kill() // what is written is there after another kill
		_ = c.end(t, hang)
		c, base = serve(t, data, "--workers=3")
		for id, end := range map[string]string{done: `"data":42`, cut: `"interrupted"`, once: `"interrupted"`, twice: `"data":42`, waits: `"later"`} {
			if got := poll(id); !strings.Contains(got, end) {
				t.Errorf("kill %d: after another kill: %s", kill, got)
			}
		}
		wait.Until(t, "the service is ready", func() bool { status, _ := get(t, base, "", "/readyz"); return status == 200 })
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.end(t, hang); err != nil {
		t.Errorf("the stop: %v", err)
	}
}
