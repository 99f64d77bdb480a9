package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages makes the .deb and the .rpm as deploy/package/nfpm.yaml says.
func (r *release) packages(t target) error {
	files := filepath.Dir(r.program(t))
	// Programs of packages are in /usr/bin; those that people put there by hand in /usr/local.
	for _, from := range []string{"troupe.service", "troupe.service.d/cluster.conf"} {
		b, err := os.ReadFile(filepath.Join("deploy/systemd", from))
		if err != nil {
			return err
		}
		text := strings.ReplaceAll(string(b), "/usr/local/bin/troupe", "/usr/bin/troupe")
		if text == string(b) {
			return fmt.Errorf("%s does not start /usr/local/bin/troupe", from)
		}
		if err := os.WriteFile(filepath.Join(files, filepath.Base(from)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := os.Symlink(filepath.Join(r.work, "completions"), filepath.Join(files, "completions")); err != nil {
		return err
	}
	if err := r.zipManual(filepath.Join(files, "man.gz")); err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		values := map[string]string{
			"ARCH": t.arch, "VERSION": r.version, "FILES": files, "ZSH": "/usr/share/zsh/vendor-completions",
			"MAINTAINER": or(r.names["MAINTAINER"], "Troupe <troupe@localhost>"), "HOMEPAGE": or(r.names["HOMEPAGE"], unnamed),
		}
		if format == "rpm" {
			values["ZSH"] = "/usr/share/zsh/site-functions"
		}
		config, err := readExpanded("deploy/package/nfpm.yaml", values)
		if err != nil {
			return err
		}
		info, err := config.Get(format)
		if err != nil {
			return err
		}
		info.MTime = r.time
		for _, c := range info.Contents {
			if c.FileInfo != nil {
				c.FileInfo.MTime = r.time
			}
		}
		info = nfpm.WithDefaults(info)
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := packager.Package(info, &b); err != nil {
			return fmt.Errorf("make the %s: %w", format, err)
		}
		if err := os.WriteFile(filepath.Join(r.out, packager.ConventionalFileName(info)), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readExpanded reads the file with its variables filled in, and refuses those that have no
// value: the library would put nothing in their place.
func readExpanded(path string, values map[string]string) (nfpm.Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nfpm.Config{}, err
	}
	var unknown []string
	text := os.Expand(string(b), func(name string) string {
		v, ok := values[name]
		if !ok {
			unknown = append(unknown, name)
		}
		return v
	})
	if len(unknown) > 0 {
		return nfpm.Config{}, fmt.Errorf("%s has variables without a value: %v", path, unknown)
	}
	return nfpm.Parse(strings.NewReader(text))
}

// zipManual writes the pages as packages have them.
func (r *release) zipManual(to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(r.work, "man", "*.1"))
	if err != nil {
		return err
	}
	for _, p := range pages {
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		zip := gzip.NewWriter(&b)
		if _, err := zip.Write(text); err != nil {
			return err
		}
		if err := zip.Close(); err != nil {
			return err
		}
		at := filepath.Join(to, filepath.Base(p)+".gz")
		if err := os.WriteFile(at, b.Bytes(), 0o644); err != nil {
			return err
		}
		if err := os.Chtimes(at, r.time, r.time); err != nil {
			return err
		}
	}
	return os.Chtimes(to, r.time, r.time)
}
