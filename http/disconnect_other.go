//go:build !linux

package http

import "golang.org/x/sys/unix"

// disconnected returns those whose clients have disconnected. Systems other than
// Linux do not report a closed side while bytes are unread (a request that the
// client sent ahead), so such a client is detected only when writing its answer
// fails.
func disconnected(all []*waitingConn) (lost []*waitingConn) {
	var b [1]byte
	for _, one := range all {
		n, _, err := unix.Recvfrom(one.fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if n == 0 && err == nil || err != nil && err != unix.EAGAIN && err != unix.EINTR {
			lost = append(lost, one)
		}
	}
	return lost
}
