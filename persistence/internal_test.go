package persistence

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4/y"
)

// A reader never sees an expired record, whether or not the writer has come to
// removing it.
func TestReadersSeeNoExpiredRecord(t *testing.T) {
	ctx := context.Background()
	b, err := OpenBadger(filepath.Join(t.TempDir(), "db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	txn := b.db.NewTransactionAt(b.version, true) // past the writer, which does nothing now
	defer txn.Discard()
	if err := txn.Set(keyOf("k"), encode([]byte("v"), 1, stamp(time.Now().Add(-time.Second)))); err != nil {
		t.Fatal(err)
	}
	if err := b.keep(txn, nil); err != nil {
		t.Fatal(err)
	}
	if r, err := b.Get(ctx, "k"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Get = %+v, %v", r, err)
	}
	if list, err := b.List(ctx, ""); len(list) != 0 || err != nil {
		t.Errorf("List = %+v, %v", list, err)
	}
}

func TestDamageIsToldFromFaultsOfTheMachine(t *testing.T) {
	for err, want := range map[error]bool{
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}:                         false,
		fmt.Errorf("write: %w", syscall.ENOSPC):                                           false,
		os.NewSyscallError("mmap", syscall.ENOMEM):                                        false,
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}:                         false,
		y.Wrapf(y.Wrap(syscall.EMFILE, "open"), "while opening fid: %d", 3):               false,
		&fs.PathError{Op: "read", Path: "x", Err: syscall.EIO}:                            false,
		errors.New("Cannot acquire directory lock on x. Another process is using"):        false,
		&fs.PathError{Op: "open", Path: "1.sst", Err: syscall.ENOENT}:                     true,
		fmt.Errorf("while opening 1.mem: %w", os.NewSyscallError("mmap", syscall.EINVAL)): true,
		errors.New("failed to verify checksum"):                                           true,
	} {
		if isDamage(err) != want {
			t.Errorf("isDamage(%v) = %v", err, !want)
		}
	}
}

// What was read before a change is not remembered after it.
func TestCacheForgetsWhatChangedMeanwhile(t *testing.T) {
	var c tokenCache
	c.set(func() { c.following = true })
	sum := sha256.Sum256([]byte("token"))
	for _, changed := range []bool{true, false} {
		_, generation, _ := c.get(sum)
		if changed {
			c.clear()
		}
		c.put(sum, Account{ID: "bob"}, generation)
		if _, _, known := c.get(sum); known == changed {
			t.Errorf("changed meanwhile: %v; remembered: %v", changed, known)
		}
	}
}
