package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/generate/bin"
	"github.com/rs/zerolog"
)

// materials writes which modules are in the program, for machines.
func (r *release) materials(t target) error {
	g, err := bin.NewGenerator(r.program(t), bin.WithLogger(zerolog.New(os.Stderr).Level(zerolog.WarnLevel)), bin.WithIncludeStdlib(true), bin.WithVersionOverride("v"+r.version))
	if err != nil {
		return err
	}
	bom, err := g.Generate()
	if err != nil {
		return fmt.Errorf("list what is in the program: %w", err)
	}
	bom.SerialNumber = "" // it would be another one each time
	bom.Metadata.Timestamp = r.time.Format(time.RFC3339)
	var b bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&b, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, fmt.Sprintf("troupe_%s_%s_%s.cdx.json", r.version, t.os, t.arch)), b.Bytes(), 0o644)
}

// licencesOf is the text of the licences of all modules in a program. Each of them wants to be
// passed on with it.
func licencesOf(program string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	folders, err := folders()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	add := func(name, dir string) error {
		found, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			return err
		}
		some := false
		for _, f := range found {
			base := strings.ToLower(filepath.Base(f))
			if !slices.ContainsFunc([]string{"licen", "copying", "notice", "patents"}, func(s string) bool { return strings.HasPrefix(base, s) }) {
				continue
			}
			if info, err := os.Stat(f); err != nil || info.IsDir() || strings.HasSuffix(base, ".go") {
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "==== %s: %s\n\n%s\n\n", name, filepath.Base(f), bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
			some = some || !strings.HasPrefix(base, "notice")
		}
		if !some {
			return fmt.Errorf("%s has no licence in its folder", name)
		}
		return nil
	}
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	if err := add(info.GoVersion, root); err != nil {
		return nil, err
	}
	for _, m := range info.Deps {
		dir := folders[m.Path]
		if dir == "" {
			return nil, fmt.Errorf("the sources of %s are not here", m.Path)
		}
		if err := add(m.Path+" "+m.Version, dir); err != nil {
			return nil, err
		}
	}
	page, err := os.ReadFile("http/pages/app/vendor/LICENCES.txt")
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "==== in the web page\n\n%s\n", bytes.TrimSpace(page))
	return b.Bytes(), nil
}

// folders are where the sources of modules are.
func folders() (map[string]string, error) {
	said, err := output("go", "list", "-m", "-json", "all")
	if err != nil {
		return nil, err
	}
	type module struct {
		Path, Dir string
		Replace   *module
	}
	all := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(said)); ; {
		var m module
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the list of modules: %w", err)
		}
		if m.Dir == "" && m.Replace != nil {
			m.Dir = m.Replace.Dir
		}
		all[m.Path] = m.Dir
	}
}
