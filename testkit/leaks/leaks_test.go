package leaks

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestWhatIsLeftIsSeen leaves one thing of each kind behind.
func TestWhatIsLeftIsSeen(t *testing.T) {
	for name, tc := range map[string]struct {
		leave func(t *testing.T, root string) (tidy func())
		want  string
	}{
		"a goroutine": {func(*testing.T, string) func() {
			end := make(chan struct{})
			go func() { <-end }()
			return func() { close(end) }
		}, "goroutines"},
		"a descriptor": {func(t *testing.T, _ string) func() {
			f, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			return func() { f.Close() }
		}, os.DevNull},
		"a folder": {func(t *testing.T, root string) func() {
			if err := os.Mkdir(root+"/forgotten", 0o700); err != nil {
				t.Fatal(err)
			}
			return func() { os.Remove(root + "/forgotten") }
		}, "forgotten"},
		"a process that is no child any more": {func(t *testing.T, root string) func() {
			c := exec.Command("sh", "-c", "sleep 60 & echo $!")
			c.Env = []string{"HOME=" + root + "/home", "PATH=" + os.Getenv("PATH")}
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			c.Stdout = w
			if err := c.Run(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			b := make([]byte, 20)
			n, _ := r.Read(b)
			r.Close()
			pid := strings.TrimSpace(string(b[:n]))
			// While it becomes another program, nothing can be read of it: its environment
			// comes after its name.
			for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
				name, err := os.ReadFile("/proc/" + pid + "/comm")
				env, _ := os.ReadFile("/proc/" + pid + "/environ")
				if err != nil || string(name) == "sleep\n" && strings.Contains(string(env), root) {
					break
				}
			}
			return func() { _ = exec.Command("kill", pid).Run() }
		}, "processes"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			before := take(root)
			tidy := tc.leave(t, root)
			all := before.grown(root, 200*time.Millisecond)
			if !strings.Contains(strings.Join(all, "\n"), tc.want) {
				t.Errorf("what is said to be left is %v", all)
			}
			tidy()
			if all := before.grown(root, patience); len(all) > 0 {
				t.Errorf("when it is gone, it is said that there is %v", all)
			}
		})
	}
}
