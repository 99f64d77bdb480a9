package outside_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"troupe/testkit/need"
)

// TestImportIntoACluster brings what a service of one node has left into three
// nodes that run: its token holds at each, its secret is typed, its results and
// pictures can be read.
func TestImportIntoACluster(t *testing.T) {
	need.All(t)
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	old := operatorCLI{t, filepath.Join(dir, "old")}
	const value = "correct horse battery"
	token := old.says("token", "create", "--account=eve", "--plan=pro")
	if code, _, stderr := play(t, value, "secret", "set", "pass", "--account=eve", "--origin=http://demo.troupe.test", "--data="+old.data); code != 0 {
		t.Fatal(stderr)
	}
	old.says("worker", "add", "extra")
	single, base := serve(t, old.data, "--workers=1")
	answer := func(base, task string) (a struct {
		of
		Data json.RawMessage `json:"data"`
	}) {
		t.Helper()
		status, body, err := post(base, token, task)
		if err != nil || status != 200 || json.Unmarshal([]byte(body), &a) != nil {
			t.Fatalf("%d %s %v", status, body, err)
		}
		return a
	}
	later := answer(base, `{"async":true,"actions":[{"open":"http://demo.troupe.test/"},{"getText":".name"}]}`).TaskID
	if status, body := get(t, base, token, "/v1/get-result?wait=20000&taskId="+later); status != 200 || !strings.Contains(body, "Demo Shop") {
		t.Fatalf("%d %s", status, body)
	}
	var shot struct{ URL string }
	if err := json.Unmarshal(answer(base, `{"queueTimeout":10000,"actions":[{"open":"http://demo.troupe.test/"},{"screenshot":"viewport"}]}`).Data, &shot); err != nil {
		t.Fatal(err)
	}

	held := answer(base, `{"queueTimeout":10000,"session":{"preserve":true},"actions":[{"open":"http://demo.troupe.test/"},{"evaluate":"localStorage.setItem('kept','yes');return 1"}]}`).SessionID

	g := newTestCluster(t, 0, 1, 0)
	n1 := operatorCLI{t, g.nodes[0].data}
	n1.refuses(exitFailed, "stop it first", "cluster", "import", "--from="+old.data)
	n1.refuses(exitFailed, "there is no data of a service in", "cluster", "import", "--from="+filepath.Join(dir, "nothing"))
	n1.refuses(exitFailed, "is the data folder of a node of a cluster", "cluster", "import", "--from="+n1.data)
	old.refuses(exitFailed, "not a node of a cluster", "cluster", "import", "--from="+old.data)
	_ = single.Process.Signal(syscall.SIGTERM)
	if err := single.end(t, hang); err != nil {
		t.Fatal(err)
	}
	old.refuses(exitUsage, "no service runs", "cluster", "import", "--from="+old.data)

	said := n1.says("cluster", "import", "--from="+old.data)
	if !strings.HasPrefix(said, "Imported: 1 account, 1 token, 1 secret, 1 daily count, 1 asynchronous task, 1 session, 1 worker, 1 file.") {
		t.Errorf("the first time it says %s", said)
	}
	if said := n1.says("cluster", "import", "--from="+old.data); said != "Imported: nothing new.\nAlready there and unchanged: 8." {
		t.Errorf("the second time it says %s", said)
	}
	_, file, _ := strings.Cut(shot.URL, "/files/")
	for _, m := range g.nodes {
		if status, body := get(t, m.base, token, "/v1/usage"); status != 200 || !strings.Contains(body, `"pro"`) {
			t.Errorf("the token at %s: %d %s", m.name, status, body)
		}
		if status, body := get(t, m.base, token, "/v1/get-result?taskId="+later); status != 200 || !strings.Contains(body, "Demo Shop") {
			t.Errorf("the result at %s: %d %s", m.name, status, body)
		}
		if status, body := get(t, m.base, token, "/files/"+file); status != 200 || !strings.HasPrefix(body, "\x89PNG") {
			t.Errorf("the picture at %s: %d, %d bytes", m.name, status, len(body))
		}
	}
	resumed := answer(g.nodes[2].base, `{"queueTimeout":10000,"session":{"id":"`+held+`","close":true},"actions":[{"evaluate":"return location.host+localStorage.getItem('kept')"}]}`)
	if string(resumed.Data) != `"demo.troupe.testyes"` {
		t.Errorf("the session goes on at another node with %s", resumed.Data)
	}
	typed := answer(g.nodes[2].base, `{"queueTimeout":10000,"actions":[{"open":"http://demo.troupe.test/login"},{"fill":["#user","${secret:pass}"]},{"evaluate":"return user.value.split('').reverse().join('')"}]}`)
	if string(typed.Data) != `"yrettab esroh tcerroc"` {
		t.Errorf("typed at another node: %s", typed.Data)
	}

	for _, m := range g.nodes {
		if strings.Contains(m.errs.String()+m.out.String(), value) {
			t.Errorf("%s logs the secret", m.name)
		}
		err := filepath.WalkDir(m.data, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // it may have gone meanwhile
			}
			if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), value) {
				t.Errorf("%s holds the secret", p)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
