package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"troupe/engine/browser"
)

// version is that of the release. It is written here only: packages, archives and the pages
// of the manual ask the program for it. CHANGELOG.md has a section of that name.
const version = "0.1.0"

// commit is the one that a release is built from. Builds of a release carry it by -ldflags,
// so that they are the same bytes whether the sources are a clone or not.
var commit = ""

type versionCommand struct {
	JSON    bool   `help:"Print JSON, for scripts."`
	Browser string `help:"Browser executable. Default: an installed Chromium or Chrome." placeholder:"PATH"`
}

// versionReport is what the command says, with its names in JSON.
type versionReport struct {
	Version string        `json:"version"`
	Commit  string        `json:"commit,omitempty"`
	Go      string        `json:"go"`
	OS      string        `json:"os"`
	Arch    string        `json:"arch"`
	Browser *foundBrowser `json:"browser"` // null: none is found
}

type foundBrowser struct {
	Path    string `json:"path"`
	Version string `json:"version,omitempty"` // empty: it does not say
}

func (c versionCommand) Run(w *environment) error {
	t := versionReport{Version: version, Commit: ownCommit(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	path, err := c.Browser, error(nil)
	if path == "" {
		path, err = browser.Find()
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(w.ctx, askWithin)
		defer cancel()
		t.Browser = &foundBrowser{Path: path}
		t.Browser.Version, _ = browser.Version(ctx, path) // a browser that does not say it is shown without
	}
	if c.JSON {
		return json.NewEncoder(w.stdout).Encode(t)
	}
	return t.print(w.stdout)
}

// askWithin bounds the question to a browser for its version.
const askWithin = 20 * time.Second

func (t versionReport) print(out io.Writer) error {
	of, by := t.Commit, "none: troupe browser install says how to get one"
	if of == "" {
		of = "unknown"
	}
	switch {
	case t.Browser == nil:
	case t.Browser.Version == "":
		by = t.Browser.Path + ", which does not say its version"
	default:
		by = fmt.Sprintf("%s (%s)", t.Browser.Version, t.Browser.Path)
	}
	_, err := fmt.Fprintf(out, "troupe %s %s %s/%s\ncommit  %s\nbrowser %s\n", t.Version, t.Go, t.OS, t.Arch, of, by)
	return err
}

// ownVersion is the program's own, with the beginning of its commit.
func ownVersion() string {
	return strings.TrimSpace(version + " " + ownCommit()[:min(12, len(ownCommit()))])
}

// ownCommit is the commit that the program is built from, as far as it is known: releases have
// it, and so have builds in a clone.
func ownCommit() string {
	if commit != "" {
		return commit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}
