package egress

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// askers are the ways, the cheap one first. A kernel may have been made without
// it, and a sandbox around the service may forbid it.
var askers = []asker{askDiag, askTable}

// Sizes and places in the messages of linux/inet_diag.h.
const (
	diagHead     = unix.NLMSG_HDRLEN
	diagRequest  = diagHead + 56
	diagAnswer   = diagHead + 72
	diagPorts    = diagHead + 4 // of the answer: sport, dport
	diagUser     = diagHead + 64
	diagInode    = diagHead + 68
	diagNoCookie = ^uint32(0)
)

// askDiag asks for the one socket (SOCK_DIAG_BY_FAMILY): the kernel looks it up
// in its table and answers at once.
func askDiag(from, to netip.AddrPort) (uint32, error) {
	if !from.Addr().Is4() || !to.Addr().Is4() {
		return 0, errNoCaller
	}
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, fmt.Errorf("ask the kernel for a socket's owner: %w", err)
	}
	defer unix.Close(s)

	q := make([]byte, diagRequest)
	native := binary.NativeEndian
	native.PutUint32(q, diagRequest)
	native.PutUint16(q[4:], unix.SOCK_DIAG_BY_FAMILY)
	native.PutUint16(q[6:], unix.NLM_F_REQUEST)
	b := q[diagHead:]
	b[0], b[1] = unix.AF_INET, unix.IPPROTO_TCP
	native.PutUint32(b[4:], ^uint32(0)) // in any state
	binary.BigEndian.PutUint16(b[8:], from.Port())
	binary.BigEndian.PutUint16(b[10:], to.Port())
	copy(b[12:], from.Addr().AsSlice())
	copy(b[28:], to.Addr().AsSlice())
	native.PutUint32(b[48:], diagNoCookie)
	native.PutUint32(b[52:], diagNoCookie)
	if err := unix.Sendto(s, q, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("ask the kernel for a socket's owner: %w", err)
	}
	a := make([]byte, 512)
	n, _, err := unix.Recvfrom(s, a, unix.MSG_DONTWAIT) // it has answered before the question returned
	if err != nil {
		return 0, fmt.Errorf("ask the kernel for a socket's owner: %w", err)
	}
	if n < diagAnswer || native.Uint16(a[4:]) != unix.SOCK_DIAG_BY_FAMILY {
		return 0, errNoCaller
	}
	// Where the socket is gone, one that listens on its port may be answered.
	if binary.BigEndian.Uint16(a[diagPorts:]) != from.Port() || binary.BigEndian.Uint16(a[diagPorts+2:]) != to.Port() || native.Uint32(a[diagInode:]) == 0 {
		return 0, errNoCaller
	}
	return native.Uint32(a[diagUser:]), nil
}

// askTable reads the table of all sockets.
func askTable(from, to netip.AddrPort) (uint32, error) {
	f, err := os.Open("/proc/self/net/tcp")
	if err != nil {
		return 0, fmt.Errorf("look for a socket's owner: %w", err)
	}
	defer f.Close()
	return inTable(f, from, to)
}

// inTable finds a socket in the table. In it an address is as it lies in memory.
func inTable(r io.Reader, from, to netip.AddrPort) (uint32, error) {
	if !from.Addr().Is4() || !to.Addr().Is4() {
		return 0, errNoCaller
	}
	spelled := func(a netip.AddrPort) []byte {
		four := a.Addr().As4()
		return fmt.Appendf(nil, "%08X:%04X", binary.NativeEndian.Uint32(four[:]), a.Port())
	}
	local, remote := spelled(from), spelled(to)
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if f := bytes.Fields(line); len(f) > 9 && bytes.Equal(f[1], local) && bytes.Equal(f[2], remote) {
			user, err := strconv.ParseUint(string(f[7]), 10, 32)
			if err != nil || string(f[9]) == "0" {
				return 0, errNoCaller
			}
			return uint32(user), nil
		}
		if errors.Is(err, io.EOF) {
			return 0, errNoCaller
		}
		if err != nil {
			return 0, fmt.Errorf("look for a socket's owner: %w", err)
		}
	}
}
