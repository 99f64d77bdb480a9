package troupe_test

import (
	"go/ast"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// unsure lists the functions that write over a certain revision without
// [persistence.PutOwn], with what they do where nobody knows whether the write was stored.
var unsure = map[string]string{
	"actors.sessionBook.putRecord":         "reads whose session it is before the next write",
	"actors/lease.Leases.write":            "its callers read whose lease it is",
	"persistence.SealedRecords.resealOnce": "what is sealed already is left",
	"persistence.AdoptRecords":             "what is there already is left",
	"persistence.Late.Put":                 "a store, whose callers look",
	"persistence.Late.knownAll":            "a store, whose callers look",
	"persistence.quotaLeases.write":        "a counter: what was to be taken counts as used",
	"persistence/backup.Mark":              "the operator's command is repeated, and reads it",
	"actors/records.Queue.PrepareEnd":      "Queue.End, which is tried then, looks for it",
	"persistence.ValueStore.Change":        "the write that it prepares is made elsewhere, by PutOwn",
}

// TestConditionalWritesFindTheirOwn: whoever writes over a certain revision knows the own
// write again, if its answer was lost.
func TestConditionalWritesFindTheirOwn(t *testing.T) {
	need.NoRace(t)
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || s.pkg == "persistence/storetest" || strings.HasPrefix(s.pkg, "persistence/upstream") || strings.HasPrefix(s.pkg, "cluster/store") {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			writes, looks := false, false
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CompositeLit:
					writes = writes || lastName(n.Type) == "Write" && hasField(n, "If")
				case *ast.AssignStmt:
					for _, l := range n.Lhs {
						if x, ok := l.(*ast.SelectorExpr); ok && x.Sel.Name == "If" {
							writes = true
						}
					}
				case *ast.CallExpr:
					looks = looks || lastName(n.Fun) == "PutOwn"
				}
				return true
			})
			if !writes {
				continue
			}
			name := s.pkg + "." + f.Name.Name
			if f.Recv != nil {
				name = s.pkg + "." + receiver(f.Recv.List[0].Type) + "." + f.Name.Name
			}
			if found[name] = true; looks == (unsure[name] != "") {
				t.Errorf("%s: %s writes over a certain revision. Its answer may be lost: write by persistence.PutOwn, or say in answers_test.go what it does then", s.path, name)
			}
		}
	}
	for name := range unsure {
		if !found[name] {
			t.Errorf("%s is in the list, and writes nothing over a certain revision", name)
		}
	}
}

// lastName is the last name of a type or a function.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func hasField(n *ast.CompositeLit, name string) bool {
	for _, e := range n.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && lastName(kv.Key) == name {
			return true
		}
	}
	return false
}
