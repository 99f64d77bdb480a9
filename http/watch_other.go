//go:build !linux

package http

import "golang.org/x/sys/unix"

// gone returns those whose clients are gone. Other systems than Linux do not
// tell of a closed side while bytes are unread (a request that the client sent
// ahead), so such a client is noticed only when its answer cannot be written.
func gone(all []*watched) (lost []*watched) {
	var b [1]byte
	for _, one := range all {
		n, _, err := unix.Recvfrom(one.fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if n == 0 && err == nil || err != nil && err != unix.EAGAIN && err != unix.EINTR {
			lost = append(lost, one)
		}
	}
	return lost
}
