package troupe_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// permitted are the licences that a module may have: each lets anybody use,
// change and pass on a program that holds it, under terms of its own. A module
// with another one is a question for the maintainers before it is code.
var permitted = []string{"Apache-2.0", "MIT", "BSD-3-Clause", "BSD-2-Clause", "ISC", "MPL-2.0"}

// phrases tell licences apart by what only they say. The first that fits counts.
var phrases = []struct{ licence, phrase string }{
	{"MPL-2.0", "mozilla public license version 2.0"}, // which names the next ones
	{"MPL-2.0", "mozilla public license, version 2.0"},
	{"AGPL", "gnu affero general public license"},
	{"LGPL", "gnu lesser general public license"},
	{"GPL", "gnu general public license"},
	{"Apache-2.0", "apache license version 2.0"},
	{"Apache-2.0", "apache license, version 2.0"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software"},
	{"ISC", "permission to use, copy, modify, and distribute this software"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"BSD-3-Clause", "endorse or promote products derived"},
	{"BSD-2-Clause", "redistribution and use in source and binary forms"},
}

// licenceIn reads the licence of a module in its folder; empty: none is known.
func licenceIn(dir string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		name := strings.ToLower(filepath.Base(f))
		if !strings.HasPrefix(name, "licen") && !strings.HasPrefix(name, "copying") && name != "unlicense" {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		text := strings.ToLower(strings.Join(strings.Fields(string(b)), " "))
		for _, p := range phrases {
			if strings.Contains(text, p.phrase) {
				return p.licence
			}
		}
	}
	return ""
}

// TestLicences: every module that is in the program or its tests has a licence
// that is permitted, and docs/dependencies.md names each direct one with it.
func TestLicences(t *testing.T) {
	need.NoRace(t)
	cmd := exec.Command("go", "list", "-deps", "-test", "-json=Module", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	type module struct {
		Path, Dir      string
		Main, Indirect bool
	}
	all := map[string]module{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ Module *module }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("list packages: %v", err)
		}
		if p.Module != nil && !p.Module.Main {
			all[p.Module.Path] = *p.Module
		}
	}
	if len(all) < 30 {
		t.Fatalf("there are only %d modules", len(all))
	}
	b, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{} // by module
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*) \\| .* \\| (\\S+) \\|$").FindAllStringSubmatch(string(b), -1) {
		names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1)
		for _, n := range names {
			path := n[1]
			if !strings.Contains(path, ".") { // below the first of the row
				path = names[0][1] + "/" + path
			}
			told[path] = row[2]
		}
	}
	for path, m := range all {
		licence := licenceIn(m.Dir)
		if !slices.Contains(permitted, licence) {
			t.Errorf("%s has the licence %q: want one of %v", path, licence, permitted)
		}
		if m.Indirect {
			continue
		}
		if told[path] != licence {
			t.Errorf("docs/dependencies.md says of %s that its licence is %q, and it is %s", path, told[path], licence)
		}
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for path := range told {
		needed := strings.Contains(string(mod), path+" ")
		for _, tool := range []string{".ci/promtool.mod", ".ci/versitygw.mod", ".ci/gotestsum.mod", ".ci/vale.mod", ".ci/deploycheck/go.mod", ".ci/release/go.mod", ".ci/actionlint.mod"} {
			b, err := os.ReadFile(tool)
			if err != nil {
				t.Error(err)
			}
			needed = needed || strings.Contains(string(b), path+" ")
		}
		if !needed {
			t.Errorf("docs/dependencies.md names %s, which nothing needs", path)
		}
	}
}
