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

// openOrQuarantine opens the database, and moves it aside first if it is
// damaged. The caller holds the folder's lock.
//
// Badger can end the whole process over a damaged file. The marker beside the
// folder counts the openings that never came to an end.
func openOrQuarantine(dir string, log zerolog.Logger) (*badger.DB, string, error) {
	marker := dir + ".opening"
	unfinished := readCount(marker)
	damage := damaged(dir)
	if damage == nil && unfinished >= attempts {
		damage = fmt.Errorf("opening it ended the process %d times", unfinished)
	}
	var moved string
	for {
		if damage != nil {
			if moved != "" {
				return nil, "", fmt.Errorf("open the store in %s: %w", dir, damage)
			}
			var err error
			if moved, err = quarantine(dir); err != nil {
				return nil, "", err
			}
			unfinished = 0
			log.Error().Err(damage).Str("moved", moved).Msg("the store is damaged and was moved aside; starting with an empty one")
		}
		if err := prepareFolder(dir); err != nil {
			return nil, "", err
		}
		if err := os.WriteFile(marker, []byte(strconv.Itoa(unfinished+1)), 0o600); err != nil {
			return nil, "", fmt.Errorf("mark the opening of the store: %w", err)
		}
		db, err := badger.Open(badgerOptions(dir, log))
		if rm := os.Remove(marker); err == nil && rm != nil {
			err = errors.Join(rm, db.Close())
		}
		if err == nil {
			return db, moved, nil
		}
		if !isDamage(err) {
			return nil, "", fmt.Errorf("open the store in %s: %w", dir, err)
		}
		damage = err
	}
}

// CheckBadger says what is wrong with the database of a folder, and changes
// nothing. It is [ErrInUse] while somebody has it open.
func CheckBadger(dir string) error {
	lock, err := lockFolder(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if n := readCount(dir + ".opening"); n >= attempts {
		return fmt.Errorf("opening it ended the process %d times", n)
	}
	return damaged(dir)
}

// badgerOptions keeps the database small: what it holds is small.
func badgerOptions(dir string, log zerolog.Logger) badger.Options {
	return badger.DefaultOptions(dir).
		WithLogger(badgerLog{log}).
		WithSyncWrites(false).
		WithDetectConflicts(false). // there is one writer
		WithMemTableSize(8 << 20).
		WithNumMemtables(2).
		WithNumLevelZeroTables(2).
		WithNumLevelZeroTablesStall(6).
		WithBaseTableSize(2 << 20).
		WithBaseLevelSize(8 << 20).
		WithBlockCacheSize(8 << 20).
		WithIndexCacheSize(4 << 20).
		WithValueLogFileSize(16 << 20).
		WithNumCompactors(2).
		WithValueThreshold(1 << 20).
		WithChecksumVerificationMode(options.OnTableRead)
}

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
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
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

// quarantine moves the folder aside and returns where it is.
func quarantine(dir string) (string, error) {
	to := fmt.Sprintf("%s.quarantine-%d", dir, time.Now().Unix())
	for i := 1; ; i++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = fmt.Sprintf("%s.quarantine-%d.%d", dir, time.Now().Unix(), i)
	}
	if err := os.Rename(dir, to); err != nil {
		return "", fmt.Errorf("move the damaged store aside: %w", err)
	}
	return to, nil
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
