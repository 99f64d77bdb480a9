package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestDeployedSettingsExist: each flag and variable that the files for
// operators name is one of the program's.
func TestDeployedSettingsExist(t *testing.T) {
	parser, err := kong.New(&commands{}, kong.DefaultEnvars(envPrefix), kong.Bind(&world{}))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{"TROUPE_TEST_PROMTOOL": true}
	_ = kong.Visit(parser.Model.Node, func(n kong.Visitable, next kong.Next) error {
		if f, ok := n.(*kong.Flag); ok {
			there["--"+f.Name], there["--no-"+f.Name] = true, f.Tag.Negatable != ""
			for _, e := range f.Envs {
				there[e] = true
			}
		}
		return next(nil)
	})
	// Flags of other programs that stand beside ours.
	for _, other := range strings.Fields("--unix-socket --system --home-dir --shell --now --name --stop-timeout --security-opt --shm-size --init --no-install-recommends --uid --create-home --from --interval --timeout --start-period") {
		there[other] = true
	}
	files := []string{"../../docs/deployment.md", "../../docs/operations.md"}
	err = filepath.WalkDir("../../deploy", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	n := 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range regexp.MustCompile(`\bTROUPE_[A-Z_]+[A-Z]\b|(?:^|[\s`+"`"+`(])--[a-z][a-z-]+`).FindAllString(string(b), -1) {
			n++
			if s = strings.Trim(s, " \t\n`("); !there[s] {
				t.Errorf("%s names %s, which is not there", name, s)
			}
		}
	}
	if n < 40 {
		t.Errorf("%d settings were found", n)
	}
}

// TestUnitIsValid: systemd takes the unit as it is.
func TestUnitIsValid(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip(err)
	}
	b, err := os.ReadFile("../../deploy/systemd/troupe.service")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	verify := func(unit string) (string, error) {
		name := filepath.Join(dir, "troupe.service")
		if err := os.WriteFile(name, []byte(unit), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(analyze, "verify", "--man=no", name).CombinedOutput()
		return string(out), err
	}
	unit := strings.Replace(string(b), "/usr/local/bin/troupe", os.Args[0], 1) // one that is here
	if out, err := verify(unit); err != nil || strings.Contains(out, "troupe.service") {
		t.Errorf("%v: %s", err, out)
	}
	if out, _ := verify(strings.Replace(unit, "KillMode=mixed", "KillMode=mxied\nTimeoutStop=1", 1)); !strings.Contains(out, "troupe.service") {
		t.Errorf("a unit with mistakes passes: %s", out)
	}
}
