package outside_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"troupe/testkit/need"
	"troupe/testkit/networks"
)

// backupCommands are the commands of docs/backup.md below a heading.
func backupCommands(t *testing.T, heading string) (lines []string) {
	t.Helper()
	const doc = "../../../docs/backup.md"
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	from := bytes.Count(text[:bytes.Index(text, []byte("\n## "+heading+"\n"))+1], []byte("\n"))
	to := len(text)
	for _, b := range blocksOf(t, doc) {
		if next := bytes.Index(text[bytes.Index(text, []byte("\n## "+heading+"\n"))+4:], []byte("\n## ")); next >= 0 {
			to = from + bytes.Count(text[bytes.Index(text, []byte("\n## "+heading+"\n"))+4:][:next], []byte("\n")) + 1
		}
		if b.line > from && b.line < to {
			lines = append(lines, logicalLines(b.text)...)
		}
	}
	if len(lines) == 0 {
		t.Fatalf("docs/backup.md has no commands below %q", heading)
	}
	return lines
}

// busy sends asynchronous tasks and tasks of the queue until it is ended, and gives the
// results that clients have seen, by their tasks.
func busy(t *testing.T, bases []string, token string) (ended func() map[string]string) {
	t.Helper()
	results, stop := map[string]string{}, atomic.Bool{}
	var mu sync.Mutex
	var clients sync.WaitGroup
	for i := range 3 {
		clients.Go(func() {
			for n := 0; !stop.Load(); n++ {
				base := bases[(i+n)%len(bases)]
				status, body, err := post(base, token, fmt.Sprintf(`{"async":true,"queueTimeout":20000,"actions":[{"open":"http://demo.troupe.test/"},{"evaluate":"return 'result %d-%d'"}]}`, i, n))
				var a struct{ TaskID string }
				if err != nil || status/100 != 2 || json.Unmarshal([]byte(body), &a) != nil {
					continue // all workers are busy
				}
				if status, body := get(t, base, token, "/v1/get-result?wait=20000&taskId="+a.TaskID); status == 200 && strings.Contains(body, fmt.Sprintf("result %d-%d", i, n)) {
					mu.Lock()
					results[a.TaskID] = fmt.Sprintf("result %d-%d", i, n)
					mu.Unlock()
				}
			}
		})
	}
	return func() map[string]string {
		stop.Store(true)
		clients.Wait()
		return results
	}
}

// has complains of results that a restored service does not give.
func hasResults(t *testing.T, base, token string, want map[string]string) {
	t.Helper()
	for task, text := range want {
		if status, body := get(t, base, token, "/v1/get-result?taskId="+task); status != 200 || !strings.Contains(body, text) {
			t.Errorf("the result of %s: %d %.200s, want %s", task, status, body, text)
		}
	}
}

// TestBackupByTheDocuments does what docs/backup.md says for one service, with its own
// commands: backups of a service that is busy, a restore to another folder, and what was
// there before the last backup is there, with pictures and secrets.
func TestBackupByTheDocuments(t *testing.T) {
	need.Time(t)
	t.Parallel()
	dir := shortFolder(t)
	data, restored, backups := filepath.Join(dir, "data"), filepath.Join(dir, "new"), filepath.Join(dir, "backups")
	saved := filepath.Join(dir, "saved.key")
	here := strings.NewReplacer("/var/lib/troupe", data, "/var/backups/troupe", backups, "/srv/troupe", restored, "/etc/troupe/saved.key", saved)
	args := func(line string) []string { return strings.Fields(here.Replace(line))[1:] }
	run := func(line string) string {
		t.Helper()
		code, stdout, stderr := play(t, "", args(line)...)
		if code != 0 {
			t.Fatalf("%s: %d, %s", line, code, stderr)
		}
		return stdout
	}
	lines := backupCommands(t, "Make backups")
	c := spawn(t, append(args(lines[0]), "--listen=127.0.0.1:0", "--workers=2")...)
	base := c.greeting(t)
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	if code, _, stderr := play(t, "correct horse battery", "secret", "set", "pass", "--account=local", "--origin=http://demo.troupe.test", "--data="+data); code != 0 {
		t.Fatal(stderr)
	}
	ended := busy(t, []string{base}, token)
	for range 3 {
		if said := run(lines[1]); !strings.Contains(said, "was read back") || !strings.Contains(said, "1 account") || !strings.Contains(said, "keep it elsewhere") {
			t.Errorf("a backup of the busy service: %s", said)
		}
	}
	results := ended()
	if len(results) == 0 {
		t.Fatal("the service was not busy")
	}
	status, body, err := post(base, token, `{"queueTimeout":20000,"actions":[{"open":"http://demo.troupe.test/"},{"screenshot":"viewport"}]}`)
	var shot struct {
		Data struct{ URL string } `json:"data"`
	}
	if err != nil || status != 200 || json.Unmarshal([]byte(body), &shot) != nil {
		t.Fatalf("%d %s %v", status, body, err)
	}
	_, picture, _ := strings.Cut(shot.Data.URL, "/files/")
	_, want := fetch(t, base+"/files/"+picture, "")
	run(lines[1])

	hot := filepath.Join(dir, "hot") // a plain copy while it runs
	if out, err := exec.Command("cp", "-a", data, hot).CombinedOutput(); err != nil {
		t.Logf("%v: %s", err, out) // the socket may not be copied
	}
	_ = c.Process.Kill()
	_ = c.end(t, hang)
	key, err := os.ReadFile(filepath.Join(data, "key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(saved, key, 0o600); err != nil {
		t.Fatal(err)
	}

	copied := spawn(t, "serve", "--listen=127.0.0.1:0", "--data="+hot, "--workers=1")
	if err := copied.end(t, hang); copied.ProcessState.ExitCode() != exitData || !strings.Contains(copied.errs.String(), "was copied while a service ran") || !strings.Contains(copied.errs.String(), "--accept-copy") {
		t.Errorf("a copy of the running folder: %v, %s", err, copied.errs.String())
	}
	if said := run("troupe store restore " + hot + " --data " + filepath.Join(dir, "recovered")); !strings.Contains(said, "token") || !strings.Contains(said, "can be missing") {
		t.Errorf("a restore of the copy: %s", said)
	}

	if said := run(backupCommands(t, "Look at backups")[0]); !strings.Contains(said, "intact") {
		t.Errorf("the list: %s", said)
	}
	lines = backupCommands(t, "Restore one service")
	if code, _, stderr := play(t, "", "store", "restore", backups, "--data="+restored); code != exitData || !strings.Contains(stderr, "there is no key") {
		t.Errorf("a restore without the key: %d, %s", code, stderr)
	}
	if said := run(lines[0]); !strings.Contains(said, "1 account") {
		t.Errorf("the restore: %s", said)
	}
	c = spawn(t, append(args(lines[1]), "--listen=127.0.0.1:0", "--workers=1")...)
	base = c.greeting(t)
	hasResults(t, base, token, results)
	if status, got := fetch(t, base+"/files/"+picture, ""); status != 200 || got != want || got == "" {
		t.Errorf("the picture: %d, %d bytes, want %d", status, len(got), len(want))
	}
	if code, stdout, stderr := play(t, "", "secret", "list", "--account=local", "--data="+restored); code != 0 || !strings.Contains(stdout, "pass") {
		t.Errorf("the secrets: %d %s %s", code, stdout, stderr)
	}
	if status, body, err := post(base, token, shopTask); status != 200 || !strings.Contains(body, "Oak Lamp") {
		t.Errorf("a task at the restored service: %d %s %v", status, body, err)
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.end(t, hang); err != nil {
		t.Error(err)
	}

	// The folder of the killed service starts as usual.
	_, base = serve(t, data, "--workers=1")
	hasResults(t, base, token, results)
}

// TestClusterBackupByTheDocuments makes backups of three busy nodes, and starts an empty
// cluster with the newest, by the command of docs/backup.md.
func TestClusterBackupByTheDocuments(t *testing.T) {
	need.All(t)
	t.Parallel()
	g := newTestCluster(t, 1, 1, 0)
	backups := filepath.Join(g.dir, "backups")
	var bases []string
	for _, m := range g.nodes {
		bases = append(bases, m.base)
	}
	ended := busy(t, bases, g.token)
	command := func(m *member) {
		t.Helper()
		code, stdout, stderr := play(t, "", "store", "backup", backups, "--data="+m.data)
		if code != 0 || !strings.Contains(stdout, "was read back") || !strings.Contains(stdout, "secret of the cluster") {
			t.Fatalf("%d %s %s", code, stdout, stderr)
		}
	}
	for i := range 4 { // at each node in turn
		time.Sleep(200 * time.Millisecond)
		command(g.nodes[i%3])
	}
	results := ended()
	if len(results) == 0 {
		t.Fatal("the cluster was not busy")
	}
	command(g.nodes[2])
	code, stdout, _ := play(t, "", "store", "backups", backups, "--check", "--json")
	var listed []struct {
		Base    string
		Checked bool
		Files   int
		Records map[string]int64
	}
	if code != 0 || json.Unmarshal([]byte(stdout), &listed) != nil || len(listed) != 5 {
		t.Fatalf("%d %s", code, stdout)
	}
	for i, b := range listed {
		if !b.Checked || (b.Base == "") != (i == 0) {
			t.Errorf("the backup %d is %+v", i, b)
		}
	}
	if n := listed[4].Records["task"]; n < int64(len(results)) {
		t.Errorf("the last backup has %d tasks, and there were %d", n, len(results))
	}
	g.stop(g.nodes...)

	line := backupCommands(t, "Restore a cluster")[0]
	addresses := networks.Addresses(t, 3)
	var nodes []*child
	for i := range 3 {
		data := filepath.Join(g.dir, fmt.Sprint("new-", i))
		words := strings.Fields(strings.NewReplacer("/srv/troupe", data, "/var/backups/troupe", backups, "/etc/troupe/cluster.secret", g.secretFile(), "--node node-1", fmt.Sprint("--node node-", i+1),
			"--cluster-listen 10.0.0.1:6222", "--cluster-listen "+addresses[i], "10.0.0.1:6222", addresses[0], "10.0.0.2:6222", addresses[1], "10.0.0.3:6222", addresses[2]).Replace(line))
		nodes = append(nodes, spawn(t, append(words[1:], "--listen=127.0.0.1:0", "--workers=1", "--log-level=info")...))
	}
	restores := 0
	for _, c := range slices.Backward(nodes) {
		hasResults(t, c.greeting(t), g.token, results)
		restores += strings.Count(c.errs.String(), "the backup was restored")
	}
	if restores != 1 {
		t.Errorf("%d nodes have restored", restores)
	}
	for _, c := range nodes {
		_ = c.Process.Signal(syscall.SIGTERM)
	}
	for _, c := range nodes {
		if err := c.end(t, hang); err != nil {
			t.Error(err)
		}
	}
}
