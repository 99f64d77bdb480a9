package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// packageFile finds the file that an import means: its name may lack the ending.
func packageFile(root, name string) string {
	full := filepath.Join(root, filepath.FromSlash(path.Clean("/"+name)))
	for _, try := range []string{full, full + ".mjs", full + ".js", filepath.Join(full, "index.mjs"), filepath.Join(full, "index.js")} {
		if st, err := os.Stat(try); err == nil && !st.IsDir() {
			return try
		}
	}
	return full
}

// fileAddress is where a file is served: each has one only, for a module is as many
// modules as it has addresses.
func fileAddress(root, name string) string {
	rel, err := filepath.Rel(root, packageFile(root, name))
	if err != nil {
		return "/npm/" + name
	}
	return "/npm/" + filepath.ToSlash(rel)
}

// importMap tells the browser where each package's modules are, as the packages
// themselves say it.
func importMap(t *testing.T, root string) string {
	t.Helper()
	imports := map[string]string{}
	walk := func(dir, name string) {
		b, err := os.ReadFile(filepath.Join(root, dir, "package.json"))
		if err != nil {
			return
		}
		var p struct {
			Exports      json.RawMessage
			Imports      map[string]json.RawMessage // names within the package
			Module, Main string
		}
		if json.Unmarshal(b, &p) != nil {
			return
		}
		at := func(target string) string { return fileAddress(root, dir+"/"+target) }
		imports[name+"/"] = "/npm/" + dir + "/"
		imports[name] = at(cmp.Or(p.Module, p.Main, "index.js"))
		for key, v := range p.Imports {
			if target := exportFor(v); target != "" && !strings.Contains(key, "*") {
				imports[key] = at(target)
			}
		}
		var exports map[string]json.RawMessage
		if json.Unmarshal(p.Exports, &exports) == nil {
			for key, v := range exports {
				if !strings.HasPrefix(key, ".") {
					v, key = p.Exports, "."
				}
				if target := exportFor(v); target != "" && !strings.Contains(key, "*") {
					imports[name+strings.TrimPrefix(key, ".")] = at(target)
				}
			}
		}
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "@") {
			scoped, err := os.ReadDir(filepath.Join(root, e.Name()))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			for _, s := range scoped {
				walk(e.Name()+"/"+s.Name(), e.Name()+"/"+s.Name())
			}
			continue
		}
		walk(e.Name(), e.Name())
	}
	b, err := json.Marshal(map[string]any{"imports": imports})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// exportFor chooses among the conditions of an export.
func exportFor(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	var list []json.RawMessage
	if json.Unmarshal(v, &list) == nil {
		for _, e := range list {
			if t := exportFor(e); t != "" {
				return t
			}
		}
		return ""
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(v, &m) != nil {
		return ""
	}
	for _, c := range []string{"browser", "module", "import", "es2015", "production", "default"} {
		if t := exportFor(m[c]); t != "" {
			return t
		}
	}
	return ""
}

var (
	required   = regexp.MustCompile(`\brequire\(["']([^"']+)["']\)`)
	named      = regexp.MustCompile(`\bexports\.([A-Za-z_$][\w$]*)\s*=`)
	isAnother  = regexp.MustCompile(`module\.exports\s*=\s*require\(["']([^"']+)["']\)`)
	module     = regexp.MustCompile(`(?m)(^|[;}])\s*(export|import)\b\s*[\w{*"'$]`)
	forNobody  = regexp.MustCompile(`^(default|__esModule)$`)
	developing = "development"
)

// servePackage serves a file of a package. What is imported but is no module is
// made into one.
func servePackage(w http.ResponseWriter, r *http.Request, root string) {
	file := packageFile(root, strings.TrimPrefix(r.URL.Path, "/npm/"))
	if ext := filepath.Ext(file); ext == ".js" || ext == ".mjs" || ext == ".cjs" {
		w.Header().Set("Content-Type", "text/javascript")
		if imported := r.Header.Get("Sec-Fetch-Mode") == "cors"; imported { // a plain script is fetched without
			if text := asModule(root, file); text != "" {
				fmt.Fprint(w, text)
				return
			}
		}
	}
	http.ServeFile(w, r, file)
}

// modules are the files that were asked for as modules, each looked through once: of a large
// one that takes seconds on a slow machine.
var modules sync.Map

// asModule makes a module of a file that is none; empty: it is one.
func asModule(root, file string) string {
	once, _ := modules.LoadOrStore(file, sync.OnceValue(func() string {
		b, err := os.ReadFile(file)
		if err != nil || module.Match(b) {
			return ""
		}
		return commonJS(root, file, b)
	}))
	return once.(func() string)()
}

// commonJS is the text of a module for a file that is none.
func commonJS(root, file string, b []byte) string {
	needs := map[string]bool{}
	for _, m := range required.FindAllStringSubmatch(string(b), -1) {
		needs[m[1]] = !strings.Contains(m[1], developing)
	}
	var out, table strings.Builder
	i := 0
	for _, n := range slices.Sorted(maps.Keys(needs)) {
		if !needs[n] {
			continue
		}
		at := n // a package: the import map knows
		if strings.HasPrefix(n, ".") {
			rel, _ := filepath.Rel(root, filepath.Dir(file))
			at = fileAddress(root, filepath.ToSlash(rel)+"/"+n)
		} else if _, err := os.Stat(filepath.Join(root, n)); err != nil {
			continue // it is named in a comment only
		}
		fmt.Fprintf(&out, "import m%d from '%s';\n", i, at)
		fmt.Fprintf(&table, "%q:m%d,", n, i)
		i++
	}
	fmt.Fprintf(&out, "const process={env:{NODE_ENV:'production'}},module={exports:{}},exports=module.exports,require=(n)=>({%s})[n];\n(()=>{%s\n})();\nconst all=module.exports;\nexport default all;\n", table.String(), b)
	for _, n := range slices.Sorted(maps.Keys(exportedBy(file))) {
		fmt.Fprintf(&out, "const x_%s=all.%s;export {x_%s as %s};\n", n, n, n, n)
	}
	return out.String()
}

// exportedBy are the names that a file exports, or the file that it stands for.
func exportedBy(file string) map[string]bool {
	names := map[string]bool{}
	b, err := os.ReadFile(file)
	if err != nil {
		return names
	}
	for _, m := range named.FindAllStringSubmatch(string(b), -1) {
		if !forNobody.MatchString(m[1]) {
			names[m[1]] = true
		}
	}
	for _, m := range isAnother.FindAllStringSubmatch(string(b), -1) {
		if strings.HasPrefix(m[1], ".") && !strings.Contains(m[1], developing) {
			maps.Copy(names, exportedBy(filepath.Join(filepath.Dir(file), m[1])))
		}
	}
	return names
}

// compileSvelte makes a component into a module, with the compiler of the
// package itself.
func compileSvelte(root string, source []byte) ([]byte, error) {
	const script = `const chunks = []; for await (const c of process.stdin) chunks.push(c);
const {compile} = await import(process.argv[1]); process.stdout.write(compile(Buffer.concat(chunks).toString(), {generate: 'client'}).js.code)`
	cmd := exec.Command("node", "--input-type=module", "-e", script, filepath.Join(root, "svelte", "src", "compiler", "index.js"))
	cmd.Stdin = bytes.NewReader(source)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("compile a component: %w\n%s", err, errs.String())
	}
	return out, nil
}
