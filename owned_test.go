package troupe_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// notInTheStore are such texts that are no prefixes of the store's keys.
var notInTheStore = map[string]string{
	"persistence.recordPrefix":  "is before all keys in Badger",
	"persistence.ownPrefix":     "is what the store keeps of itself in Badger",
	"persistence/backup.prefix": "is where backups are in a bucket",
}

var prefixOfKeys = regexp.MustCompile(`^[a-z]+(-[a-z]+)*/$`)

// TestEveryRecordHasAnOwner: whoever makes records under a new prefix says whose they are, so
// that they count in the room of the account, or what bounds them else.
func TestEveryRecordHasAnOwner(t *testing.T) {
	known := map[string]bool{} // by the name of the package and the constant
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || s.test {
				return !ok
			}
			if of, ok := lit.Type.(*ast.SelectorExpr); !ok || of.Sel.Name != "Kind" || of.X.(*ast.Ident).Name != "owned" {
				return true
			}
			switch v := lit.Elts[0].(*ast.KeyValueExpr).Value.(type) {
			case *ast.Ident:
				known[path.Base(s.pkg)+"."+v.Name] = true
			case *ast.SelectorExpr:
				known[v.X.(*ast.Ident).Name+"."+v.Sel.Name] = true
			}
			return true
		})
	}
	found := 0
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.pkg, "engine") || strings.HasPrefix(s.pkg, "testkit") || strings.HasPrefix(s.pkg, "persistence/upstream") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			d, ok := n.(*ast.GenDecl)
			if !ok || d.Tok != token.CONST {
				return true
			}
			for _, spec := range d.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if i >= len(v.Values) || !strings.HasSuffix(strings.ToLower(name.Name), "prefix") {
						continue
					}
					lit, ok := v.Values[i].(*ast.BasicLit)
					if !ok || lit.Kind != token.STRING {
						continue
					}
					text, err := strconv.Unquote(lit.Value)
					if err != nil || !prefixOfKeys.MatchString(text) || notInTheStore[s.pkg+"."+name.Name] != "" {
						continue
					}
					if found++; !known[path.Base(s.pkg)+"."+name.Name] {
						t.Errorf("%s: %s is a prefix of keys: register beside it whose the records are (troupe/persistence/owned), or add it to the list in owned_test.go", s.path, name.Name)
					}
				}
			}
			return true
		})
	}
	if found < 30 {
		t.Errorf("%d prefixes were found", found)
	}
}
