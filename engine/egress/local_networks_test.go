package egress

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/rs/zerolog"
)

// TestNetworksOfThisMachine: which addresses count as this machine's, for what its
// interfaces have.
func TestNetworksOfThisMachine(t *testing.T) {
	t.Parallel()
	var addrs []net.Addr
	for _, s := range []string{"1.1.1.1/32", "9.9.9.9/24", "5.5.5.5/1", "2a00:1::5/64", "2a00:2::5/128", "2a00:3:0:4::5/56", "2a00::9/8"} {
		ip, network, err := net.ParseCIDR(s)
		if err != nil {
			t.Fatal(err)
		}
		network.IP = ip
		addrs = append(addrs, network)
	}
	broken := false
	n := newLocalNetworks(func() ([]net.Addr, error) {
		if broken {
			return nil, errors.New("not now")
		}
		return addrs, nil
	}, zerolog.Nop())
	defer n.end()
	check := func() {
		t.Helper()
		for a, want := range map[string]bool{
			"1.1.1.1": true, "1.1.1.2": false, "::ffff:1.1.1.1": true,
			"9.9.9.9": true, "9.9.9.1": true, "9.9.8.9": false,
			"5.5.5.5": true, "5.5.5.6": false, "77.1.1.1": false,
			"2a00:1::5": true, "2a00:1::6": true, "2a00:1::6%eth0": true, "2a00:1:0:1::5": false,
			"2a00:2::5": true, "2a00:2::6": true, "2a00:2:0:1::5": false,
			"2a00:3:0:4::6": true, "2a00:3:0:ff::1": true, "2a00:3:0:100::1": false,
			"2a00::9": true, "2a00::8": false, "2a01::1": false,
		} {
			if got := n.has(netip.MustParseAddr(a)); got != want {
				t.Errorf("%s: %v, want %v", a, got, want)
			}
		}
	}
	check()
	broken = true
	n.changed = func() bool { return true }
	check() // what was known holds
}
