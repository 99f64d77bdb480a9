package persistence

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrCopy: the folder is a copy that was made while a process used the original.
var ErrCopy = errors.New("the folder was copied while a service ran with it")

// runningName is a file in a folder while a process uses it, and after a kill. It knows
// where it is: in a copy it is another file. After a clean stop it is not there, so that a
// copy made then is as good as the original.
const runningName = "RUNNING"

// running is what it says.
type running struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Machine string    `json:"machine,omitempty"`
	Boot    string    `json:"boot,omitempty"`
	Since   time.Time `json:"since"`
	// Where the file and its folder are. A device may have another number after a restart of
	// the system, and a file system on the network may be at another machine: so the time at
	// which the file was made decides where it is known, and copies have another one.
	Device uint64 `json:"device"`
	Folder uint64 `json:"folder"`
	File   uint64 `json:"file"`
	Made   int64  `json:"made,omitempty"` // in nanoseconds; 0: the file system does not tell
}

// CopyError is an [ErrCopy], and what is known of the original.
type CopyError struct {
	Dir string
	was running
}

func (e *CopyError) Error() string {
	return fmt.Sprintf("%v: %s: it is not where the process %d at %s has used it since %s, and what that wrote last can be missing or cut off",
		ErrCopy, e.Dir, e.was.PID, e.was.Host, e.was.Since.UTC().Format(time.RFC3339))
}

func (e *CopyError) Unwrap() error { return ErrCopy }

// CheckCopied returns a [CopyError] for a folder that was copied while a process used the
// original. It changes nothing. A folder that a killed process has left is none.
func CheckCopied(dir string) error {
	name := filepath.Join(dir, runningName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look whether the folder is a copy: %w", err)
	}
	var was running
	if json.Unmarshal(text, &was) != nil {
		return nil // a kill or a lack of space has cut it off
	}
	now, err := placeOf(name)
	if err != nil {
		return fmt.Errorf("look whether the folder is a copy: %w", err)
	}
	if was.samePlace(now) {
		return nil
	}
	return &CopyError{dir, was}
}

// samePlace reports whether a file is where it was written.
func (r *running) samePlace(now running) bool {
	if r.File != now.File || r.Folder != now.Folder {
		return false
	}
	return r.Made == now.Made || r.Made == 0 || now.Made == 0
}

// placeOf says where a file and its folder are.
func placeOf(name string) (r running, err error) {
	var file, folder syscall.Stat_t
	if err = syscall.Stat(name, &file); err == nil {
		err = syscall.Stat(filepath.Dir(name), &folder)
	}
	if err != nil {
		return r, err
	}
	return running{Device: uint64(file.Dev), File: file.Ino, Folder: folder.Ino, Made: madeAt(name)}, nil //nolint:unconvert // its type depends on the system
}

// MarkRunning notes that this process uses a folder. The returned function notes that it
// has ended, when all else is on the disk. A disk that takes nothing gets no mark.
func MarkRunning(dir string) (ended func() error, err error) {
	name := filepath.Join(dir, runningName)
	// A mark that a killed process has left is replaced by another file: what was copied
	// before then is no less a copy.
	f, err := os.CreateTemp(dir, runningName+".")
	if err != nil {
		return nil, fmt.Errorf("mark the folder as in use: %w", Unwritten(err))
	}
	defer os.Remove(f.Name())
	r, err := placeOf(f.Name())
	if err == nil {
		r.PID, r.Machine, r.Boot, r.Since = os.Getpid(), machineID(), bootID(), time.Now().UTC()
		r.Host, _ = os.Hostname()
		err = json.NewEncoder(f).Encode(r)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return nil, fmt.Errorf("mark the folder as in use: %w", Unwritten(err))
	}
	return func() error {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("note the end of the use of the folder: %w", err)
		}
		return nil
	}, nil
}

// AcceptCopy takes a copied folder for an original from now on.
func AcceptCopy(dir string) error {
	if err := os.Remove(filepath.Join(dir, runningName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("accept the copied folder: %w", err)
	}
	return nil
}

// FolderIdentity is such that a copy of a folder has another one, as far as the system
// tells. It stays when the system or the process starts again.
func FolderIdentity(dir string) string {
	var s syscall.Stat_t
	if err := syscall.Stat(dir, &s); err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d", s.Ino, madeAt(dir))
}

// machineID is the system's name for the machine; empty: it has none.
var machineID = sync.OnceValue(func() string {
	b, _ := os.ReadFile("/etc/machine-id")
	return strings.TrimSpace(string(b))
})
