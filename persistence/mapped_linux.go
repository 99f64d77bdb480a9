package persistence

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
	_ "unsafe" // for go:linkname
)

// Badger grows each of its files without giving it blocks, maps it and writes to
// the mapping. Where the disk has no block for a page then, there is no error:
// the kernel ends the process (SIGBUS). Neither Badger nor the package that maps
// for it can be told to do otherwise, so the one function that both map with is
// given another one to call: it gives a file its blocks first, and a full disk is
// an error, or something to wait for.

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
			name, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
			if filepath.Base(name) == discardName { // nothing of ours, and each opening makes it anew
				return plain(addr, length, prot, flags&^syscall.MAP_SHARED|syscall.MAP_PRIVATE, fd, offset)
			}
			if err := allocateMapped(fd, offset, int64(length), filepath.Ext(name) == ".sst"); err != nil {
				return 0, err
			}
		}
		return plain(addr, length, prot, flags, fd, offset)
	}
}

// allocateMapped gives a part of a file its blocks. For a table it waits until the disk has
// them: a compaction that fails is tried again from its beginning, with all that it reads.
// Nothing but more tables waits for that meanwhile.
func allocateMapped(fd int, offset, length int64, table bool) error {
	var file syscall.Stat_t
	if err := syscall.Fstat(fd, &file); err != nil {
		return err
	}
	if file.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil
	}
	for {
		err := fallocate(fd, offset, length)
		if !table || !NoRoom(err) {
			return err
		}
		time.Sleep(tableAgain)
	}
}

// tableAgain is how often it is tried whether the disk takes a table.
const tableAgain = 50 * time.Millisecond
