package troupe_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// maxModes bounds the places that ask whether a node has the queue, or the store, to itself. It
// may fall, and not grow: what a node does alone is what several do, in one process.
const maxModes = 67

// asksMode reports whether an expression asks for the mode.
func asksMode(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return slices.Contains([]string{"sharesQueue", "shared"}, lastName(n.Fun))
	case *ast.BinaryExpr:
		if n.Op != token.EQL && n.Op != token.NEQ {
			return false
		}
		y, _ := n.Y.(*ast.Ident)
		lit, _ := n.Y.(*ast.BasicLit)
		x, ok := n.X.(*ast.SelectorExpr)
		switch {
		case !ok:
			return false
		case y != nil && y.Name == "nil":
			return slices.Contains([]string{"nodes", "leases", "turn"}, x.Sel.Name)
		case lit != nil && lit.Value == `""`: // the name of this node
			of, _ := x.X.(*ast.SelectorExpr)
			return x.Sel.Name == "Node" && of != nil && slices.Contains([]string{"cfg", "records", "r"}, of.Sel.Name)
		}
	}
	return false
}

// TestFewAskForTheMode: see [maxModes].
func TestFewAskForTheMode(t *testing.T) {
	var found []string
	for _, s := range sources(t) {
		if s.test || s.pkg != "actors" && !strings.HasPrefix(s.pkg, "actors/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if asksMode(n) {
				found = append(found, s.path)
			}
			return true
		})
	}
	if len(found) != maxModes {
		t.Errorf("%d places ask whether there are other nodes, not %d. If there are fewer, write so; for a new one, let what is there serve:\n%s", len(found), maxModes, strings.Join(found, "\n"))
	}
}
