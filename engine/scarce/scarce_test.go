package scarce

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestOf: which errors say that something is used up. What is only not ready yet does not.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want What
	}{
		{nil, ""},
		{errors.New("no"), ""},
		{fs.ErrNotExist, ""},
		{&fs.PathError{Op: "open", Path: "/f", Err: syscall.ENOSPC}, ""},
		{&fs.PathError{Op: "open", Path: "/f", Err: syscall.EMFILE}, Descriptors},
		{fmt.Errorf("keep a file: %w", &fs.PathError{Op: "open", Path: "/f", Err: syscall.ENFILE}), Descriptors},
		{&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}, Descriptors},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}, Descriptors},
		{os.NewSyscallError("pipe2", syscall.EMFILE), Descriptors},
		{&fs.PathError{Op: "fork/exec", Path: "/chrome", Err: syscall.EAGAIN}, Processes},
		{fmt.Errorf("start: %w", &fs.PathError{Op: "fork/exec", Path: "/chrome", Err: syscall.EAGAIN}), Processes},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.EAGAIN)}, ""},
		{os.NewSyscallError("mmap", syscall.ENOMEM), Memory},
		{&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.ENOBUFS)}, Memory},
	} {
		if got := Of(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

// TestItIsToldOnceAMinute: each thing by itself, with how often it has happened.
func TestItIsToldOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Counts
		_ = c.Note("before", syscall.EMFILE)
		var told []string
		c.Tell(func(what What, doing string, number int64, _ error) {
			told = append(told, fmt.Sprintf("%s %s %d", what, doing, number))
		})
		for range 90 {
			_ = c.Note("accept", syscall.EMFILE)
			time.Sleep(time.Second)
		}
		_ = c.Note("map", syscall.ENOMEM)
		want := "[descriptors accept 1 descriptors accept 60 memory map 1]"
		if fmt.Sprint(told) != want {
			t.Errorf("told %v, want %s", told, want)
		}
		if n := c.Numbers(); n[Descriptors] != 91 || n[Memory] != 1 || n[Processes] != 0 || len(n) != len(All) {
			t.Errorf("counted %v", n)
		}
	})
}

// failing fails a few times, and then ends.
type failing struct {
	net.Listener
	errs []error
}

func (f *failing) Accept() (net.Conn, error) {
	err := f.errs[0]
	f.errs = f.errs[1:]
	if err == nil {
		c, _ := net.Pipe()
		return c, nil
	}
	return nil, &net.OpError{Op: "accept", Err: err}
}

// TestAListenerGoesOn: an error that passes does not end it.
func TestAListenerGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{errs: []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ECONNABORTED, nil, net.ErrClosed}}
		l := Listener{f, "accept"}
		before := Process.Numbers()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a listener that is closed: %v", err)
		}
		now := Process.Numbers()
		if now[Descriptors]-before[Descriptors] != 2 || now[Memory]-before[Memory] != 1 {
			t.Errorf("counted %v after %v", now, before)
		}
	})
}
