package outside_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBatchRun: troupe batch run is stopped, and its service killed; the same command
// goes on, and each item is in the file once.
func TestBatchRun(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const n = 40
	var items strings.Builder
	for i := range n - 1 {
		fmt.Fprintf(&items, `{"id":%d,"price":{"of":"h1"}}`+"\n", i%5+1)
	}
	items.WriteString(`{"id":99999,"price":{"of":"h1"}}` + "\n")
	task := file("task.json", `{"config":{"continueOnError":false,"onFailure":{"screenshot":true}},"actions":[
		{"open":"http://demo.troupe.test/product/${item.id}"},{"waitForElement":".price","options":{"timeout":300}},{"wait":100},{"getText":"${item.price.of}"}]}`)
	list, out := file("items.ndjson", items.String()), filepath.Join(dir, "results.ndjson")

	c, base := serve(t, data, "--workers=2")
	token := tokenLine.FindStringSubmatch(c.out.String())
	if token == nil {
		t.Fatalf("no token is printed: %s", c.out.String())
	}
	t.Setenv("TROUPE_TOKEN", token[1])
	run := func(more ...string) []string {
		return append([]string{"batch", "run", task, list, "--out", out, "--url", base}, more...)
	}
	written := func() string {
		b, err := os.ReadFile(out)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(b)
	}
	first := spawn(t, run("--progress=always")...)
	for end := time.Now().Add(hang); strings.Count(written(), "\n") < 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no results are written")
		}
	}
	if err := first.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := first.end(t, hang); err == nil || first.ProcessState.ExitCode() != exitCtrlC || !strings.Contains(first.errs.String(), "goes on. Run the same command again") || !strings.Contains(first.errs.String(), "/40  ") {
		t.Fatalf("stopped: %v, %s", err, first.errs.String())
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.end(t, hang)
	if err := os.WriteFile(out, []byte(written()+`{"batchId":"ba`), 0o600); err != nil { // as a kill leaves it
		t.Fatal(err)
	}

	_, base = serve(t, data, "--workers=2")
	code, stdout, stderr := play(t, "", run()...)
	if code != exitFailed || !strings.Contains(stdout, "is ended: ") || !strings.Contains(stdout, "FAILURE") || !strings.Contains(stdout, "item 39") {
		t.Fatalf("the batch: %d %s %s", code, stdout, stderr)
	}
	seen, interrupted := map[int]bool{}, 0
	for line := range strings.Lines(written()) {
		var r struct {
			Index        int
			Status, Code string
			BatchID      string
			Item         struct{ ID int }
			Result       struct{ Data json.RawMessage }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || seen[r.Index] {
			t.Fatalf("%q: %v, or it is there twice", line, err)
		}
		switch seen[r.Index] = true; {
		case r.Code == "interrupted":
			interrupted++
		case r.Index == n-1 && r.Status != "failed", r.Index != n-1 && (r.Status != "complete" || len(r.Result.Data) < 3 || r.Item.ID != r.Index%5+1):
			t.Errorf("%s", line)
		}
	}
	if len(seen) != n || interrupted > 2 {
		t.Errorf("%d results, %d interrupted", len(seen), interrupted)
	}
	before := written()
	if code, _, _ := play(t, "", run("--json")...); code != exitFailed || written() != before {
		t.Errorf("a run when all is there: %d, and it has changed the results", code)
	}

	code, stdout, _ = play(t, "", "batch", "list", "--url", base)
	fields := strings.Fields(stdout[strings.IndexByte(stdout, '\n')+1:])
	if code != 0 || len(fields) < 8 || fields[1] != "ended" || fields[2] != "40" || fields[len(fields)-1] != "items.ndjson" {
		t.Fatalf("the list: %d %s", code, stdout)
	}
	if code, stdout, _ := play(t, "", "batch", "show", fields[0], "--url", base, "--json"); code != 0 || !strings.Contains(stdout, `"screenshot": "http`) {
		t.Errorf("show: %d %s", code, stdout)
	}
	if code, _, stderr := play(t, "", "batch", "cancel", fields[0], "--url", base); code != exitFailed || !strings.Contains(stderr, "The batch is ended") {
		t.Errorf("cancel: %d %s", code, stderr)
	}
	code, _, stderr = play(t, "", "batch", "run", task, file("other.ndjson", "{\"id\":1}\n{}\n"), "--out", out+"2", "--url", base)
	if code != exitFailed || !strings.Contains(stderr, "/items/1/id: line 3: missing: /actions/0 of the task reads ${item.id}") {
		t.Errorf("faulty items: %d %s", code, stderr)
	}
	if code, _, stderr := play(t, "", "batch", "run", task, file("two.ndjson", items.String()+items.String()), "--out", out, "--url", base); code != exitUsage || !strings.Contains(stderr, "has results of the batch") {
		t.Errorf("another batch's file: %d %s", code, stderr)
	}
}
