package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/dgraph-io/badger/v4/options"
)

// ErrDamaged says that records are missing or changed on disk. The store is not
// opened and not changed: see [Repair] and [SetAside].
var ErrDamaged = errors.New("the store is damaged")

// ErrNewer: a newer version has written the store.
var ErrNewer = errors.New("the store was written by a newer version")

// Damage is an [ErrDamaged] and all that was found.
type Damage struct {
	Dir   string
	Found []string // a sentence each, at least one
}

func (d *Damage) Error() string {
	text := fmt.Sprintf("%v: %s: %s", ErrDamaged, d.Dir, d.Found[0])
	if n := len(d.Found) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

func (d *Damage) Unwrap() error { return ErrDamaged }

// machine lists the faults that are none of the data, beside a full disk.
var machine = []syscall.Errno{
	syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.EIO, syscall.EMFILE, syscall.ENFILE,
	syscall.ENOMEM, syscall.EBUSY, syscall.EAGAIN, syscall.EINTR, syscall.EISDIR, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG,
}

// isDamage tells an error of the data from one of the machine. Badger keeps
// only the text of the errors that it wraps, so the text has to tell.
func isDamage(err error) bool {
	if NoRoom(err) {
		return false
	}
	text := err.Error()
	for _, no := range machine {
		if strings.Contains(text, no.Error()) {
			return false
		}
	}
	return !strings.Contains(text, "Cannot acquire directory lock")
}

// inspection is what a look at all files of a store has found, which changes
// nothing.
type inspection struct {
	dir    string
	state  *state // nil: none, as of a store of an earlier version
	found  []string
	last   uint64 // the version up to which nothing is missing
	empty  bool   // there are no files of a database
	tables []*rawTable
	logs   []*rawLog
}

func (in *inspection) add(format string, args ...any) {
	in.found = append(in.found, fmt.Sprintf(format, args...))
}

// inspect looks at a store. Its error is one of the machine, or an [ErrNewer].
// Each version of a record that is there is handed over, when that is wanted.
func inspect(dir string, each func(version)) (*inspection, error) {
	in := &inspection{dir: dir}
	in.state, _ = readState(dir)
	if in.state != nil && in.state.Format > format {
		return in, fmt.Errorf("open the store in %s: %w: its format is %d, this version knows %d", dir, ErrNewer, in.state.Format, format)
	}
	names := map[string][]string{}
	for _, kind := range []string{"*.sst", "*.mem", "*.vlog", "MANIFEST", stateName} {
		found, err := filepath.Glob(filepath.Join(dir, kind))
		if err != nil {
			return in, err
		}
		names[kind] = found
		in.empty = in.empty || len(found) > 0
	}
	if in.empty = !in.empty; in.empty {
		return in, nil
	}
	if each == nil {
		each = func(version) {}
	}
	m, err := manifest(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		in.add("MANIFEST, the list of tables, is missing")
	case err != nil && strings.Contains(err.Error(), "unsupported version"):
		return in, fmt.Errorf("open the store in %s: %w: %.60s", dir, ErrNewer, err)
	case err != nil && !isDamage(err):
		return in, err
	case err != nil:
		in.add("MANIFEST, the list of tables: %v", err)
	}
	if err == nil {
		for _, id := range slices.Sorted(maps.Keys(m.Tables)) {
			if err := in.table(tableName(dir, id), []bool{m.Tables[id].Compression == options.Snappy}, each); err != nil {
				return in, err
			}
		}
	} else { // whatever there is
		for _, name := range names["*.sst"] {
			if err := in.table(name, []bool{false, true}, each); err != nil {
				return in, err
			}
		}
	}
	slices.SortFunc(names["*.mem"], func(a, b string) int {
		x, _ := logNumber(a)
		y, _ := logNumber(b)
		return x - y
	})
	for _, name := range names["*.mem"] {
		l := readLog(name, func(v version, _ bool) { each(v) })
		if l.damage != nil && !isDamage(l.damage) {
			return in, l.damage
		}
		in.logs = append(in.logs, l)
	}
	in.judge()
	return in, nil
}

func (in *inspection) table(name string, compressed []bool, each func(version)) error {
	t := readTable(name, compressed, each)
	switch {
	case errors.Is(t.damage, fs.ErrNotExist):
		in.add("table %s is missing", filepath.Base(name))
	case t.damage != nil && !isDamage(t.damage):
		return t.damage
	case t.damage != nil:
		in.add("table %s: %v", filepath.Base(name), t.damage)
	}
	in.tables = append(in.tables, t)
	return nil
}

// judge follows the versions: each transaction has the next one, and the tables
// have all up to one.
func (in *inspection) judge() {
	for _, t := range in.tables {
		in.last = max(in.last, t.newest)
	}
	for _, l := range in.logs {
		for _, at := range l.ends {
			if at > in.last+1 && in.missing(in.last+1, at-1) {
				in.add("%d changes are missing before the log %s", at-1-in.last, filepath.Base(l.name))
			}
			in.last = max(in.last, at)
		}
		if l.damage != nil && in.state == nil {
			in.add("log %s: %v", filepath.Base(l.name), l.damage)
		}
	}
	if in.state == nil {
		return
	}
	if want := in.wanted(); in.last < want {
		in.add("the last %d changes are missing", want-in.last)
	}
}

// wanted is the version up to which all changes must be there. Changes that were not
// synced may be missing after an end of the system, but not of the process alone.
func (in *inspection) wanted() uint64 {
	if in.state.Boot != "" && in.state.Boot == bootID() {
		return in.state.Version
	}
	return in.state.Synced
}

// missing reports whether versions in between must be there.
func (in *inspection) missing(from, to uint64) bool {
	return in.state != nil && to > in.state.Since && from <= in.wanted()
}

// damage is what was found, or nil.
func (in *inspection) damage() error {
	if len(in.found) == 0 {
		return nil
	}
	return &Damage{in.dir, in.found}
}

// denied says whose a file is that may not be read.
func denied(dir string, err error) error {
	var at *fs.PathError
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &at) {
		return fmt.Errorf("open the store in %s: %w", dir, err)
	}
	for name := at.Path; ; name = filepath.Dir(name) {
		if info, e := os.Lstat(name); e == nil {
			owner := -1
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				owner = int(st.Uid)
			}
			return fmt.Errorf("open the store in %s: %w: %s belongs to the user %d and has mode %v, and this process runs as the user %d", dir, err, name, owner, info.Mode(), os.Geteuid())
		}
		if name == filepath.Dir(name) {
			return fmt.Errorf("open the store in %s: %w", dir, err)
		}
	}
}
