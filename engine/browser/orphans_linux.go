package browser

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// When a browser's main process ends, its helpers become orphans. The kernel gives them to
// the first process of the container, or to the nearest one above that has asked for them,
// and keeps what has ended until that process has seen it. [ReapOrphans] does this. It must
// not see the end of a program that this process has started itself: who started it waits
// for that.
var started = struct {
	sync.Mutex // held while a program is started and not yet among the pids
	pids       map[int]bool
	ended      chan struct{} // holds one: somebody has seen the end of his own
}{pids: map[int]bool{}, ended: make(chan struct{}, 1)}

// startChild starts a program that waitChild will wait for.
func startChild(cmd *exec.Cmd) error {
	started.Lock()
	defer started.Unlock()
	err := cmd.Start()
	if err == nil {
		started.pids[cmd.Process.Pid] = true
	}
	return err
}

func waitChild(cmd *exec.Cmd) {
	_ = cmd.Wait() // how it ended is in ProcessState
	started.Lock()
	delete(started.pids, cmd.Process.Pid)
	started.Unlock()
	select {
	case started.ended <- struct{}{}:
	default:
	}
}

// ReapOrphans has the kernel give this process what its browsers leave behind, and sees to
// it that nothing of that stays as a zombie, until stop is called. No other code of the
// process may start programs meanwhile: their ends could be taken away from it.
func ReapOrphans() (stop func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("asking for orphans: %w", err)
	}
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			reapAll()
			select {
			case <-children:
			case <-started.ended:
			case <-end:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(children)
		close(end)
		<-ended
		reapAll()
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) // it can fail no more than above
	}), nil
}

// reapAll sees the end of each orphan that has ended. The kernel shows one process at a
// time: where that is one of our own, whoever waits for it calls again.
func reapAll() {
	started.Lock()
	defer started.Unlock()
	for {
		pid := endedChild()
		if pid <= 0 || started.pids[pid] {
			return
		}
		if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err != nil && err != unix.EINTR {
			return
		}
	}
}

// endedChild is a child of this process that has ended and that nobody has waited for. It
// stays so. Zero: there is none.
func endedChild() int {
	var info [128]byte // siginfo_t: three numbers, then on 64 bits a gap, then the process
	for {
		_, _, no := unix.Syscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, 0, 0)
		switch no {
		case 0:
			at := 12
			if unsafe.Sizeof(uintptr(0)) == 8 {
				at = 16
			}
			return int(*(*int32)(unsafe.Pointer(&info[at])))
		case unix.EINTR:
		default: // ECHILD: there are no children
			return 0
		}
	}
}
