package outside_test

import (
	"path/filepath"
	"testing"

	"troupe/testkit/need"
)

// runbook is the folder of the pages for alerts.
const runbook = "runbook"

// TestRunbook runs the commands of each page at a node of a cluster.
func TestRunbook(t *testing.T) {
	need.Time(t)
	t.Parallel()
	g := newTestCluster(t, 1, 0, 0)
	pages, err := filepath.Glob("../../../docs/" + runbook + "/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	n := 0
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			r := newReader(t, g.nodes[0].base, g.token, g.nodes[0].data)
			r.metrics = g.nodes[0].metrics
			for _, b := range blocksOf(t, page) {
				n++
				if err := r.read(b); err != nil {
					t.Errorf("%s:%d: %v\n%s", page, b.line, err, b.text)
				}
			}
		})
	}
	if n < 30 {
		t.Errorf("only %d blocks were run", n)
	}
	g.end()
}
