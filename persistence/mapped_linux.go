package persistence

import (
	"sync"
	"syscall"
	_ "unsafe" // for go:linkname
)

// Badger grows each of its files without giving it blocks, maps it and writes to
// the mapping. Where the disk has no block for a page then, there is no error:
// the kernel ends the process (SIGBUS). Neither Badger nor the package that maps
// for it can be told to do otherwise, so the one function that both map with is
// given another one to call: it gives a file its blocks first, and a full disk is
// an error of the mapping, which Badger deals with.

// mmapper has the layout of its namesake in golang.org/x/sys/unix.
type mmapper struct {
	sync.Mutex
	_    map[*byte][]byte
	mmap func(addr, length uintptr, prot, flags, fd int, offset int64) (uintptr, error)
	_    func(addr, length uintptr) error
}

//go:linkname mapper golang.org/x/sys/unix.mapper
var mapper *mmapper

func init() {
	plain := mapper.mmap
	mapper.mmap = func(addr, length uintptr, prot, flags, fd int, offset int64) (uintptr, error) {
		if prot&syscall.PROT_WRITE != 0 && flags&syscall.MAP_SHARED != 0 && flags&syscall.MAP_ANONYMOUS == 0 {
			if err := allocateMapped(fd, offset, int64(length)); err != nil {
				return 0, err
			}
		}
		return plain(addr, length, prot, flags, fd, offset)
	}
}

// allocateMapped gives a part of a file its blocks. What a file that had none got
// before the disk was full is given back: nobody would.
func allocateMapped(fd int, offset, length int64) error {
	var before syscall.Stat_t
	if err := syscall.Fstat(fd, &before); err != nil {
		return err
	}
	if before.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil
	}
	err := fallocate(fd, offset, length)
	if err != nil && before.Blocks == 0 {
		_ = syscall.Ftruncate(fd, 0)
	}
	return err
}
