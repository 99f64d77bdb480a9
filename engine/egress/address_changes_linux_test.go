package egress

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"troupe/testkit/networks"
)

// TestOwnAddressesAreRefused makes a network of its own, in which the machine has
// public addresses, and looks from outside of the proxy whether they are reached.
func TestOwnAddressesAreRefused(t *testing.T) {
	if !networks.Own(t) {
		return
	}
	ip := func(args ...string) { t.Helper(); networks.IP(t, args...) }
	ip("link", "set", "lo", "up")
	// On lo a network's other addresses are answered here too: neighbours that can be
	// reached.
	ip("addr", "add", "9.9.9.9/24", "dev", "lo")
	ip("addr", "add", "2a00:1450:4001::5/64", "dev", "lo", "nodad")
	v := newVictim(t)
	p := start(t, Config{})
	get := func(p *Proxy, host string) int {
		t.Helper()
		status, _, _ := get(t, through(t, p.Addr()), "http://"+net.JoinHostPort(host, v.port())+"/")
		return status
	}
	refused := func(hosts ...string) {
		t.Helper()
		for _, host := range hosts {
			before := v.reached.Load()
			if status := get(p, host); status != http.StatusForbidden || v.reached.Load() != before {
				t.Errorf("%s answers %d, and was reached %d times", host, status, v.reached.Load()-before)
			}
			if _, _, head := speak(t, p.Addr(), connect(net.JoinHostPort(host, v.port()))); !strings.HasPrefix(head, "HTTP/1.1 403 ") {
				t.Errorf("CONNECT %s: %q", host, head)
			}
			if _, err := p.Client().Get("http://" + net.JoinHostPort(host, v.port()) + "/"); err == nil || !strings.Contains(err.Error(), "outbound rules") {
				t.Errorf("a fetch of %s: %v", host, err)
			}
		}
	}
	refused("9.9.9.9", "9.9.9.10", "2a00:1450:4001::5", "::ffff:9.9.9.9")

	ip("addr", "add", "8.8.4.4/32", "dev", "lo") // while it runs
	ip("addr", "add", "2a00:1450:4002::1/128", "dev", "lo", "nodad")
	refused("8.8.4.4", "2a00:1450:4002::1")
	ip("addr", "del", "8.8.4.4/32", "dev", "lo")
	ip("route", "add", "local", "8.8.4.4/32", "dev", "lo") // as if it were somebody else's
	if status := get(p, "8.8.4.4"); status != http.StatusOK {
		t.Errorf("an address that the machine has no more answers %d", status)
	}
	for name, c := range map[string]Config{
		"the address":  {Allow: []netip.Prefix{netip.MustParsePrefix("9.9.9.9/32"), netip.MustParsePrefix("2a00:1450:4001::/64")}},
		"a name":       {AllowHosts: []string{"9.9.9.9", "2a00:1450:4001::5"}},
		"private ones": {AllowPrivate: true},
	} {
		allowing := start(t, c)
		if a, b := get(allowing, "9.9.9.9"), get(allowing, "2a00:1450:4001::5"); a != http.StatusOK || b != http.StatusOK {
			t.Errorf("with %s allowed: %d, %d", name, a, b)
		}
		if status := get(allowing, "9.9.9.10"); name != "private ones" && status != http.StatusForbidden {
			t.Errorf("with %s allowed, another: %d", name, status)
		}
	}
}
