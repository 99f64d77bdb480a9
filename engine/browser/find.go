package browser

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// ErrNoBrowser says which browser to install.
var ErrNoBrowser = errors.New("no Chromium or Chrome was found: on Debian or Ubuntu run `apt-get install chromium-headless-shell fonts-liberation`, " +
	"on Fedora `dnf install chromium-headless`, on Arch `pacman -S chromium`, on Alpine `apk add chromium`, on macOS `brew install --cask google-chrome`, or name a program with --browser")

// Find returns the program to start: the headless shell where there is one,
// for it starts in a third of the time and needs half of the memory, else any
// Chromium or Chrome. Debian's wrapper scripts are passed over for the program
// behind them.
func Find() (string, error) {
	for _, p := range candidates(runtime.GOOS) {
		if filepath.IsAbs(p) {
			if info, err := os.Stat(p); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
				return p, nil
			}
			continue
		}
		if full, err := exec.LookPath(p); err == nil {
			return full, nil
		}
	}
	return "", ErrNoBrowser
}

func candidates(goos string) []string {
	if goos == "darwin" {
		home, _ := os.UserHomeDir()
		app := func(name string) string { return "/Applications/" + name + ".app/Contents/MacOS/" + name }
		return []string{
			"chrome-headless-shell", app("Chromium"), app("Google Chrome"), filepath.Join(home, app("Chromium")),
			filepath.Join(home, app("Google Chrome")), app("Google Chrome Canary"), app("Microsoft Edge"), "chromium",
		}
	}
	return []string{
		"/usr/lib/chromium/chromium-headless-shell",
		"/usr/lib64/chromium-browser/headless_shell",
		"/usr/lib/chromium-browser/headless_shell",
		"chrome-headless-shell", "chromium-headless-shell", "headless_shell", "headless-shell",
		"/usr/lib/chromium/chromium", "/opt/google/chrome/chrome",
		"google-chrome-stable", "google-chrome", "chromium", "chromium-browser", "google-chrome-beta", "microsoft-edge-stable",
	}
}
