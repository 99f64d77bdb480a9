package browser

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBrowsersOfAUserAreFound: the folders of Playwright and of Chrome for Testing have the
// newest first, and are found where nothing is installed.
func TestBrowsersOfAUserAreFound(t *testing.T) {
	for _, tc := range []struct {
		name, goos, env string
		files           []string
		want            string
	}{
		{"Playwright's headless shell before its browser", "linux", "", []string{
			".cache/ms-playwright/chromium-1200/chrome-linux64/chrome", ".cache/ms-playwright/chromium_headless_shell-1200/chrome-headless-shell-linux64/chrome-headless-shell",
		}, ".cache/ms-playwright/chromium_headless_shell-1200/chrome-headless-shell-linux64/chrome-headless-shell"},
		{"the newest of Playwright's", "linux", "", []string{
			".cache/ms-playwright/chromium_headless_shell-999/chrome-linux/headless_shell", ".cache/ms-playwright/chromium_headless_shell-1105/chrome-linux/headless_shell",
		}, ".cache/ms-playwright/chromium_headless_shell-1105/chrome-linux/headless_shell"},
		{"Playwright's folder by its variable", "linux", "elsewhere", []string{"elsewhere/chromium-1/chrome-linux/chrome"}, "elsewhere/chromium-1/chrome-linux/chrome"},
		{"Playwright's in a project", "linux", "0", []string{".cache/ms-playwright/chromium-1/chrome-linux/chrome"}, ".cache/ms-playwright/chromium-1/chrome-linux/chrome"},
		{"Chrome for Testing", "linux", "", []string{
			".cache/puppeteer/chrome/linux-99.0.1.1/chrome-linux64/chrome", ".cache/puppeteer/chrome/linux-156.0.1.1/chrome-linux64/chrome",
		}, ".cache/puppeteer/chrome/linux-156.0.1.1/chrome-linux64/chrome"},
		{"Playwright's on macOS", "darwin", "", []string{"Library/Caches/ms-playwright/chromium-1200/chrome-mac-arm64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing"},
			"Library/Caches/ms-playwright/chromium-1200/chrome-mac-arm64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing"},
		{"Edge of a user on macOS", "darwin", "", []string{"Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"}, "Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"},
	} {
		home := t.TempDir()
		for _, f := range tc.files {
			f = filepath.Join(home, f)
			if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f, nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		env := tc.env
		if env != "" && env != "0" {
			env = filepath.Join(home, env)
		}
		first := ""
		for _, p := range candidates(tc.goos, home, env) {
			if !strings.HasPrefix(p, home) {
				continue
			}
			if all := newest(p); len(all) > 0 {
				first = all[0]
				break
			}
		}
		if want := filepath.Join(home, tc.want); first != want {
			t.Errorf("%s: %s is taken, want %s", tc.name, first, want)
		}
	}
	for goos, want := range map[string][]string{
		"linux":  {"/opt/google/chrome/chrome", "google-chrome-stable", "/opt/microsoft/msedge/msedge", "microsoft-edge"},
		"darwin": {"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"},
	} {
		all := candidates(goos, "", "")
		for _, p := range want {
			if !slices.Contains(all, p) {
				t.Errorf("%s: %s is not looked for", goos, p)
			}
		}
		for _, p := range all { // without a home there is no folder of a user
			if strings.Contains(p, "ms-playwright") || strings.Contains(p, "puppeteer") || strings.HasPrefix(p, "Applications") {
				t.Errorf("%s: %s is looked for without a home", goos, p)
			}
		}
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]int{
		"Chromium 156.0.8078.79": 156, "Google Chrome 141.0.7390.54 ": 141, "Microsoft Edge 140.0.1.2 beta": 140, "HeadlessChrome": 0, "": 0,
		"Chromium 99.0.1.2 built on Debian GNU/Linux 12.5": 99,
	} {
		if got := Major(text); got != want {
			t.Errorf("%q has the major version %d, want %d", text, got, want)
		}
		if old := Outdated(text); (old != "") != (want != 0 && want < TestedMajor) {
			t.Errorf("%q is outdated: %q", text, old)
		}
	}
}

// TestInstallIsKnown: each system has steps of its own package manager.
func TestInstallIsKnown(t *testing.T) {
	for _, tc := range []struct {
		goos, id, like, has string
		known               bool
	}{
		{"linux", "debian", "", "apt-get install", true}, {"linux", "ubuntu", "debian", "google-chrome-stable", true},
		{"linux", "linuxmint", "ubuntu debian", "google-chrome-stable", true}, {"linux", "raspbian", "debian", "chromium-headless-shell", true},
		{"linux", "rocky", "rhel centos fedora", "dnf install epel-release", true}, {"linux", "manjaro", "arch", "pacman", true},
		{"linux", "opensuse-tumbleweed", "opensuse suse", "zypper", true}, {"linux", "alpine", "", "apk add", true},
		{"linux", "plan9", "", "playwright install", false}, {"darwin", "", "", "brew install", true},
	} {
		steps, known := Install(tc.goos, tc.id, tc.like)
		if known != tc.known || !strings.Contains(strings.Join(steps, "\n"), tc.has) {
			t.Errorf("%s %s: %v (known: %t), want %q", tc.goos, tc.id, steps, known, tc.has)
		}
	}
}
