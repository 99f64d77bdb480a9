package troupe_test

import (
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWhatLooksForNoRacesRuns: make test-plain runs the tests that need.NoRace skips, by
// the names of the functions that call it in the folders that PLAIN lists. A call
// elsewhere would be of a test that test-all never runs.
func TestWhatLooksForNoRacesRuns(t *testing.T) {
	b, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^PLAIN = (.*)$`).FindSubmatch(b)
	if line == nil {
		t.Fatal("the Makefile has no PLAIN")
	}
	plain := strings.Fields(string(line[1]))
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if x, ok := n.(*ast.SelectorExpr); ok && x.Sel.Name == "NoRace" && (!slices.Contains(plain, s.pkg) || !s.test || !strings.HasPrefix(f.Name.Name, "Test")) {
					t.Errorf("%s: %s calls need.NoRace, which only tests of %v may", s.path, f.Name.Name, plain)
				}
				return true
			})
		}
	}
}

// TestRacedTestsAreThere: a name that no test has any more would look for no race.
func TestRacedTestsAreThere(t *testing.T) {
	b, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^RACED = .*\\\n((?:\t.*\n)+)`).FindSubmatch(b)
	if list == nil {
		t.Fatal("the Makefile has no RACED")
	}
	var tests []string
	for _, s := range sources(t) {
		if s.pkg != "cmd/troupe/outside" {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				tests = append(tests, f.Name.Name)
			}
		}
	}
	names := regexp.MustCompile(`\w+`).FindAllString(string(list[1]), -1)
	if len(names) < 10 {
		t.Errorf("RACED names %q", names)
	}
	for _, name := range names {
		if !slices.Contains(tests, name) {
			t.Errorf("RACED names %s, which is no test of cmd/troupe/outside", name)
		}
	}
}
