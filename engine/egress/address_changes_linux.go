package egress

import (
	"errors"

	"golang.org/x/sys/unix"
)

// addressChanges asks the kernel to report addresses that come and go. What it has
// to tell is read when somebody wants to know: one call while nothing changes.
func addressChanges() (changed func() bool, end func()) {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return everySecond(), func() {}
	}
	if err := unix.Bind(s, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR}); err != nil {
		unix.Close(s)
		return everySecond(), func() {}
	}
	buffer := make([]byte, 4096)
	return func() bool {
		for news := false; ; news = true {
			_, _, err := unix.Recvfrom(s, buffer, unix.MSG_DONTWAIT)
			switch {
			case errors.Is(err, unix.EAGAIN):
				return news
			case err != nil && !errors.Is(err, unix.EINTR): // such as ENOBUFS: there was more than it keeps
				return true
			}
		}
	}, func() { unix.Close(s) }
}
