package troupe_test

import (
	"flag"
	"fmt"
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

//go:generate go test . -run TestThePromisesAreCurrent -update

var update = flag.Bool("update", false, "write the table of promises anew")

// promised matches a promise in the comment of the test that holds it: a paragraph of its
// own, with the document that makes it and the heading there.
var promised = regexp.MustCompile(`^Promise: (.+) \(docs/([a-z/_.-]+\.md)(#[a-z0-9-]+)?\)\.$`)

// The table of promises is between these lines of the document.
const (
	promisesIn    = "docs/reliability.md"
	promisesBegin = "<!-- Generated from the comments of tests: promises_test.go. -->\n"
	promisesEnd   = "<!-- The end of what is generated. -->\n"
)

// TestThePromisesAreCurrent: the table of promises is what the comments of tests say. A
// promise stands at the test that holds it, so that it goes when that test goes.
func TestThePromisesAreCurrent(t *testing.T) {
	b, err := os.ReadFile(promisesIn)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(b), promisesBegin)
	table, after, ends := strings.Cut(rest, promisesEnd)
	if !begins || !ends {
		t.Fatalf("%s lacks the lines between which the table of promises is", promisesIn)
	}
	made := promises(t)
	if table == made {
		return
	}
	if !*update {
		t.Fatalf("%s is stale: run make generate", promisesIn)
	}
	if err := os.WriteFile(promisesIn, []byte(before+promisesBegin+made+promisesEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// promises is the table, by document and in the order of the words.
func promises(t *testing.T) string {
	t.Helper()
	tests := map[[3]string][]string{} // by document, address and words
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Doc == nil {
				continue
			}
			for _, p := range strings.Split(f.Doc.Text(), "\n\n") {
				if !strings.HasPrefix(p, "Promise") {
					continue
				}
				m := promised.FindStringSubmatch(strings.Join(strings.Fields(p), " "))
				if m == nil || !strings.HasPrefix(f.Name.Name, "Test") {
					t.Errorf("%s: the promise of %s must read “Promise: words (docs/page.md#heading).”, in a paragraph of its own, at a test", s.path, f.Name.Name)
					continue
				}
				key := [3]string{m[2], m[3], m[1]}
				tests[key] = append(tests[key], "`"+f.Name.Name+"`")
			}
		}
	}
	var rows []string
	for key, names := range tests {
		slices.Sort(names)
		title := strings.ReplaceAll(strings.TrimSuffix(path.Base(key[0]), ".md"), "_", " ")
		rows = append(rows, fmt.Sprintf("| [%s](%s%s) | %s | %s |\n", title, key[0], key[1], key[2], strings.Join(slices.Compact(names), ", ")))
	}
	slices.Sort(rows)
	return "\n| document | promise | held by |\n|---|---|---|\n" + strings.Join(rows, "") + "\n"
}
