package browser

import (
	"io"
	"os"
	"syscall"
	"unsafe"
)

// quietPipe is an end of the browser's pipe that is read and written without a word to
// Go's scheduler. By itself, each call tells it that something else may have to take over
// meanwhile, and wakes the thread that watches over that from its rest. Calls that never
// block need no such watch. Browsers send so many short messages that the thread took a
// fifth of the service's own processor time.
type quietPipe struct {
	*os.File
	raw syscall.RawConn
}

// quiet makes a quiet one of an end of a pipe, if calls to it never block.
func quiet(f *os.File) io.ReadWriteCloser {
	var flags uintptr
	raw, err := f.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { flags, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0) })
	}
	if err != nil || flags&syscall.O_NONBLOCK == 0 {
		return f
	}
	return &quietPipe{f, raw}
}

func (p *quietPipe) Read(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	if n, err = p.call(p.raw.Read, syscall.SYS_READ, b); n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

func (p *quietPipe) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var more int
		more, err = p.call(p.raw.Write, syscall.SYS_WRITE, b[n:])
		n += more
	}
	return n, err
}

// call makes a call once the pipe is ready for it.
func (p *quietPipe) call(ready func(func(fd uintptr) bool) error, number uintptr, b []byte) (n int, err error) {
	var failed syscall.Errno
	err = ready(func(fd uintptr) bool {
		if number == syscall.SYS_WRITE {
			writes(fd)
		}
		for {
			r, _, e := syscall.RawSyscall(number, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
			switch e {
			case syscall.EINTR:
				continue
			case syscall.EAGAIN:
				return false
			case 0:
				n = int(r)
				if number == syscall.SYS_READ {
					hasRead(fd)
				}
			default:
				failed = e
			}
			return true
		}
	})
	switch {
	case err != nil: // nothing has a deadline here
		return 0, os.ErrClosed
	case failed != 0:
		return 0, failed
	}
	return n, nil
}
