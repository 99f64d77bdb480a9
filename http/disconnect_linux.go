package http

import "golang.org/x/sys/unix"

// disconnected returns those whose clients have closed their side or were reset.
func disconnected(all []*waitingConn) (lost []*waitingConn) {
	const ends = unix.POLLRDHUP | unix.POLLHUP | unix.POLLERR | unix.POLLNVAL
	fds := make([]unix.PollFd, len(all))
	for i, one := range all {
		fds[i] = unix.PollFd{Fd: int32(one.fd), Events: unix.POLLRDHUP}
	}
	if n, err := unix.Poll(fds, 0); err != nil || n == 0 {
		return nil // interrupted: the next tick looks again
	}
	for i, fd := range fds {
		if fd.Revents&ends != 0 {
			lost = append(lost, all[i])
		}
	}
	return lost
}
