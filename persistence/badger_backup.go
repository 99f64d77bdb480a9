package persistence

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"
)

// A backup is a line that says what it is, the records, and a sum of it all:
// lengths and times are numbers as encoding/binary's Uvarint. A length of 0 for a
// key ends the records, and the bound of the revisions follows it.
const backupHead = "troupe store backup 1\n"

// ErrNoBackup: the file is no backup, or not a whole one.
var ErrNoBackup = errors.New("the file is not a complete backup")

// BackupBadger writes all records of a store that is not open to a new file, and
// counts them by kind.
func BackupBadger(dir, file string) (n map[string]int64, err error) {
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if _, err := check(dir); err != nil {
		return nil, err
	}
	r := &Repair{Kept: map[string]int64{}, Lost: map[string]int64{}, Expired: map[string]int64{}}
	all, err := r.recoverRecords(dir)
	if err != nil {
		return nil, denied(dir, err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(file)
		}
	}()
	sum := sha256.New()
	buffered := bufio.NewWriter(f)
	out := io.MultiWriter(buffered, sum)
	_, err = io.WriteString(out, backupHead)
	for _, v := range all.newest {
		b := binary.AppendUvarint(nil, uint64(len(v.key)))
		b = append(b, v.key...)
		b = binary.AppendUvarint(b, v.expires)
		b = binary.AppendUvarint(b, uint64(len(v.value)))
		if err == nil {
			_, err = out.Write(append(b, v.value...))
		}
	}
	if err == nil {
		_, err = out.Write(binary.AppendUvarint([]byte{0}, all.bound))
	}
	if err == nil {
		_, err = buffered.Write(sum.Sum(nil))
	}
	return r.Kept, errors.Join(err, buffered.Flush(), f.Sync(), syncFile(filepath.Dir(file)))
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
