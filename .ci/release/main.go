// Release builds what people install: archives, packages for Debian and for rpm, packages for
// npm, a Homebrew formula, install.sh, bills of materials and checksums.
//
//	go run . [-out DIR] [-targets linux/amd64,…] [-as VERSION]
//
// The same commit makes the same bytes: files have the time of the commit, and no path, name of
// a machine or time of the build is in them. It must be called in the root of the project.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A release is what is made, and from what.
type release struct {
	out     string // folder
	work    string // folder for what is on the way
	version string // of the program
	commit  string
	time    time.Time
	names   map[string]string // deploy/names.env
}

// A target is a system with its kind of processor, by Go's names.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

var everywhere = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

func main() {
	out := flag.String("out", "dist", "folder, which is emptied")
	targets := flag.String("targets", everywhere, "systems")
	as := flag.String("as", "", "version for packages, to try upgrades; the program keeps its own")
	flag.Parse()
	if err := build(*out, *targets, *as); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func build(out, targets, as string) (err error) {
	r := &release{}
	if r.out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return fmt.Errorf("empty the folder: %w", err)
	}
	if r.work, err = os.MkdirTemp("", "troupe-release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if r.commit, err = output("git", "rev-parse", "HEAD"); err != nil {
		return err
	}
	if dirty, err := output("git", "status", "--porcelain"); err != nil {
		return err
	} else if dirty != "" {
		r.commit += "-changed"
	}
	if r.time, err = commitTime(); err != nil {
		return err
	}
	if r.names, err = readNames("deploy/names.env"); err != nil {
		return err
	}
	var all []target
	for s := range strings.SplitSeq(targets, ",") {
		system, arch, ok := strings.Cut(s, "/")
		if !ok || !slices.Contains(strings.Split(everywhere, ","), s) {
			return fmt.Errorf("%q is no system: want some of %s", s, everywhere)
		}
		all = append(all, target{system, arch})
	}
	own := target{runtime.GOOS, runtime.GOARCH}
	if err := r.compile(own); err != nil { // it says its version, its flags and its manual
		return err
	}
	if err := r.ask(own, as); err != nil {
		return err
	}
	for _, t := range all {
		if err := r.compile(t); err != nil {
			return err
		}
		if err := r.make(t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := r.npmMain(all); err != nil {
		return err
	}
	return r.finish()
}

// program is where the program for a target is.
func (r *release) program(t target) string {
	return filepath.Join(r.work, t.os+"_"+t.arch, "troupe")
}

// compile builds the program for a target, once.
func (r *release) compile(t target) error {
	to := r.program(t)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	fmt.Printf("build %s\n", t)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid= -X main.commit="+r.commit, "-o", to, "./cmd/troupe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build for %s: %w: %s", t, err, out)
	}
	return nil
}

// ask lets the program say its version, and write its manual and its completions.
func (r *release) ask(own target, as string) error {
	program := r.program(own)
	said, err := output(program, "version", "--json")
	if err != nil {
		return err
	}
	var v struct{ Version string }
	if err := json.Unmarshal([]byte(said), &v); err != nil || v.Version == "" {
		return fmt.Errorf("the program does not say its version: %s: %w", said, err)
	}
	if r.version = v.Version; as != "" {
		r.version = as
	}
	if _, err := output(program, "manual", filepath.Join(r.work, "man")); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.work, "completions"), 0o755); err != nil {
		return err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text, err := output(program, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.work, "completions", "troupe."+shell), []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// make makes all that is for one target.
func (r *release) make(t target) error {
	licences, err := licencesOf(r.program(t))
	if err != nil {
		return err
	}
	files := filepath.Dir(r.program(t))
	if err := os.WriteFile(filepath.Join(files, "THIRD-PARTY-LICENCES.txt"), licences, 0o644); err != nil {
		return err
	}
	if err := r.archive(t); err != nil {
		return err
	}
	if err := r.materials(t); err != nil {
		return err
	}
	if err := r.npmProgram(t); err != nil {
		return err
	}
	if t.os != "linux" {
		return nil
	}
	return r.packages(t)
}

// finish writes what names all others: checksums, the formula, and install.sh.
func (r *release) finish() error {
	sums, err := r.sums()
	if err != nil {
		return err
	}
	fill := []string{"@VERSION@", r.version, "@DOWNLOAD@", r.names["DOWNLOAD"], "@HOMEPAGE@", or(r.names["HOMEPAGE"], unnamed), "@URL@", or(r.names["DOWNLOAD"], unnamed) + "/" + r.version}
	for s := range strings.SplitSeq(everywhere, ",") {
		s = strings.ReplaceAll(s, "/", "_")
		fill = append(fill, "@SHA256_"+s+"@", sums["troupe_"+r.version+"_"+s+".tar.gz"])
	}
	for _, name := range []string{"install.sh", "troupe.rb"} {
		b, err := os.ReadFile(filepath.Join("deploy/install", name))
		if err != nil {
			return err
		}
		text := strings.NewReplacer(fill...).Replace(string(b))
		if err := os.WriteFile(filepath.Join(r.out, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if sums, err = r.sums(); err != nil {
		return err
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&b, "%s  %s\n", sums[name], name)
	}
	fmt.Print(b.String())
	return os.WriteFile(filepath.Join(r.out, "checksums.txt"), []byte(b.String()), 0o644)
}

// unnamed stands for an address that the owner has not given yet.
const unnamed = "https://example.org/troupe"

// sums are the checksums of the files in the folder.
func (r *release) sums() (map[string]string, error) {
	all := map[string]string{}
	files, err := os.ReadDir(r.out)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(r.out, f.Name()))
		if err != nil {
			return nil, err
		}
		all[f.Name()] = fmt.Sprintf("%x", sha256.Sum256(b))
	}
	return all, nil
}

// commitTime is the time that all files get.
func commitTime() (time.Time, error) {
	said := os.Getenv("SOURCE_DATE_EPOCH")
	if said == "" {
		var err error
		if said, err = output("git", "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, err
		}
	}
	n, err := strconv.ParseInt(said, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the time of the commit is %q: want seconds: %w", said, err)
	}
	return time.Unix(n, 0).UTC(), nil
}

// readNames reads a file of lines NAME=VALUE.
func readNames(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("%s has the line %q: want NAME=VALUE", path, line)
		}
		all[name] = value
	}
	return all, nil
}

func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", filepath.Base(name), strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

func or(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
