package browser

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deafToNetwork keeps this thread, and what it starts, from noticing changes of the machine's
// network. When any address changes, as with every container that starts on the machine, a
// browser drops the connections that it is making, and pages see failed requests
// (ERR_NETWORK_CHANGED). Ours connect only to a proxy on the same machine, which no such change
// affects, and Chromium has no setting for that. Where it cannot open the socket that reports
// changes, it assumes that the network never changes. It opens that one as SOCK_RAW alone. The
// C library adds flags to its own, which only list addresses, and these stay.
func deafToNetwork() error {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("filter calls: there is no filter for %s", runtime.GOARCH)
	}
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	unless := func(k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: skip}
	}
	give := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	// The places are those of struct seccomp_data: its architecture, the call, and the lower
	// halves of the call's arguments.
	program := []unix.SockFilter{
		load(4), unless(arch, 9),
		load(0), unless(unix.SYS_SOCKET, 7),
		load(16), unless(unix.AF_NETLINK, 5),
		load(24), unless(unix.SOCK_RAW, 3),
		load(32), unless(unix.NETLINK_ROUTE, 1),
		give(unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)),
		give(unix.SECCOMP_RET_ALLOW),
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// Without SPEC_ALLOW older kernels make everything that has a filter slower.
	_, _, wrong := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&filter)))
	if wrong != 0 {
		return fmt.Errorf("filter calls: %w", wrong)
	}
	return nil
}
