package troupe_test

import (
	"go/ast"
	"testing"
)

// TestHeapsAreMeasuredAlone: a test that measures the heap runs with nothing beside it, for
// the heap is that of the whole process.
func TestHeapsAreMeasuredAlone(t *testing.T) {
	found := 0
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			measures, beside := false, false
			ast.Inspect(f, func(n ast.Node) bool {
				switch x := n.(type) {
				case *ast.SelectorExpr:
					pkg, ok := x.X.(*ast.Ident)
					measures = measures || ok && pkg.Name == "heap"
					beside = beside || x.Sel.Name == "Parallel"
				case *ast.CallExpr:
					name, ok := x.Fun.(*ast.Ident)
					beside = beside || ok && name.Name == "beside"
				}
				return true
			})
			if measures {
				found++
			}
			if measures && beside {
				t.Errorf("%s: %s measures the heap and runs beside others", s.path, f.Name.Name)
			}
		}
	}
	if found == 0 {
		t.Error("no test measures the heap: is the package still called heap?")
	}
}
