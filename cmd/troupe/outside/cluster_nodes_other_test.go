package outside_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var otherFlag = flag.String("other", "", "the program of the second of the nodes of TestThreeNodes, such as that of the release before; \"renamed\": this build, with other names in Go for the fields of what nodes send and keep")

// other is the program of the second node; empty: as the others.
func other(t *testing.T) string {
	t.Helper()
	if *otherFlag != "renamed" {
		return *otherFlag
	}
	dir := t.TempDir()
	changed := rename(t, dir)
	program := filepath.Join(dir, "troupe")
	if out, err := exec.Command("go", "build", "-overlay="+changed, "-o", program, "..").CombinedOutput(); err != nil {
		t.Fatalf("the build with other names: %v\n%s\nIs one of the names a foreign one as well? Then it is for unchanged.", err, out)
	}
	return program
}

// exchange gives a node the other program for its next start, where there is one.
func (g *testCluster) exchange(m *member) {
	switch {
	case g.other == "":
	case m.program == g.other:
		m.program = program
	default:
		m.program = g.other
	}
}

// unchanged are names that are of other things, too: a renaming by name alone
// would hit those.
var unchanged = []string{"Account", "After", "All", "Code", "Done", "Files", "Gone", "Key", "Left", "Name", "Node", "Session", "Size", "Source", "State", "Status", "Store",
	"Text", "Trace", "Type", "Version", "Wait"}

// rename writes the program's files with other names for the fields of messages and
// records, whose names in JSON stay. It returns what tells the build of them.
func rename(t *testing.T, dir string) (overlay string) {
	t.Helper()
	set := token.NewFileSet()
	type file struct {
		path string
		text []byte
		tree *ast.File
	}
	var all []file
	names, foreign := map[string]bool{}, map[string]bool{}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"actors", "cluster", "cmd/troupe", "engine", "http", "persistence"} {
		err := filepath.WalkDir(filepath.Join(root, pkg), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			tree, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
			if filepath.Base(filepath.Dir(path)) == "browser" { // it calls its things as the browser does
				declared(tree, foreign)
				return err
			}
			all = append(all, file{path, text, tree})
			if pkg == "actors" || pkg == "cluster" {
				wireNames(tree, names)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return foreign[name] || slices.Contains(unchanged, name) })
	if len(names) < 50 {
		t.Fatalf("only %d names of fields can be changed: %v", len(names), names)
	}
	replace := map[string]string{}
	for i, f := range all {
		text := f.text
		for _, at := range slices.Backward(uses(set, f.tree, names)) {
			text = slices.Insert(text, at, []byte("Renamed")...)
		}
		to := filepath.Join(dir, strconv.Itoa(i)+".go")
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
		replace[f.path] = to
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d names of fields are others in the second node", len(names))
	return overlay
}

// wireNames adds the fields of a file whose names in JSON are those in Go.
func wireNames(tree *ast.File, names map[string]bool) {
	ast.Inspect(tree, func(n ast.Node) bool {
		f, ok := n.(*ast.Field)
		if !ok || f.Tag == nil || len(f.Names) != 1 {
			return true
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		if name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); name == f.Names[0].Name {
			names[name] = true
		}
		return true
	})
}

// declared adds the fields and methods that a file declares.
func declared(tree *ast.File, names map[string]bool) {
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				names[name.Name] = true
			}
		case *ast.FuncDecl:
			names[n.Name.Name] = true
		}
		return true
	})
}

// uses are the places of names in a file, but for those of foreign packages.
func uses(set *token.FileSet, tree *ast.File, names map[string]bool) (all []int) {
	foreign := map[string]bool{}
	for _, i := range tree.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		foreign[name] = !strings.HasPrefix(path, "troupe/")
	}
	not := map[*ast.Ident]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && foreign[x.Name] {
				not[n.Sel] = true
			}
		case *ast.Ident:
			if names[n.Name] && !not[n] {
				all = append(all, set.Position(n.Pos()).Offset)
			}
		}
		return true
	})
	slices.Sort(all)
	return slices.Compact(all)
}
