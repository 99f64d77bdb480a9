package troupe_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
)

//go:generate go test . -run TestTheWaysToInstallAreCurrent|TestTheNameOfTheImage -update

// names reads deploy/names.env.
func names(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("deploy/names.env")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			all[name] = value
		}
	}
	return all
}

// ways is the part of the README that says how to install: by the names under which releases
// are published, as far as the owner has given them, else from what make release builds.
func ways(names map[string]string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("| way | commands |\n|---|---|")
	if at := names["IMAGE"]; at != "" {
		line("| [container](docs/deployment.md#container) | `docker run -p 8080:8080 %s` |", at)
	} else {
		line("| [container](docs/deployment.md#container) | `make image`, then `docker run -p 8080:8080 troupe` |")
	}
	line("| Compose, with the [sandbox](docs/deployment.md#container) | `docker compose -f deploy/container/compose.yaml up` |")
	if name := names["NPM"]; name != "" {
		line("| npm | `npx %s run list.json`, `npx %[1]s serve` |", name)
	} else {
		line("| npm | `make release && npm i -g ./dist/troupe-linux-x64-*.tgz ./dist/troupe-[0-9]*.tgz`, then `troupe run list.json` |")
	}
	if name := names["FORMULA"]; name != "" {
		line("| Homebrew | `brew install %s` |", name)
	}
	if at := names["DOWNLOAD"]; at != "" {
		line("| any system | `curl -fsSL %s/install.sh \\| sh` |", at)
		line("| Debian, Ubuntu, Fedora | the `.deb` or `.rpm` of %s: [packages](docs/deployment.md#packages) |", at)
	} else {
		line("| Debian, Ubuntu | `make release TARGETS=linux/amd64 && sudo apt-get install ./dist/troupe_*_amd64.deb` |")
		line("| archive | `make release`, then unpack `dist/troupe_*.tar.gz`: the program needs nothing but a Chromium |")
	}
	line("| [Kubernetes](docs/deployment.md#kubernetes) | `helm install troupe deploy/chart` |")
	line("| from source | `make run` |")
	return b.String()
}

const waysBegin, waysEnd = "<!-- ways: made by make generate from deploy/names.env -->\n", "<!-- end of ways -->\n"

// The files that name the image, and what they name as long as nobody has given it a name.
var imageLines = []struct{ file, line, none string }{
	{"deploy/chart/values.yaml", "  repository: %s\n", "registry.example.org/troupe"},
	{"deploy/container/compose.yaml", "    image: %s\n", "troupe"},
}

// TestTheNameOfTheImage: the files that begin containers have the name that the owner has given.
func TestTheNameOfTheImage(t *testing.T) {
	for _, f := range imageLines {
		b, err := os.ReadFile(f.file)
		if err != nil {
			t.Fatal(err)
		}
		before, _, _ := strings.Cut(f.line, "%s")
		head, rest, ok := strings.Cut(string(b), before)
		_, tail, ok2 := strings.Cut(rest, "\n")
		if !ok || !ok2 {
			t.Fatalf("%s has no line %q", f.file, before)
		}
		want := head + fmt.Sprintf(f.line, cmp.Or(names(t)["IMAGE"], f.none)) + tail
		if *update {
			if err := os.WriteFile(f.file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if string(b) != want {
			t.Errorf("%s does not have the name of the image in deploy/names.env: make generate", f.file)
		}
	}
}

// TestTheChartHasTheVersion: the chart begins the image of this version.
func TestTheChartHasTheVersion(t *testing.T) {
	b, err := os.ReadFile("cmd/troupe/version.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), `version = "`)
	version, _, ok := strings.Cut(rest, `"`)
	chart, err := os.ReadFile("deploy/chart/Chart.yaml")
	if err != nil || !ok {
		t.Fatal("the version is not found:", err)
	}
	for _, line := range []string{"\nversion: ", "\nappVersion: "} {
		if !strings.Contains(string(chart), line+version+"\n") {
			t.Errorf("deploy/chart/Chart.yaml has no line %q", strings.TrimSpace(line)+" "+version)
		}
	}
}

// TestTheWaysToInstallAreCurrent: the README has what the file of names says.
func TestTheWaysToInstallAreCurrent(t *testing.T) {
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), waysBegin)
	_, after, ok2 := strings.Cut(rest, waysEnd)
	if !ok || !ok2 {
		t.Fatal("README.md has no marks around the ways to install")
	}
	want := before + waysBegin + "\n" + ways(names(t)) + "\n" + waysEnd + after
	if *update {
		if err := os.WriteFile("README.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(b) != want {
		t.Error("the ways to install in README.md are not those of deploy/names.env: make generate")
	}
}

// TestNamesChangeTheWays: each name that the owner fills is in the README then.
func TestNamesChangeTheWays(t *testing.T) {
	without := ways(nil)
	for name, value := range map[string]string{"IMAGE": "registry.example.org/o/troupe", "NPM": "@o/troupe", "FORMULA": "o/tap/troupe", "DOWNLOAD": "https://downloads.example.org/troupe"} {
		if with := ways(map[string]string{name: value}); !strings.Contains(with, value) || with == without {
			t.Errorf("%s=%s changes nothing", name, value)
		}
		if _, ok := names(t)[name]; !ok {
			t.Errorf("deploy/names.env has no line for %s", name)
		}
	}
}
