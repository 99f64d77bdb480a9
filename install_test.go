package troupe_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

//go:generate go test . -run TestTheWaysToInstallAreCurrent -update

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
		line("| container | the image `%s`, with the [flags](docs/deployment.md#container) that its sandbox needs |", at)
	} else {
		line("| container | `make image`, then [docker run](docs/deployment.md#container) |")
	}
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
	line("| from source | `make run` |")
	return b.String()
}

const waysBegin, waysEnd = "<!-- ways: made by make generate from deploy/names.env -->\n", "<!-- end of ways -->\n"

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
