package troupe_test

import (
	"go/ast"
	"slices"
	"testing"
)

// TestOneFunctionKnowsFullDisks: no file compares errors with those of a full disk by itself.
// A used-up quota would be forgotten there.
func TestOneFunctionKnowsFullDisks(t *testing.T) {
	may := []string{
		"persistence/room.go",           // persistence.NoRoom
		"persistence/allocate_linux.go", // says so itself
		"persistence/allocate_other.go", // says so itself
	}
	for _, s := range sources(t) {
		if s.test || slices.Contains(may, s.path) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok && (x.Sel.Name == "ENOSPC" || x.Sel.Name == "EDQUOT") {
				t.Errorf("%s names %s: use persistence.NoRoom", s.path, x.Sel.Name)
			}
			return true
		})
	}
}
