package troupe_test

import (
	"go/ast"
	"strings"
	"testing"
)

// TestWhatLooksForNoRacesRuns: make test-plain runs the tests of the folder engine that
// need.NoRace skips, by the names of the functions that call it. A call elsewhere would
// be of a test that test-all never runs.
func TestWhatLooksForNoRacesRuns(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if x, ok := n.(*ast.SelectorExpr); ok && x.Sel.Name == "NoRace" && (s.pkg != "engine" || !s.test || !strings.HasPrefix(f.Name.Name, "Test")) {
					t.Errorf("%s: %s calls need.NoRace, which only tests of engine may", s.path, f.Name.Name)
				}
				return true
			})
		}
	}
}
