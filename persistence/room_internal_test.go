package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

// TestNoRoom: a used-up quota is to everybody what a full disk is, also where only the text of
// an error is left.
func TestNoRoom(t *testing.T) {
	for _, no := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		for _, err := range []error{
			no, &fs.PathError{Op: "write", Path: "/data/1.blk", Err: no}, fmt.Errorf("write to the store: %w", no), errors.Join(errors.New("other"), no),
			errors.New("while opening memtables: " + no.Error()),
		} {
			if !NoRoom(err) {
				t.Errorf("%q is not known as a full disk", err)
			}
			if got := Unwritten(err); !errors.Is(got, ErrFull) || errors.Is(got, ErrUnwritable) {
				t.Errorf("%q becomes %q", err, got)
			}
			if isDamage(err) {
				t.Errorf("%q is taken for damage", err)
			}
		}
	}
	for _, err := range []error{nil, errors.New("full of it"), syscall.EIO, syscall.EACCES, ErrUnwritable, ErrDamaged} {
		if NoRoom(err) {
			t.Errorf("%v is taken for a full disk", err)
		}
	}
	if !NoRoom(fmt.Errorf("put: %w", ErrFull)) {
		t.Error("ErrFull is not known as a full disk")
	}
}
