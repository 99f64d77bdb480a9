package troupe_test

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// untilOfOneProcess lists the files that wait for a time with [time.Until], and why the wall
// clock is nothing to them: the times begin and end with a request, a task or a process, and
// count real time. What waits for a time that is stored uses persistence/clock, which looks
// again: a clock that is set, and a machine that sleeps, must not delay it.
var untilOfOneProcess = map[string]string{
	"actors/queue_poll.go":             "how long a request waits",
	"actors/task_queued.go":            "how long a request waits",
	"actors/pool_wait.go":              "how long a request waits",
	"actors/session.go":                "a session ends after real time without a task",
	"actors/session_panics.go":         "a session ends after real time without a task",
	"actors/batch/list.go":             "how long a request waits",
	"http/live/access.go":              "a ticket of this process",
	"http/mcp/task.go":                 "how long a request waits",
	"cluster/member/member.go":         "how long an operator's command waits",
	"cluster/queue.go":                 "how long a request waits",
	"cluster/store/sweep.go":           "looks again, see clock.Soon",
	"engine/wait.go":                   "the time of an action",
	"engine/response.go":               "the time of an action",
	"engine/page_calls.go":             "the time of an action",
	"engine/foreach_pages.go":          "the time of an action",
	"engine/navigation.go":             "the time of an action",
	"engine/screenshot.go":             "the time of an action",
	"engine/question.go":               "the time of an action",
	"engine/chooser.go":                "the time of an action",
	"engine/browser/closed_roots.go":   "the time of an action",
	"engine/browser/navigate.go":       "the time of an action",
	"persistence/memory.go":            "records of this process",
	"persistence/storetest/changes.go": "a test",
}

// TestStoredTimesAreWaitedForByTheClock: no further file waits for a wall time by itself.
func TestStoredTimesAreWaitedForByTheClock(t *testing.T) {
	left := maps.Clone(untilOfOneProcess)
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.path, "bench/") || strings.HasPrefix(s.path, "testkit/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := call.X.(*ast.Ident); ok && pkg.Name == "time" && call.Sel.Name == "Until" {
				if _, known := untilOfOneProcess[s.path]; !known {
					t.Errorf("%s waits for a wall time with time.Until: use persistence/clock, or list the file here with the reason why its times are not stored", s.path)
				}
				delete(left, s.path)
			}
			return true
		})
	}
	for _, path := range slices.Sorted(maps.Keys(left)) {
		t.Errorf("%s has no time.Until any more: take it from the list", path)
	}
}
