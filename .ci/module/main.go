// Module gives the Go module another path: it rewrites go.mod and every import.
//
//	go run ./.ci/module example.org/name
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 2 || os.Args[1] == "" {
		fail(fmt.Errorf("name the new path of the module, such as example.org/troupe"))
	}
	out, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		fail(fmt.Errorf("read the module's path: %w", err))
	}
	old, path := strings.TrimSpace(string(out)), os.Args[1]
	if out, err := exec.Command("go", "mod", "edit", "-module", path).CombinedOutput(); err != nil {
		fail(fmt.Errorf("write go.mod: %w: %s", err, out)) // go has checked the path
	}
	files := 0
	err = filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git" || other(p)):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".go"):
			return nil
		}
		changed, err := rewrite(p, old, path)
		if changed {
			files++
		}
		return err
	})
	if err != nil {
		fail(err)
	}
	fmt.Printf("The module %s is now %s: %d files changed. Now run \"make check\".\n", old, path, files)
}

// other reports whether a folder is a module of its own.
func other(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// rewrite changes the imports of one file.
func rewrite(file, old, path string) (bool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, text, parser.ImportsOnly)
	if err != nil {
		return false, err
	}
	out := text
	for i := len(f.Imports) - 1; i >= 0; i-- { // from the end: what is before keeps its place
		spec := f.Imports[i]
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil || imported != old && !strings.HasPrefix(imported, old+"/") {
			continue
		}
		from, to := fset.Position(spec.Path.Pos()).Offset, fset.Position(spec.Path.End()).Offset
		name := ""
		if imported == old && spec.Name == nil && filepath.Base(old) != filepath.Base(path) {
			name = filepath.Base(old) + " " // its package keeps its name
		}
		out = bytes.Join([][]byte{out[:from], []byte(name + strconv.Quote(path+imported[len(old):])), out[to:]}, nil)
	}
	if bytes.Equal(out, text) {
		return false, nil
	}
	if out, err = format.Source(out); err != nil {
		return false, fmt.Errorf("format %s: %w", file, err)
	}
	return true, os.WriteFile(file, out, 0o644)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
