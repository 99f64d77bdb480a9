package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// An entry is a file of an archive.
type entry struct {
	name string // in the archive
	from string // a file; empty: text
	text []byte
	mode fs.FileMode
}

// archive makes the archive for people without a package manager.
func (r *release) archive(t target) error {
	files := filepath.Dir(r.program(t))
	all := []entry{
		{name: "troupe", from: r.program(t), mode: 0o755},
		{name: "LICENSE", from: "LICENSE"},
		{name: "THIRD-PARTY-LICENCES.txt", from: filepath.Join(files, "THIRD-PARTY-LICENCES.txt")},
		{name: "README.md", from: "README.md"},
		{name: "CHANGELOG.md", from: "CHANGELOG.md"},
	}
	if t.os == "linux" {
		all = append(all, entry{name: "troupe.service", from: "deploy/systemd/troupe.service"}, entry{name: "seccomp.json", from: "deploy/container/seccomp.json"})
	}
	for _, pattern := range []string{"completions/*", "man/*"} {
		found, err := filepath.Glob(filepath.Join(r.work, pattern))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("there is nothing like %s: %w", pattern, err)
		}
		for _, f := range found {
			all = append(all, entry{name: path.Dir(pattern) + "/" + filepath.Base(f), from: f})
		}
	}
	top := fmt.Sprintf("troupe_%s_%s_%s", r.version, t.os, t.arch)
	return r.pack(top+".tar.gz", top, all)
}

// pack writes an archive whose bytes depend on nothing but its files and the commit.
func (r *release) pack(name, top string, all []entry) error {
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	for _, e := range all {
		if e.from != "" {
			var err error
			if e.text, err = os.ReadFile(e.from); err != nil {
				return err
			}
		}
		if e.mode == 0 {
			e.mode = 0o644
		}
		err := w.WriteHeader(&tar.Header{Name: top + "/" + e.name, Size: int64(len(e.text)), Mode: int64(e.mode), ModTime: r.time, Format: tar.FormatUSTAR})
		if err != nil {
			return err
		}
		if _, err := w.Write(e.text); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name), b.Bytes(), 0o644)
}

// npmNames are npm's words for systems and processors.
var npmNames = map[string]string{"linux": "linux", "darwin": "darwin", "amd64": "x64", "arm64": "arm64"}

// npmName is the name of the package, or of the one for a target.
func (r *release) npmName(t *target) string {
	name := or(r.names["NPM"], "troupe")
	if t != nil {
		name += "-" + npmNames[t.os] + "-" + npmNames[t.arch]
	}
	return name
}

// npmFile is what npm pack would call the file of a package.
func (r *release) npmFile(t *target) string {
	return strings.NewReplacer("@", "", "/", "-").Replace(r.npmName(t)) + "-" + r.version + ".tgz"
}

// npmJSON is a package.json.
func (r *release) npmJSON(t *target, more map[string]any) ([]byte, error) {
	all := map[string]any{
		"name": r.npmName(t), "version": r.version, "license": "Apache-2.0",
		"description": "Runs lists of browser actions over HTTP, in Chromium.",
	}
	if at := r.names["HOMEPAGE"]; at != "" {
		all["homepage"] = at
		all["repository"] = map[string]string{"type": "git", "url": "git+" + at + ".git"} // provenance wants it
	}
	for k, v := range more {
		all[k] = v
	}
	return json.MarshalIndent(all, "", "  ")
}

// npmProgram makes the package with the program for a target. npm installs it only there.
func (r *release) npmProgram(t target) error {
	about, err := r.npmJSON(&t, map[string]any{"os": []string{npmNames[t.os]}, "cpu": []string{npmNames[t.arch]}, "preferUnplugged": true})
	if err != nil {
		return err
	}
	return r.pack(r.npmFile(&t), "package", []entry{
		{name: "package.json", text: about},
		{name: "bin/troupe", from: r.program(t), mode: 0o755},
		{name: "LICENSE", from: "LICENSE"},
		{name: "THIRD-PARTY-LICENCES.txt", from: filepath.Join(filepath.Dir(r.program(t)), "THIRD-PARTY-LICENCES.txt")},
	})
}

// npmMain makes the package that people name. It depends on those for the targets, of the same
// version, and npm takes the one that fits.
func (r *release) npmMain(all []target) error {
	programs := map[string]string{}
	for _, t := range all {
		programs[r.npmName(&t)] = r.version
	}
	about, err := r.npmJSON(nil, map[string]any{
		"bin": map[string]string{"troupe": "bin/troupe.js"}, "engines": map[string]string{"node": ">=18"}, "optionalDependencies": programs,
	})
	if err != nil {
		return err
	}
	return r.pack(r.npmFile(nil), "package", []entry{
		{name: "package.json", text: about},
		{name: "bin/troupe.js", from: "deploy/npm/troupe.js", mode: 0o755},
		{name: "README.md", from: "deploy/npm/README.md"},
		{name: "LICENSE", from: "LICENSE"},
	})
}
