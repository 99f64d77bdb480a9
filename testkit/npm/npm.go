// Package npm brings packages of the npm registry to tests: what a lock file
// names, and nothing of it runs while it is installed.
package npm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Install installs what the package.json and package-lock.json of a folder name
// into the folder to, unless that has it already, and returns the folder of the
// packages. Tests that want the same packages at one time, in whatever process, do
// so one after the other: npm removes what is there before it begins.
func Install(from, to string) (string, error) {
	root, err := filepath.Abs(to)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	lockFile, err := os.Create(filepath.Join(root, "lock"))
	if err != nil {
		return "", err
	}
	defer lockFile.Close() // which gives the lock back
	if err := syscall.Flock(int(lockFile.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("wait for another installation: %w", err)
	}
	stamp := filepath.Join(root, "node_modules", "installed.json") // it goes when they go
	lock, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err != nil {
		return "", err
	}
	if have, err := os.ReadFile(stamp); err == nil && string(have) == string(lock) {
		return filepath.Join(root, "node_modules"), nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", errors.New("npm is not installed, and these tests need it to fetch packages: run `make setup`, or install the packages nodejs and npm")
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(root, name), b, 0o644); err != nil {
			return "", err
		}
	}
	// Nothing of the packages runs here: their install scripts neither.
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("install packages with npm: %w\n%s", err, out)
	}
	return filepath.Join(root, "node_modules"), os.WriteFile(stamp, lock, 0o644)
}
