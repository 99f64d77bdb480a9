package main

import (
	"errors"
	"io/fs"
	"maps"
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
	parser, err := kong.New(&commands{}, kong.DefaultEnvars(envPrefix), kong.Bind(&environment{}))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{"TROUPE_TEST_PROMTOOL": true, clientsToken: true}
	_ = kong.Visit(parser.Model.Node, func(n kong.Visitable, next kong.Next) error {
		if f, ok := n.(*kong.Flag); ok {
			there["--"+f.Name], there["--no-"+f.Name] = true, f.Tag.Negatable != ""
			for _, e := range f.Envs {
				there[e] = true
			}
		}
		return next(nil)
	})
	there[clientsURL], there[clientsToken] = true, true // which no flag has by its name
	// Flags of other programs that stand beside ours.
	for _, other := range strings.Fields("--unix-socket --system --user-group --home-dir --shell --now --name --stop-timeout --security-opt --shm-size --init --no-install-recommends --uid --create-home --from --interval --timeout --start-period --gid --build-arg --build --omit --no-optional --no-create-home --read-only --tmpfs --cap-drop --pids-limit --from-file --entrypoint --rm --set --reuse-values --format --platform") {
		there[other] = true
	}
	files := []string{"../../docs/deployment.md", "../../docs/operations.md"}
	err = filepath.WalkDir("../../deploy", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 15 {
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

// TestDeployedNodesWouldStart: what the files for containers set is a node's
// whole configuration, and one that the program takes: alone the secret is put
// in place.
func TestDeployedNodesWouldStart(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	image := variables(t, "../../deploy/container/Containerfile", `\b(TROUPE_\w+)=(\S+)`)
	if image["TROUPE_LISTEN"] == "" {
		t.Fatalf("the image sets %v", image)
	}
	for file, each := range map[string]struct {
		pattern string
		given   map[string]string // what the file leaves to where it is used
	}{
		"compose/compose.yaml":               {`(?m)^\s+(TROUPE_\w+): "?([^"\s]+)"?$`, nil},
		"kubernetes/statefulset.yaml":        {`name: (TROUPE_\w+), value: "?([^"\s}]+)"?\}`, map[string]string{"TROUPE_NODE": "troupe-0"}},
		"kubernetes/workers/deployment.yaml": {`name: (TROUPE_\w+), value: "?([^"\s}]+)"?\}`, map[string]string{"TROUPE_NODE": "troupe-worker-7c9f8-x2x4z"}},
		"systemd/troupe.service.d/cluster.conf": {`(?m)^Environment=(TROUPE_\w+)=(\S+)$`, map[string]string{
			"TROUPE_NODE": "n1", "TROUPE_CLUSTER_LISTEN": "n1.internal:7222", "TROUPE_LISTEN": "127.0.0.1:8080"}},
	} {
		t.Run(file, func(t *testing.T) {
			all := maps.Clone(image)
			maps.Copy(all, variables(t, "../../deploy/"+file, each.pattern))
			maps.Copy(all, each.given)
			if all["TROUPE_CLUSTER_SECRET_FILE"] == "" {
				t.Error("there is no secret")
			}
			all["TROUPE_CLUSTER_SECRET_FILE"] = secret
			for name, value := range all {
				t.Setenv(name, value)
			}
			var c commands
			parser, err := kong.New(&c, kong.DefaultEnvars(envPrefix), kong.Bind(&environment{}))
			if err == nil {
				err = errors.Join(unsetEmpty(), unknownVariable(parser.Model.Node))
			}
			if err == nil {
				_, err = parser.Parse([]string{"serve"})
			}
			if err == nil {
				err = c.Serve.check()
			}
			if err != nil {
				t.Fatal(err)
			}
			nodes := c.Serve.Cluster
			if nodes.Role == "worker" {
				if len(nodes.ClusterPeers) != 1 || !strings.HasSuffix(nodes.ClusterPeers[0], ":7223") {
					t.Errorf("a worker node looks for %v", nodes.ClusterPeers)
				}
				return
			}
			const port = ":7222" // which services and guides name
			if len(nodes.ClusterPeers) != 3 || !strings.HasSuffix(nodes.ClusterListen, port) {
				t.Errorf("%v at %s", nodes.ClusterPeers, nodes.ClusterListen)
			}
			for _, p := range nodes.ClusterPeers {
				if !strings.HasSuffix(p, port) {
					t.Errorf("a node is looked for at %s", p)
				}
			}
		})
	}
}

// variables reads settings of a file.
func variables(t *testing.T, file, pattern string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(b), -1) {
		all[m[1]] = m[2]
	}
	return all
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
