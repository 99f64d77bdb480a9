package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/rs/zerolog"
)

// ErrInUse: another process has the store open.
var ErrInUse = errors.New("data folder is in use by another troupe")

// attempts is how often in a row opening may end with the end of the process
// before the store is taken for damaged. One such end may be a kill.
const attempts = 3

// open opens the database of a folder that is whole. The caller holds the folder's
// lock.
//
// Badger can end the whole process over a damaged file. The marker beside the
// folder counts the openings that never came to an end.
func open(dir string, log zerolog.Logger) (*badger.DB, error) {
	in, err := check(dir)
	if err != nil {
		return nil, err
	}
	if err := prepareFolder(dir); err != nil {
		return nil, denied(dir, err)
	}
	err = dropIdle(dir)
	if err == nil {
		err = in.trim()
	}
	if err == nil {
		err = makeRoomToOpen(dir)
	}
	if err != nil {
		return nil, denied(dir, err)
	}
	marker := dir + ".opening"
	if err := os.WriteFile(marker, []byte(strconv.Itoa(readCount(marker)+1)), 0o600); err != nil {
		return nil, fmt.Errorf("mark the opening of the store: %w", err)
	}
	db, err := badger.OpenManaged(badgerOptions(dir, log).WithNumMemtables(waitingLogs(len(in.logs))))
	if rm := os.Remove(marker); err == nil && rm != nil {
		err = errors.Join(rm, db.Close())
	}
	switch {
	case err == nil:
		return db, nil
	case isDamage(err):
		return nil, &Damage{dir, []string{err.Error()}}
	}
	return nil, denied(dir, err)
}

// check judges a store before it is opened, and changes nothing. It looks for what
// Badger would end the process over, or would take for less than there was.
func check(dir string) (*inspection, error) {
	in, err := inspect(dir, nil)
	n := readCount(dir + ".opening")
	switch {
	case err != nil:
		return nil, denied(dir, err)
	case in.empty && wasThere(dir):
		return nil, &Damage{dir, []string{"the folder is empty or missing, and there was a store in it"}}
	case len(in.found) == 0 && n >= attempts:
		in.add("opening it ended the process %d times", n)
	}
	return in, in.damage()
}

// The file of the lock says whether there was a store once.
const knownText = "There is a store in the folder beside this file.\n"

func wasThere(dir string) bool {
	b, err := os.ReadFile(dir + ".lock")
	return err == nil && len(b) > 0
}

// SetAside moves a store away, so that the next opening begins with an empty one.
// It returns the new place of the old store, or an empty string if there was none.
// It is [ErrInUse] while the store is open.
func SetAside(dir string) (string, error) {
	lock, err := lockFolder(dir)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	moved, err := moveAside(dir, "aside")
	if err == nil {
		err = errors.Join(lock.Truncate(0), lock.Sync())
	}
	if err == nil {
		err = os.Remove(dir + ".opening")
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return moved, err
}

// MoveAside gives a folder another name, and returns that; empty: it is not there.
func MoveAside(dir string) (string, error) { return moveAside(dir, "aside") }

// moveAside gives a folder another name, and returns that; empty: it is not there.
func moveAside(dir, what string) (string, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	at := fmt.Sprintf("%s.%s-%s", dir, what, time.Now().UTC().Format("20060102T150405Z"))
	to := at
	for i := 1; ; i++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = fmt.Sprintf("%s.%d", at, i)
	}
	if err := os.Rename(dir, to); err != nil {
		return "", fmt.Errorf("move the store aside: %w", err)
	}
	return to, syncFile(filepath.Dir(dir))
}

// CheckBadger returns what is wrong with the database of a folder, and changes
// nothing. It is [ErrInUse] while the database is open.
func CheckBadger(dir string) error {
	lock, err := lockFolder(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	_, err = check(dir)
	return err
}

// badgerOptions keeps the database small: what it holds is small. Memory for building
// tables grows with them, so they stay small on all levels. Most of what is written in
// large numbers is sealed, and cannot be compressed; blocks that are not compressed are
// read where the table is mapped, and need no cache.
func badgerOptions(dir string, log zerolog.Logger) badger.Options {
	o := badger.DefaultOptions(dir)
	o.TableSizeMultiplier = 1
	return o.
		WithLogger(badgerLog{log}).
		WithSyncWrites(false).
		WithDetectConflicts(false). // there is one writer
		WithMemTableSize(memTable).
		WithNumMemtables(memTables).
		WithNumLevelZeroTables(2).
		WithNumLevelZeroTablesStall(6).
		WithBaseTableSize(2 << 20).
		WithBaseLevelSize(16 << 20).
		WithCompression(options.None).
		WithBlockCacheSize(0).
		WithIndexCacheSize(4 << 20).
		WithValueLogFileSize(1 << 20). // it stays empty: no value is as large as the threshold
		WithNumCompactors(2).
		WithValueThreshold(1 << 20).
		WithChecksumVerificationMode(options.NoVerification) // all of it was read before
}

// lockPatience is how long a lock is waited for. A process that is being started has the
// open files of the one that starts it, and so its locks, until its own program runs.
const lockPatience = 500 * time.Millisecond

// lockFolder makes sure that no other process opens the store. The lock goes
// with the process, however it ends.
func lockFolder(dir string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("create the data folder: %w", err)
	}
	f, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	for until := time.Now().Add(lockPatience); errors.Is(err, syscall.EWOULDBLOCK) && time.Now().Before(until); {
		time.Sleep(lockPatience / 50)
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("open %s: %w", dir, ErrInUse)
		}
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	return f, nil
}

// prepareFolder makes a folder that only its owner can look into.
func prepareFolder(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("create the store's folder: %w", err)
	}
	return nil
}

// readCount reads the marker. One that does not say a number counts as one.
func readCount(marker string) int {
	b, err := os.ReadFile(marker)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 1
	}
	return n
}

// badgerLog gives Badger's words to our log.
type badgerLog struct{ log zerolog.Logger }

func (l badgerLog) Errorf(f string, a ...any)   { l.say(l.log.Error(), f, a) }
func (l badgerLog) Warningf(f string, a ...any) { l.say(l.log.Warn(), f, a) }
func (l badgerLog) Infof(f string, a ...any)    { l.say(l.log.Debug(), f, a) }
func (l badgerLog) Debugf(f string, a ...any)   { l.say(l.log.Trace(), f, a) }

func (badgerLog) say(e *zerolog.Event, f string, a []any) {
	if e.Enabled() {
		e.Str("from", "badger").Msg(strings.TrimSpace(fmt.Sprintf(f, a...)))
	}
}
