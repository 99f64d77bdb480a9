package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"troupe/engine/browser"
)

// findData returns where everything is that outlives the process.
func findData(dir string) (string, error) {
	if dir == "" {
		var err error
		if dir, err = defaultData(); err != nil {
			return "", err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w", err)
	}
	return dir, nil
}

// dataFolder is findData, and creates a missing folder. Only its owner can read it.
func dataFolder(dir string) (string, error) {
	dir, err := findData(dir)
	if err != nil {
		return "", err
	}
	private() // libraries and browsers make files there, too
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the data folder: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", fmt.Errorf("close the data folder to others: %w", err)
	}
	return dir, nil
}

// defaultData is where the system wants the data of a service, or of a user.
func defaultData() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "troupe"), nil
	}
	if os.Geteuid() == 0 && runtime.GOOS == "linux" {
		return "/var/lib/troupe", nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("there is no home folder: name a data folder with --data")
	}
	return filepath.Join(home, ".local", "share", "troupe"), nil
}

func storeIn(data string) string   { return filepath.Join(data, "store") }
func filesIn(data string) string   { return filepath.Join(data, "files") }
func uploadsIn(data string) string { return filepath.Join(data, "uploads") }
func queuedUploadsIn(data string) string {
	return filepath.Join(data, "queued-uploads")
}
func keyIn(data string) string       { return filepath.Join(data, "key") }
func clusterIn(data string) string   { return filepath.Join(data, "cluster") }
func forwardedIn(data string) string { return filepath.Join(data, "guests") }
func auditIn(data string) string     { return filepath.Join(data, "audit") }
func socketIn(data string) string    { return filepath.Join(data, "admin.sock") }

// browserFolders makes the folder of browsers one start at a time.
var browserFolders sync.Mutex

// browserFolder returns the folder of browsers, and makes it where it is not there: what
// clears temporary folders may have removed it while the service ran. Under root, they run
// as another user without access to the data folder, so they get a temporary folder of their
// own. A later start finds there what a killed one left.
func browserFolder(data string) (string, error) {
	dir := browsersIn(data)
	if os.Geteuid() != 0 {
		return dir, os.MkdirAll(dir, 0o700)
	}
	browserFolders.Lock()
	defer browserFolders.Unlock()
	if _, err := os.Stat(filepath.Dir(dir)); errors.Is(err, fs.ErrNotExist) { // one that is there stays as it is
		if err := browser.MakePassable(filepath.Dir(dir)); err != nil {
			return dir, fmt.Errorf("make the folder for temporary files: %w", err)
		}
	}
	// Anybody may make folders there, also one of this name, or what stands in
	// its way. Such a folder is left alone, and cannot keep browsers from
	// starting: they get one whose name nobody knew.
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) && !safe(dir) {
		if dir, err = os.MkdirTemp(filepath.Dir(dir), "troupe-"); err == nil {
			err = os.WriteFile(browsersNote(data), []byte(dir), 0o600)
		}
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = browser.MakePassable(dir) // whatever the umask, or an earlier version, has made of it
	}
	if err != nil {
		return dir, fmt.Errorf("make a folder for browsers: %w", err)
	}
	return dir, nil
}

// safe reports whether a folder is ours and nobody else can put anything into it.
// A link to one is not.
func safe(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && info.Mode().Perm()&0o022 == 0 && ours(info)
}

// browsersNote has the name of the browsers' folder where it is not the usual one.
func browsersNote(data string) string { return filepath.Join(data, "browsers-folder") }

func browsersIn(data string) string {
	if os.Geteuid() != 0 {
		return filepath.Join(data, "browsers")
	}
	if noted, err := os.ReadFile(browsersNote(data)); err == nil && filepath.IsAbs(string(noted)) && safe(string(noted)) {
		return string(noted)
	}
	sum := sha256.Sum256([]byte(data))
	return filepath.Join(os.TempDir(), "troupe-"+hex.EncodeToString(sum[:6]))
}
