package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A store needs room on its disk before it is asked for anything:
//
//   - the log in use and the next one have their blocks before anything is
//     written, so that a write that is accepted can be written down;
//   - writes end while a share of the disk is still free, which is for the tables
//     that Badger makes of its logs;
//   - beside the store lies a reserve, which is given up where there is still too
//     little, as for an end on a full disk. An opening takes only so much of it as
//     is missing.
const (
	memTable  = 8 << 20      // Badger replaces a log when it has so much
	logRoom   = 2 * memTable // and maps this much for it
	logHeader = 20           // of each log
	memTables = 2            // so many logs can wait until tables are made of them, and more after an end with more
	// tableRoom is the most that a log becomes as a table.
	tableRoom = memTable + memTable*1/4
	// entryCost bounds what an entry takes in Badger's log and in memory beside
	// its key and its value.
	entryCost = 160
	// openRoom is what opening needs beside logs and tables.
	openRoom = 4 << 20
	// discardName is Badger's file of what could be left out of its logs of large values.
	discardName = "DISCARD"
)

// setAside is how much a store wants to have free on a disk, and as its
// reserve: 64 MiB, and less on a small one.
func setAside(dir string) (least, reserve int64) {
	disk, err := statfs(dir)
	if err != nil {
		return 64 << 20, 64 << 20
	}
	all := int64(disk.Blocks) * int64(disk.Bsize)
	return min(max(all/8, 8<<20), 64<<20), min(max(all/4, 16<<20), 64<<20)
}

// LeastFree is how many bytes must be free on the disk of a folder for a store
// in it to be written to. The folder need not be there yet.
func LeastFree(dir string) int64 {
	least, _ := setAside(dir)
	return least
}

// statfs looks at the disk of a folder, or of the nearest one above it.
func statfs(dir string) (disk syscall.Statfs_t, err error) {
	for {
		err = syscall.Statfs(dir, &disk)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return disk, err
		}
		dir = filepath.Dir(dir)
	}
}

// Free is how many bytes of the disk of a folder are free for this process.
func Free(dir string) (int64, error) {
	disk, err := statfs(dir)
	return int64(disk.Bavail) * int64(disk.Bsize), err
}

func reserveOf(dir string) string { return dir + ".reserve" }

// hold makes the reserve, or leaves the disk as it is.
func hold(dir string, size int64) error {
	name := reserveOf(dir)
	if info, err := os.Stat(name); err == nil && info.Size() == size {
		return nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = allocate(f, size); err == nil {
		err = f.Truncate(size) // says that it is whole
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(name)
	}
	return err
}

// release gives the reserve up.
func release(dir string) { _ = os.Remove(reserveOf(dir)) }

// openFiles is how many files an opening or an end makes at most, besides a table for
// each log. Without them Badger would wait for ever.
const openFiles = 16

// has reports whether the disk really gives so many bytes and files now, by taking
// them for a moment: what statfs says does not know of quotas.
func has(dir string, size int64) (err error) {
	for i := range openFiles {
		f, e := os.CreateTemp(filepath.Dir(dir), ".room-")
		if e != nil {
			return e
		}
		_ = os.Remove(f.Name()) // it is there until it is closed
		defer func() { err = errors.Join(err, f.Close()) }()
		if i == 0 {
			if err := allocate(f, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// Gives reports why the disk of a folder does not really give so many bytes, and some
// files, now; nil: it does. The folder's own folder must be there.
func Gives(dir string, size int64) error { return has(dir, size) }

// spend gives up so much of the reserve. The rest serves the next opening on the same
// disk: what is free there may be gone until then.
func spend(dir string, size int64) {
	info, err := os.Stat(reserveOf(dir))
	if err != nil || info.Size() <= size || os.Truncate(reserveOf(dir), info.Size()-size) != nil {
		release(dir)
	}
}

// makeRoomToOpen is makeRoom for an opening, and leaves what it can of the reserve.
func makeRoomToOpen(dir string) error {
	if has(dir, roomToOpen) == nil {
		return nil
	}
	spend(dir, roomToOpen)
	return makeRoom(dir, roomToOpen)
}

// makeRoom sees to it that the disk has what Badger needs, and gives up the
// reserve for it.
func makeRoom(dir string, size int64) error {
	if has(dir, size) == nil {
		return nil
	}
	release(dir)
	if err := has(dir, size); err != nil {
		return fmt.Errorf("%w: %d MiB are needed", Unwritten(err), (size+1<<20-1)>>20)
	}
	return nil
}

// logNumber is the number in the name of one of Badger's logs.
func logNumber(name string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(name), ".mem"))
	return n, err == nil
}

// logs lists Badger's logs, without the one that is only prepared.
func logs(dir string) (names []string, newest int, err error) {
	all, err := filepath.Glob(filepath.Join(dir, "*.mem"))
	for _, name := range all {
		info, err := os.Lstat(name)
		n, ok := logNumber(name)
		if err != nil || info.Mode().IsRegular() && info.Size() == 0 || !ok {
			continue
		}
		names, newest = append(names, name), max(newest, n)
	}
	return names, newest, err
}

// prepared reports whether the log after the newest has its blocks.
func prepared(dir string) bool {
	_, newest, err := logs(dir)
	if err == nil {
		_, err = os.Lstat((&journal{dir: dir}).name(newest + 1))
	}
	return err == nil
}

// dropIdle removes files that hold nothing of ours, so that Badger makes them
// anew: it would refuse a damaged one, and those that a killed process had made
// and given no size, or that were only prepared.
func dropIdle(dir string) error {
	idle := map[string]func(b []byte) bool{
		"*.mem":       func(b []byte) bool { return len(b) == 0 },
		"*.vlog":      func(b []byte) bool { return len(bytes.TrimRight(b, "\x00")) <= logHeader }, // no value is as large as the threshold
		discardName:   func(b []byte) bool { return true },                                         // what could be left out of those
		"KEYREGISTRY": func(b []byte) bool { return !bytes.HasSuffix(b, []byte("Hello Badger")) || len(b) != 28 },
	}
	for pattern, drop := range idle {
		all, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, name := range all {
			info, err := os.Lstat(name)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			var b []byte
			if pattern != "*.mem" || info.Size() == 0 {
				if b, err = os.ReadFile(name); err != nil {
					return err
				}
				if drop(b) {
					if err := os.Remove(name); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// roomToOpen is what opening needs beside a new log. The logs that are there wait in
// memory until the disk takes their tables, however many they are: see [waitingLogs].
const roomToOpen = logRoom + openRoom

// waitingLogs is how many logs can wait for their tables in a database that is opened
// with so many. With fewer places, the opening would wait for tables, and those perhaps
// for others to be put together, for which a full disk has no room.
func waitingLogs(logs int) int { return max(memTables, logs+1) }

// trim cuts the empty ends of logs off, as Badger would when it has opened them.
func (in *inspection) trim() error {
	for _, l := range in.logs {
		if info, err := os.Lstat(l.name); err == nil && info.Size() > l.end {
			if err := os.Truncate(l.name, l.end); err != nil {
				return err
			}
		}
	}
	return nil
}

// journal prepares Badger's logs. It belongs to the writer.
type journal struct {
	dir    string
	active int   // number of the log in use
	logged int64 // at most so much is in it
	ready  bool  // it has its blocks
	next   bool  // and so has the one after it
}

func (j *journal) name(n int) string { return logName(j.dir, n) }

func logName(dir string, n int) string { return filepath.Join(dir, fmt.Sprintf("%05d.mem", n)) }

// prepare makes sure that what is written next finds blocks. It costs one look
// at a file where nothing is to be done.
func (j *journal) prepare() error {
	j.follow()
	if !j.ready {
		if err := j.give(j.active, 0); err != nil {
			return fmt.Errorf("prepare the log: %w", err)
		}
		j.ready = true
	}
	if !j.next {
		if err := j.give(j.active+1, os.O_CREATE); err != nil {
			_ = os.Remove(j.name(j.active + 1))
			return fmt.Errorf("prepare the next log: %w", err)
		}
		j.next = true
	}
	return nil
}

// follow finds out whether Badger has taken the prepared log.
func (j *journal) follow() {
	if info, err := os.Stat(j.name(j.active + 1)); err == nil && info.Size() > 0 {
		*j = journal{dir: j.dir, active: j.active + 1, ready: j.next}
	} else if err != nil {
		j.next = false
	}
}

// give gives a log its blocks and leaves its size alone.
func (j *journal) give(n, flag int) error {
	f, err := os.OpenFile(j.name(n), os.O_RDWR|flag, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(allocate(f, logRoom), f.Close())
}

// fits reports whether the log in use surely takes so much more without being
// replaced, for which Badger would need a table.
func (j *journal) fits(size int64) bool { return j.ready && j.logged+size < memTable-(1<<20) }
