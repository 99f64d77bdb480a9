package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"
)

//go:generate go test . -run TestTheCoverageTableIsCurrent -update

// columns of the table of coverage, in their order: the tags of cases.
var columns = []string{"css", "role selector", "xpath", "$key", "$this", "iframe", "nested iframe", "frame of another site", "shadow root", "closed shadow root", "missing element", "stale element", "timeout", "after navigation"}

// reasons why a situation cannot arise for an action.
var reasons = map[string]string{
	"noElement":  "the action takes no element",
	"bySelf":     "the action finds its element by an attribute, not by a selector",
	"notInLoop":  "the action is not allowed in a loop",
	"notNested":  "a loop is not allowed in a loop, and `$this` exists only in one",
	"neverWaits": "the action looks once and does not wait",
	"wholeTab":   "the action is about the tab, not about a frame of it",
	"wholeJar":   "cookies belong to the browser, not to a frame",
	"noPage":     "the action does not ask the page",
	"background": "the action sees the requests of every frame of the tab",
	"unbounded":  "the action has no time of its own, only the task's",
	"everywhere": "the action looks into every frame and shadow root by itself",
	"scriptSees": "a script gets no element: it looks for itself",
	"wholePage":  "the action scrolls the page or its largest scrollable area",
}

// notApplicable reads from an action's script what cannot arise for it: lines such
// as "not wholeTab: iframe, nested iframe" in its head.
var notApplicable = sync.OnceValue(func() map[string]map[string]string {
	of := map[string]map[string]string{}
	for _, action := range ActionNames() {
		of[action] = map[string]string{}
		a, err := txtar.ParseFile(filepath.Join("testdata", action+".txtar"))
		if err != nil {
			continue // it is in the matrix alone
		}
		for line := range strings.Lines(string(a.Comment)) {
			line, is := strings.CutPrefix(strings.TrimSpace(line), "not ")
			reason, list, cut := strings.Cut(line, ": ")
			if !is || !cut || reasons[reason] == "" {
				continue
			}
			names := strings.Split(list, ", ")
			if list == "everything" {
				names = columns
			}
			for _, column := range names {
				of[action][column] = reason
			}
		}
	}
	return of
})

// coverage counts the cases of each action in each column.
func coverage(t *testing.T) map[string]map[string]int {
	t.Helper()
	n := map[string]map[string]int{}
	for _, a := range ActionNames() {
		n[a] = map[string]int{}
	}
	for _, r := range rows {
		for _, s := range situations {
			if r.not[s.name] == "" {
				n[r.action][s.name]++
			}
		}
	}
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		action := strings.TrimSuffix(filepath.Base(file), ".txtar")
		for _, c := range readScript(t, file).cases {
			for _, tag := range c.tags {
				if !slices.Contains(columns, tag) || n[action] == nil {
					t.Errorf("%s: case %q has the tag %q, which is no column of an action", file, c.name, tag)
					continue
				}
				n[action][tag]++
			}
		}
	}
	return n
}

// notFor is why a column does not apply to an action: a key of reasons.
func notFor(action, column string) string {
	for _, r := range rows {
		if r.action == action {
			return r.not[column]
		}
	}
	return notApplicable()[action][column]
}

func TestTheCoverageTableIsCurrent(t *testing.T) {
	n := coverage(t)
	var b strings.Builder
	b.WriteString("# Tests of each action\n\n<!-- Generated from the engine's test data by `make generate`. -->\n\n" +
		"A number counts the test cases of an action in a situation: those of `TestEveryActionInEverySituation` in `engine/matrix_test.go`, and those of `engine/testdata/<action>.txtar` with the situation's tag. " +
		"A letter says why the situation cannot arise; the reasons are below. `cases` counts all scripts in the action's file.\n\n")
	fmt.Fprintf(&b, "| action | cases | %s |\n|---|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	letters := map[string]string{}
	var order []string
	for _, action := range ActionNames() {
		fmt.Fprintf(&b, "| `%s` | %d |", action, len(casesOf(t, action)))
		for _, column := range columns {
			why := notFor(action, column)
			switch {
			case n[action][column] > 0:
				fmt.Fprintf(&b, " %d |", n[action][column])
			case why == "":
				t.Errorf("%s is not tested with %s, and nothing says why not", action, column)
				b.WriteString(" |")
			case reasons[why] == "":
				t.Errorf("%s with %s: there is no reason %q", action, column, why)
			default:
				if letters[why] == "" {
					letters[why] = string(rune('a' + len(order)))
					order = append(order, why)
				}
				fmt.Fprintf(&b, " %s |", letters[why])
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\nNot applicable:\n\n")
	for _, why := range order {
		fmt.Fprintf(&b, "- %s: %s.\n", letters[why], reasons[why])
	}
	b.WriteString(situationsTable(t))
	const path = "../docs/coverage.md"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != b.String() {
		t.Errorf("%s is not what the test data says: run make generate (%v)", path, err)
	}
}

// casesOf are the cases of an action's own file.
func casesOf(t *testing.T, action string) []scriptCase {
	t.Helper()
	path := filepath.Join("testdata", action+".txtar")
	if _, err := os.Stat(path); err != nil {
		t.Errorf("%s has no script of its own", action)
		return nil
	}
	return readScript(t, path).cases
}

func TestNoReasonIsLeftOver(t *testing.T) {
	used := map[string]bool{}
	for _, action := range ActionNames() {
		for _, c := range columns {
			used[notFor(action, c)] = true
		}
	}
	for why := range reasons {
		if !used[why] {
			t.Errorf("reason %q is given for nothing", why)
		}
	}
}
