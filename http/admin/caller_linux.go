package admin

import (
	"fmt"
	"net"
	"syscall"
)

// callerOf names the user and the process at the other end of a private socket;
// empty: the system does not say.
func callerOf(c net.Conn) (caller string) {
	u, ok := c.(syscall.Conn)
	if !ok {
		return ""
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return ""
	}
	_ = raw.Control(func(fd uintptr) {
		if p, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			caller = fmt.Sprintf("user %d, process %d", p.Uid, p.Pid)
		}
	})
	return caller
}
