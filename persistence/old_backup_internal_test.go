package persistence

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Earlier versions wrote backups of this form, which are still restored.

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
