package persistence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"google.golang.org/protobuf/proto"
)

// machine lists the faults that are none of the data.
var machine = []syscall.Errno{
	syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EMFILE, syscall.ENFILE,
	syscall.ENOMEM, syscall.EBUSY, syscall.EAGAIN, syscall.EINTR, syscall.EISDIR, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG,
}

// isDamage tells an error of the data from one of the machine. Badger keeps
// only the text of the errors that it wraps, so the text has to tell.
func isDamage(err error) bool {
	text := err.Error()
	for _, no := range machine {
		if strings.Contains(text, no.Error()) {
			return false
		}
	}
	return !strings.Contains(text, "Cannot acquire directory lock")
}

// damaged looks for what Badger would end the process over, or would take for
// an empty database.
func damaged(dir string) error {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		for _, kind := range []string{"*.sst", "*.mem", "*.vlog"} {
			if found, _ := filepath.Glob(filepath.Join(dir, kind)); len(found) > 0 && errors.Is(err, fs.ErrNotExist) {
				return errors.New("there are tables but no list of them")
			}
		}
		return nil // a new folder, or one whose opening will say what is wrong
	}
	defer f.Close()
	manifest, _, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(dir))
	if err != nil {
		return fmt.Errorf("list of tables: %w", err)
	}
	// Only tables in the list count: a kill may leave others half written,
	// which Badger removes.
	for id := range manifest.Tables {
		if err := checkTable(table.NewFilename(id, dir)); err != nil {
			return fmt.Errorf("table %d: %w", id, err)
		}
	}
	return nil
}

// checkTable reads the end of a table: the index, its length, its checksum and
// the checksum's length.
func checkTable(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var failed error
	back := func(n int64) []byte {
		if failed == nil && n > end {
			failed = errors.New("it is cut off")
		}
		if failed != nil {
			return make([]byte, 4)
		}
		end -= n
		b := make([]byte, n)
		_, failed = f.ReadAt(b, end)
		return b
	}
	sum := back(int64(binary.BigEndian.Uint32(back(4))))
	index := back(int64(binary.BigEndian.Uint32(back(4))))
	if failed != nil {
		return failed
	}
	var want pb.Checksum
	if err := proto.Unmarshal(sum, &want); err != nil {
		return fmt.Errorf("read its checksum: %w", err)
	}
	if want.Algo != pb.Checksum_CRC32C && want.Algo != pb.Checksum_XXHash64 {
		return errors.New("its checksum is of an unknown kind")
	}
	return y.VerifyChecksum(index, &want)
}
