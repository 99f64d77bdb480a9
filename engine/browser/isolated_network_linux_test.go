package browser_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolatedNetwork makes a network of its own out of a new network namespace: every address
// there is leads back to this machine, where nobody answers, and what is sent is
// seen. Names are asked for at 8.8.8.8, for which Chromium knows another way, too.
func isolatedNetwork(dir string) (*packetCapture, error) {
	if err := linkUp("lo"); err != nil {
		return nil, fmt.Errorf("set up loopback: %w", err)
	}
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		if err := everywhere(family); err != nil {
			return nil, fmt.Errorf("lead every address here: %w", err)
		}
	}
	conf := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(conf, []byte("nameserver 8.8.8.8\n"), 0o644); err != nil {
		return nil, err
	}
	target, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount(conf, target, "", unix.MS_BIND, "")); err != nil {
		return nil, fmt.Errorf("choose the name server: %w", err)
	}
	return capturePackets()
}

func linkUp(name string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}

// everywhere adds the route by which all addresses of a family are local.
func everywhere(family byte) error {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return err
	}
	native := binary.NativeEndian
	m := make([]byte, 16+12+8)
	native.PutUint32(m, uint32(len(m)))
	native.PutUint16(m[4:], unix.RTM_NEWROUTE)
	native.PutUint16(m[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE)
	m[16], m[20], m[21], m[22], m[23] = family, unix.RT_TABLE_LOCAL, unix.RTPROT_STATIC, unix.RT_SCOPE_HOST, unix.RTN_LOCAL
	native.PutUint16(m[28:], 8)
	native.PutUint16(m[30:], unix.RTA_OIF)
	native.PutUint32(m[32:], uint32(lo.Index))
	if err := unix.Sendto(s, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	a := make([]byte, 512)
	n, _, err := unix.Recvfrom(s, a, 0)
	if err != nil || n < 20 {
		return errors.Join(err, errors.New("no answer"))
	}
	if code := -int32(native.Uint32(a[16:])); code != 0 && syscall.Errno(code) != unix.EEXIST {
		return syscall.Errno(code)
	}
	return nil
}

// packetCapture sees every packet.
type packetCapture struct {
	mu   sync.Mutex
	seen map[string]int // what began: "tcp 8.8.8.8:443", "udp 8.8.8.8:53 example.com"
}

func capturePackets() (*packetCapture, error) {
	all := int(binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}))
	s, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM, all)
	if err != nil {
		return nil, fmt.Errorf("watch the packets: %w", err)
	}
	l := &packetCapture{seen: map[string]int{}}
	go func() {
		b := make([]byte, 64<<10)
		for {
			n, from, err := unix.Recvfrom(s, b, 0)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil {
				return
			}
			if a, ok := from.(*unix.SockaddrLinklayer); ok && a.Pkttype != unix.PACKET_OUTGOING {
				l.note(b[:n])
			}
		}
	}()
	return l, nil
}

// note writes down a packet that begins something: of TCP the first one, of all
// else each.
func (l *packetCapture) note(p []byte) {
	var to netip.Addr
	var kind byte
	var rest []byte
	switch {
	case len(p) >= 20 && p[0]>>4 == 4:
		to, _ = netip.AddrFromSlice(p[16:20])
		kind, rest = p[9], p[min(len(p), int(p[0]&15)*4):]
	case len(p) >= 40 && p[0]>>4 == 6:
		to, _ = netip.AddrFromSlice(p[24:40])
		kind, rest = p[6], p[40:]
	default:
		return
	}
	what := ""
	switch kind {
	case unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6: // the kernel's word on what is counted already
		return
	case unix.IPPROTO_TCP:
		const syn, ack = 2, 16
		if len(rest) < 14 || rest[13]&(syn|ack) != syn {
			return
		}
		what = "tcp"
	case unix.IPPROTO_UDP:
		what = "udp"
	default:
		what = fmt.Sprint("protocol ", kind)
	}
	port := uint16(0)
	if len(rest) >= 4 {
		port = binary.BigEndian.Uint16(rest[2:])
	}
	what = fmt.Sprintf("%s %s", what, netip.AddrPortFrom(to, port))
	if kind == unix.IPPROTO_UDP && port == 53 && len(rest) > 20 {
		what += fmt.Sprintf(" %q", rest[20:])
	}
	l.mu.Lock()
	l.seen[what]++
	l.mu.Unlock()
}

// besides is all that was seen but connections to one address.
func (l *packetCapture) besides(addr string) (all []string, there int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for what, n := range l.seen {
		if what == "tcp "+addr {
			there += n
			continue
		}
		all = append(all, fmt.Sprintf("%s (%d)", what, n))
	}
	return all, there
}
