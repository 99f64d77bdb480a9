package outside_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
)

// TestFirstStart: the first start of a cluster needs all nodes, and the next one a
// majority. The log says how many are there, and how many it needs.
func TestFirstStart(t *testing.T) {
	need.All(t)
	t.Parallel()
	for _, of := range []int{3, 5} {
		t.Run(fmt.Sprintf("of %d", of), func(t *testing.T) {
			g := plannedCluster(t, nil, "", make([]int, of)...)
			spawn := func(all ...*member) {
				for _, m := range all {
					m.child = spawnAs(t, m.program, m.at.Place, nil, m.args...)
				}
			}
			says := func(m *member, what string) {
				g.until(m.name+" says "+what, func() bool { return strings.Contains(m.errs.String(), what) })
			}
			spawn(g.nodes[1:]...)
			for _, m := range g.nodes[1:] {
				says(m, fmt.Sprintf("of %d there are %d, and the first start of a cluster needs all %d, each later one %d", of, of-1, of, of/2+1))
			}
			spawn(g.nodes[0])
			began := time.Now()
			for _, m := range g.nodes {
				m.base = m.greeting(t)
			}
			g.within(fmt.Sprintf("the last of %d is there: all are ready", of), time.Minute, time.Since(began))
			g.token = g.newToken("ada", "pro")
			g.kill(g.nodes...)
			if of > 3 { // two of those that keep the records have to be among them: see TestHealthOfFiveNodes
				return
			}

			most := g.nodes[:of/2+1]
			spawn(most[1:]...)
			for _, m := range most[1:] {
				says(m, fmt.Sprintf("of %d there are %d, and it needs %d", of, len(most)-1, len(most)))
			}
			spawn(most[0])
			began = time.Now()
			for _, m := range most {
				m.base = m.greeting(t)
				g.until(m.name+" takes writes", func() bool { return g.writes(m) })
			}
			g.within(fmt.Sprintf("the next start: %d of %d take writes", len(most), of), time.Minute, time.Since(began))
			g.kill(most...) // few of them could not end in good order
		})
	}
}
