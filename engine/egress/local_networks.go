package egress

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// A public address is behind the machine's firewall where it is the machine's own,
// or one of a network that the machine is on: what comes from here does not go
// through what guards it from the internet.

// localNetworks is what the machine's interfaces have at present: their addresses
// and the networks that these are in.
type localNetworks struct {
	list    func() ([]net.Addr, error)
	changed func() bool // whether the list may be another than at the last call
	close   func()

	mu       sync.Mutex
	prefixes []netip.Prefix
}

func newLocalNetworks(list func() ([]net.Addr, error), log zerolog.Logger) *localNetworks {
	n := &localNetworks{list: list}
	n.changed, n.close = addressChanges()
	if err := n.read(); err != nil {
		log.Warn().Err(err).Msg("the addresses of this machine cannot be listed: pages can reach those that are public")
	}
	return n
}

// everySecond is when to look where no changes are reported.
func everySecond() func() bool {
	var last time.Time
	return func() bool {
		if time.Since(last) < time.Second {
			return false
		}
		last = time.Now()
		return true
	}
}

// has reports whether an address is one of the machine's, or of a network that it
// is on.
func (n *localNetworks) has(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed() {
		_ = n.read() // what was known before still holds
	}
	for _, p := range n.prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// end ends the watching; nothing is looked at any more.
func (n *localNetworks) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.close()
	n.changed, n.close = func() bool { return false }, func() {}
}

func (n *localNetworks) read() error {
	all, err := n.list()
	if err != nil {
		return err
	}
	n.prefixes = n.prefixes[:0]
	for _, a := range all {
		ip, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		addr, ok := netip.AddrFromSlice(ip.IP)
		if !ok {
			continue
		}
		addr = addr.Unmap()
		ones, _ := ip.Mask.Size()
		n.prefixes = append(n.prefixes, netip.PrefixFrom(addr, addr.BitLen()))
		if p, err := addr.Prefix(networkBits(addr, ones)); err == nil {
			n.prefixes = append(n.prefixes, p)
		}
	}
	return nil
}

// networkBits is how many bits the network of an address has. In IPv6 it is never
// less than the 64 bits of a host: where addresses come from DHCP, the address
// itself does not tell. A mask that spans a great part of the internet is that of a
// tunnel and no network.
func networkBits(a netip.Addr, ones int) int {
	least, most := 16, 32
	if a.Is6() {
		least, most = 32, 64
	}
	if ones < least {
		return a.BitLen()
	}
	return min(ones, most)
}
