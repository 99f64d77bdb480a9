package outside_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// sourceRoot is the folder of the module.
const sourceRoot = "../../.."

// releaseBefore builds the release before this one, of the commit that
// .ci/release-before names.
func releaseBefore(t *testing.T) string {
	t.Helper()
	commit, err := os.ReadFile(filepath.Join(sourceRoot, ".ci/release-before"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := exec.Command("git", "-C", sourceRoot, "archive", strings.TrimSpace(string(commit))).Output()
	if err != nil {
		t.Skipf("the source of the release before is not at hand: want a clone with the project's history: %v", err)
	}
	dir := t.TempDir()
	unpack := exec.Command("tar", "-x", "-C", dir)
	unpack.Stdin = bytes.NewReader(source)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("unpacking it: %v\n%s", err, out)
	}
	return buildModule(t, dir)
}

// buildModule builds the program of a module, and gives its path.
func buildModule(t *testing.T, module string, flags ...string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "troupe")
	cmd := exec.Command("go", slices.Concat([]string{"build"}, flags, []string{"-o", program, "./cmd/troupe"})...)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", module, err, out)
	}
	return program
}

// TestNeighbouringReleases: three nodes of the release before are renewed one after the
// other under load, and taken back. Nothing is refused, lost or run twice.
//
// Promise: Nodes of neighbouring releases work together (docs/cluster.md).
func TestNeighbouringReleases(t *testing.T) {
	need.Browser(t)
	need.All(t)
	t.Parallel()
	g := plannedCluster(t, nil, releaseBefore(t), 1, 1, 1)
	for _, m := range g.nodes {
		m.program = g.other
	}
	g.start(g.nodes...)
	g.token = g.newToken("ada", "pro")
	g.whole()
	b := &balancer{g: g, to: g.nodes}
	b.watch()
	tr := g.pour(b, 4, true)
	tr.until(20)
	for range []string{"up", "down"} {
		for _, m := range g.nodes {
			g.renew(b, m)
		}
		tr.until(tr.count() + 20)
	}
	g.noneFails(tr)
	g.once()
	g.end()
}

// TestASkippedRelease: a node of a release that the others do not understand is not
// ready, and says why; they go on.
func TestASkippedRelease(t *testing.T) {
	need.Browser(t)
	need.All(t)
	t.Parallel()
	const speaks = "cluster/link/speaks.go"
	source, err := os.ReadFile(filepath.Join(sourceRoot, speaks))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	later := filepath.Join(dir, "speaks.go")
	changed := strings.Replace(string(source), "Speaks{Oldest: 1, Newest: 2}", "Speaks{Oldest: 8, Newest: 9}", 1)
	if changed == string(source) {
		t.Fatalf("%s says something else", speaks)
	}
	if err := os.WriteFile(later, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	original, err := filepath.Abs(filepath.Join(sourceRoot, speaks))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: later}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	g := startTestCluster(t, nil, "", 1, 1, 1)
	m := g.nodes[2]
	g.stop(m)
	m.program = buildModule(t, sourceRoot, "-overlay="+filepath.Join(dir, "overlay.json"))
	g.start(m)
	g.until("it says that it is outside", func() bool {
		x := g.ask(m, "GET", "/readyz", "")
		return x.status == 503 && strings.Contains(x.body, "this node understands releases 8 to 9 of the cluster's messages, and n") && strings.Contains(x.body, "upgrade one release at a time")
	})
	g.until("the others know that", func() bool {
		return strings.Contains(g.ask(g.nodes[0], "GET", "/v1/cluster", "").body, `"outside":"releases 8 to 9"`)
	})
	for i := range 20 {
		at := g.nodes[i%2]
		task, _ := g.site.opens()
		if x := g.ask(at, "POST", "/v1/", `{"queueTimeout":20000,`+task+`]}`); x.status != 200 || !x.Success || strings.HasPrefix(x.WorkerID, m.name) {
			t.Fatalf("a task at %s: %v", at.name, x)
		}
	}
	if x := g.ask(m, "POST", "/v1/", `{"actions":[{"wait":1}]}`); x.status != 503 || x.Code != "draining" {
		t.Errorf("a task at the node outside: %v", x)
	}
	g.once()
}
