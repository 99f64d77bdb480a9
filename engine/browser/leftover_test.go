package browser_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"troupe/engine/browser"
	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// childDir makes this binary a service that starts a browser and waits to be
// killed.
const childDir = "TROUPE_TEST_CHILD_DIR"

func runChild(dir string) {
	b, err := browser.Launch(context.Background(), options(dir))
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(b.PID(), b.Dir())
	select {}
}

func TestWhatAKilledServiceLeavesIsEnded(t *testing.T) {
	need.Browser(t)
	dir := t.TempDir()
	for d := dir; len(d) > len(os.TempDir()); d = d[:lastSlash(d)] {
		os.Chmod(d, 0o711) // the browser's user must reach its folder
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var folder string
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, scanErr := fmt.Sscan(line, &pid, &folder); err != nil || scanErr != nil {
		cmd.Process.Kill()
		t.Fatalf("the child said %q: %v %v", line, err, scanErr)
	}

	// While the service lives its browsers are left alone.
	if n, err := browser.EndLeftovers(dir); n != 0 || err != nil {
		t.Errorf("ended %d browsers of a living service, %v", n, err)
	}
	if syscall.Kill(pid, 0) != nil {
		t.Fatal("the browser of a living service was ended")
	}

	// A stopped browser does not see that its pipe has closed, so it stays.
	if err := syscall.Kill(-pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if syscall.Kill(-pid, 0) != nil {
		t.Fatal("the browser is gone before anybody ended it: the test shows nothing")
	}
	n, err := browser.EndLeftovers(dir)
	if n != 1 || err != nil {
		t.Errorf("ended %d browsers, %v; want 1", n, err)
	}
	wait.Until(t, "no process of the browser runs", func() bool { return syscall.Kill(-pid, 0) != nil })
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAStrangersProcessIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	stranger := exec.Command("sleep", "60")
	stranger.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stranger.Process.Kill(); stranger.Wait() }()
	// The number was given out again: the same process number, another start.
	note := fmt.Sprintf(`{"pid":%d,"started":"12345","owner":999999,"ownerStarted":"1"}`, stranger.Process.Pid)
	os.Mkdir(dir+"/b1", 0o700)
	os.WriteFile(dir+"/b1.json", []byte(note), 0o600)
	if n, err := browser.EndLeftovers(dir); n != 0 || err != nil {
		t.Errorf("ended %d, %v", n, err)
	}
	if stranger.Process.Signal(syscall.Signal(0)) != nil {
		t.Error("a stranger's process was ended")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func lastSlash(s string) int {
	for i := len(s) - 1; i > 0; i-- {
		if s[i] == '/' {
			return i
		}
	}
	return 0
}
