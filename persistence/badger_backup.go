package persistence

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/rs/zerolog"
)

// Earlier versions wrote a backup of the records to one file: a line that says what it is, the
// records, and a sum of it all. Lengths and times are numbers as encoding/binary's Uvarint. A length of 0 for a
// key ends the records, and the bound of the revisions follows it.
const backupHead = "troupe store backup 1\n"

// ErrNoBackup: the file is no backup, or not a whole one.
var ErrNoBackup = errors.New("the file is not a complete backup")

// RecoverBadger makes a store of all that can be read of another one, such as a copy that was
// made while a process used it. What is in the place of the new one is moved aside; it may be
// the other one itself.
func RecoverBadger(from, dir string, log zerolog.Logger) (*Repair, error) {
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if from != dir {
		other, err := lockFolder(from)
		if err != nil {
			return nil, err
		}
		defer other.Close()
	}
	r := &Repair{Kept: map[string]int64{}, Lost: map[string]int64{}, Expired: map[string]int64{}}
	var d *Damage
	if _, err := check(from); errors.As(err, &d) {
		r.Found = d.Found
	} else if err != nil {
		return nil, err
	}
	all, err := r.recoverRecords(from)
	if err != nil {
		return nil, denied(from, err)
	}
	r.Exact = false // what the process had not written yet is not in a copy
	made := dir + ".repaired"
	if err := os.RemoveAll(made); err != nil {
		return nil, fmt.Errorf("remove what an interrupted repair has left: %w", err)
	}
	if err := rebuild(made, all, r, log); err != nil {
		return nil, fmt.Errorf("make the store: %w", errors.Join(err, os.RemoveAll(made)))
	}
	return r, swap(dir, made, r, "aside")
}

// RestoreBadger makes the store of a backup, and moves the one that is there
// aside. It counts the records by their kind.
func RestoreBadger(dir, file string, log zerolog.Logger) (n map[string]int64, aside string, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, "", err
	}
	all, n, err := readBackup(data)
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", file, err)
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, "", err
	}
	defer lock.Close()
	made := dir + ".repaired"
	if err := os.RemoveAll(made); err != nil {
		return nil, "", fmt.Errorf("remove what an interrupted repair has left: %w", err)
	}
	r := &Repair{Kept: n}
	if err := rebuild(made, all, r, log); err != nil {
		return nil, "", fmt.Errorf("make the store: %w", errors.Join(err, os.RemoveAll(made)))
	}
	err = swap(dir, made, r, "aside")
	return n, r.Aside, err
}

// readBackup reads a backup that is whole.
func readBackup(data []byte) (*recovered, map[string]int64, error) {
	end := len(data) - sha256.Size
	if end < 0 || !bytes.HasPrefix(data, []byte(backupHead)) {
		return nil, nil, ErrNoBackup
	}
	if sum := sha256.Sum256(data[:end]); !bytes.Equal(sum[:], data[end:]) {
		return nil, nil, ErrNoBackup
	}
	all, n := &recovered{newest: map[string]version{}}, map[string]int64{}
	err := sound(func() error {
		rest := data[len(backupHead):end]
		number := func() uint64 {
			v, k := binary.Uvarint(rest)
			if k <= 0 {
				panic("there is no number")
			}
			rest = rest[k:]
			return v
		}
		text := func() []byte {
			size := number()
			b := rest[:size]
			rest = rest[size:]
			return b
		}
		for {
			key := string(text())
			if key == "" {
				if all.bound = number(); len(rest) > 0 {
					return errors.New("data follows the end")
				}
				return nil
			}
			v := version{key: key, expires: number()}
			v.value = text()
			all.newest[key] = v
			name, _ := cutRecord(key)
			n[kindOf(name)]++
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrNoBackup, err)
	}
	return all, n, nil
}
