package main

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"troupe/engine/browser"
)

// peerFiles are servers as people write them by hand, and the packages that
// they are written with.
//
//go:embed peers
var peerFiles embed.FS

// installed gives the folder of the cache where the files of a folder are, with their
// packages. They are fetched once.
func installed(files embed.FS, name string) (cache string, err error) {
	if cache, err = filepath.Abs(filepath.Join(".cache", name)); err != nil {
		return "", err
	}
	lock, err := files.ReadFile(name + "/package-lock.json")
	if err != nil {
		return "", err
	}
	stamp := filepath.Join(cache, "installed.json")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == string(lock) {
		return cache, nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", errors.New("npm is not installed, and what is compared with needs it: install the packages nodejs and npm, or leave it out with -peers=false")
	}
	if err := copyFiles(files, name, cache); err != nil {
		return "", err
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = cache
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("installing what is compared with: %w\n%s", err, out)
	}
	return cache, os.WriteFile(stamp, lock, 0o644)
}

// installPeers copies the peers to a folder of the run and gives them their
// packages.
func installPeers(b *bench) error {
	if b.peers != "" {
		return nil
	}
	cache, err := installed(peerFiles, "peers")
	if err != nil {
		return err
	}
	// They run as a user who may not be able to enter this folder.
	dir := filepath.Join(b.dir, "peers")
	if err := copyFiles(peerFiles, "peers", dir); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(dir, "node_modules"), os.DirFS(filepath.Join(cache, "node_modules"))); err != nil {
		return fmt.Errorf("copying the peers' packages: %w", err)
	}
	b.peers = dir
	return nil
}

func copyFiles(files embed.FS, name, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return fs.WalkDir(files, name, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, d.Name()), text, 0o644)
	})
}

// startPeer starts one of the peers as an unprivileged user, for their browsers
// keep the sandbox, too.
func startPeer(library string, fresh, ours bool) func(*bench, int) (*side, error) {
	return func(b *bench, n int) (*side, error) {
		if err := installPeers(b); err != nil {
			return nil, err
		}
		dir, err := b.folder()
		if err != nil {
			return nil, err
		}
		settings := map[string]any{"browser": b.browser, "workers": n, "fresh": fresh, "dir": dir}
		if ours {
			settings["flags"] = peerFlags()
		}
		arg, err := json.Marshal(settings)
		if err != nil {
			return nil, err
		}
		cmd := exec.Command("node", filepath.Join(b.peers, library+".mjs"), string(arg))
		cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
		if err := unprivileged(cmd, dir); err != nil {
			return nil, err
		}
		return startHelper(b, cmd)
	}
}

// peerFlags are the service's flags, less what belongs to one browser and the
// proxy, which the peers go without.
func peerFlags() []string {
	return slices.DeleteFunc(browser.Flags(browser.Options{}, ""), func(f string) bool {
		return f == "about:blank" || strings.HasPrefix(f, "--user-data-dir")
	})
}
