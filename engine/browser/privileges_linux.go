package browser

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// startPlain starts a command that can gain no privileges, nor can anything that
// it starts: programs with a setuid bit run without it. It does not notice changes
// of the network either. A thread that gives this
// up cannot have it back, so one is made for it and ends with the start: the
// runtime keeps it apart from all others, and makes none from it.
func startPlain(cmd *exec.Cmd, log zerolog.Logger) error {
	done := make(chan error, 1)
	go onOwnThread(func() {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			done <- fmt.Errorf("giving up new privileges: %w", err)
			return
		}
		if err := deafToNetwork(); err != nil {
			log.Debug().Err(err).Msg("requests of pages fail when the machine's network changes")
		}
		done <- startChild(cmd)
	})
	return <-done
}

// onOwnThread runs f on a thread that ends with it. The process's first thread
// cannot end, and says in /proc what the process is: f runs on another.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return // without unlocking: that ends the thread
	}
	defer runtime.UnlockOSThread()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		onOwnThread(f)
	}()
	<-ended
}

// keepDescriptors lets no program that is started from now on have a file of
// ours, unless it is handed over. Go opens its own so; what the service was
// started with may be open to the next process.
func keepDescriptors() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil { // before Linux 5.11
		keepEach("/proc/self/fd")
	}
}
