package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// ErrNoBrowser says which browser to install.
var ErrNoBrowser = errors.New("no Chromium or Chrome was found: on Debian or Ubuntu run `apt-get install chromium-headless-shell fonts-liberation`, " +
	"on Fedora `dnf install chromium-headless`, on Arch `pacman -S chromium`, on Alpine `apk add chromium`, on macOS `brew install --cask google-chrome`, or name a program with --browser " +
	"(`troupe browser install` says more)")

// TestedMajor is the major version of Chromium that the tests run with.
const TestedMajor = 156

// Find returns the program to start: the headless shell where there is one,
// for it starts in a third of the time and needs half of the memory, else any
// Chromium or Chrome. Debian's wrapper scripts are passed over for the program
// behind them.
func Find() (string, error) {
	for p := range found() {
		return p, nil
	}
	return "", ErrNoBrowser
}

// FindAll returns all programs that [Find] may return, its own first.
func FindAll() (all []string) {
	seen := map[string]bool{} // by the file, as several names may lead to it
	for p := range found() {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			real = p
		}
		if !seen[real] {
			seen[real] = true
			all = append(all, p)
		}
	}
	return all
}

// found yields the installed programs in their order.
func found() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		home, _ := os.UserHomeDir()
		for _, p := range candidates(runtime.GOOS, home, os.Getenv("PLAYWRIGHT_BROWSERS_PATH")) {
			all := []string{p}
			switch {
			case strings.Contains(p, "*"):
				all = newest(p)
			case !filepath.IsAbs(p):
				full, err := exec.LookPath(p)
				if err != nil {
					continue
				}
				all = []string{full}
			}
			for _, p := range all {
				if info, err := os.Stat(p); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 && !yield(p) {
					return
				}
			}
		}
	}
}

// candidates are where browsers are, the best first: paths, patterns of paths, and names of
// programs. Folders of a user come after what the system's packages bring, because packages
// are kept current.
func candidates(goos, home, playwright string) (all []string) {
	cache := filepath.Join(home, ".cache")
	if goos == "darwin" {
		app := func(name string) string { return "/Applications/" + name + ".app/Contents/MacOS/" + name }
		cache = filepath.Join(home, "Library/Caches")
		all = []string{"chrome-headless-shell"}
		for _, name := range []string{"Chromium", "Google Chrome"} {
			all = append(all, app(name))
			if home != "" {
				all = append(all, filepath.Join(home, app(name)))
			}
		}
		all = append(all, app("Google Chrome Beta"), app("Google Chrome Canary"), app("Google Chrome for Testing"), app("Microsoft Edge"))
		if home != "" {
			all = append(all, filepath.Join(home, app("Microsoft Edge")))
		}
		all = append(all, "chromium")
	} else {
		all = []string{
			"/usr/lib/chromium/chromium-headless-shell",
			"/usr/lib64/chromium-browser/headless_shell",
			"/usr/lib/chromium-browser/headless_shell",
			"chrome-headless-shell", "chromium-headless-shell", "headless_shell", "headless-shell",
			"/usr/lib/chromium/chromium", "/opt/google/chrome/chrome",
			"google-chrome-stable", "google-chrome", "chromium", "chromium-browser", "google-chrome-beta",
			"/opt/microsoft/msedge/msedge", "microsoft-edge-stable", "microsoft-edge",
		}
	}
	if playwright == "" || playwright == "0" { // 0: in the folder of a project, which is unknown here
		playwright = ""
		if home != "" {
			playwright = filepath.Join(cache, "ms-playwright")
		}
	}
	if playwright != "" {
		for _, in := range []string{
			"chromium_headless_shell-*/*/headless_shell", "chromium_headless_shell-*/*/chrome-headless-shell",
			"chromium-*/*/chrome", "chromium-*/*/*.app/Contents/MacOS/*",
		} {
			all = append(all, filepath.Join(playwright, in))
		}
	}
	if home != "" { // where @puppeteer/browsers puts Chrome for Testing
		puppeteer := filepath.Join(home, ".cache/puppeteer")
		for _, in := range []string{"chrome-headless-shell/*/*/chrome-headless-shell", "chrome/*/*/chrome", "chrome/*/*/*.app/Contents/MacOS/*"} {
			all = append(all, filepath.Join(puppeteer, in))
		}
	}
	return all
}

// newest are the files of a pattern, those of the highest version first.
func newest(pattern string) []string {
	all, _ := filepath.Glob(pattern) // which fails for bad patterns only
	slices.SortFunc(all, func(a, b string) int { return slices.Compare(numbers(b), numbers(a)) })
	return all
}

var digits = regexp.MustCompile(`[0-9]+`)

// numbers are those in a path, in their order.
func numbers(path string) (all []int) {
	for _, d := range digits.FindAllString(path, -1) {
		n, _ := strconv.Atoi(d)
		all = append(all, n)
	}
	return all
}

// Version asks a program which browser it is, such as "Chromium 156.0.8078.79".
func Version(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", program, err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if line == "" {
		return "", fmt.Errorf("%s does not say its version", program)
	}
	return line, nil
}

var majorOf = regexp.MustCompile(`\b([0-9]+)\.[0-9]+\.[0-9]+\.[0-9]+\b`)

// Major is the major version in what [Version] returns; 0: there is none.
func Major(version string) int {
	m := majorOf.FindStringSubmatch(version)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// Install says how a browser is installed on a system, as steps for a shell. Name and like
// are ID and ID_LIKE of os-release. Known is false where only a general answer is possible.
func Install(goos, name, like string) (steps []string, known bool) {
	if goos == "darwin" {
		return []string{"brew install --cask google-chrome"}, true
	}
	for _, id := range append([]string{name}, strings.Fields(like)...) {
		if s, ok := installs[id]; ok {
			return s, true
		}
	}
	return []string{"npx playwright install --with-deps --only-shell chromium"}, false
}

// installs are the steps by the ID of os-release. Ubuntu's own chromium is a snap, which a
// service cannot drive.
var installs = map[string][]string{
	"debian": {"apt-get update", "apt-get install --no-install-recommends chromium-headless-shell fonts-liberation"},
	"ubuntu": {
		"curl -fsSLO https://dl.google.com/linux/direct/google-chrome-stable_current_amd64.deb",
		"apt-get install ./google-chrome-stable_current_amd64.deb fonts-liberation",
	},
	"fedora":   {"dnf install chromium-headless liberation-fonts"},
	"rhel":     {"dnf install epel-release", "dnf install chromium-headless liberation-fonts"},
	"arch":     {"pacman -S chromium ttf-liberation"},
	"alpine":   {"apk add chromium font-liberation"},
	"opensuse": {"zypper install chromium liberation-fonts"},
	"suse":     {"zypper install chromium liberation-fonts"},
	"nixos":    {"nix-env -iA nixos.chromium nixos.liberation_ttf"},
}

// Outdated says how a version is behind; empty: it is not, as far as is known here.
func Outdated(version string) string {
	if m := Major(version); m != 0 && m < TestedMajor {
		return fmt.Sprintf("%d is older than %d, with which this release was tested: pages can use holes that are mended since", m, TestedMajor)
	}
	return ""
}
