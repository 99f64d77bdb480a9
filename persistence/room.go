package persistence

import (
	"errors"
	"strings"
	"syscall"
)

// noRoom are the errors of a disk that is full, and of a user, group or project whose quota
// is used up: whoever writes can do the same about both.
var noRoom = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT}

// NoRoom reports whether something could not be written because the disk is full, or a quota
// used up. Badger keeps only the text of the errors that it wraps, so the text can tell, too.
func NoRoom(err error) bool {
	if err == nil {
		return false
	}
	for _, no := range noRoom {
		if errors.Is(err, no) || strings.Contains(err.Error(), no.Error()) {
			return true
		}
	}
	return errors.Is(err, ErrFull)
}
