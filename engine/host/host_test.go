package host_test

import (
	"net/url"
	"strings"
	"testing"

	"troupe/engine/host"
)

func TestHosts(t *testing.T) {
	for _, c := range []struct {
		address, name, withPort string
		local                   bool
	}{
		{"http://localhost/", "localhost", "localhost", true},
		{"http://LOCALHOST./", "localhost", "localhost", true},
		{"https://LocalHost.:8443/", "localhost", "localhost:8443", true},
		{"http://a.localhost.:80/", "a.localhost", "a.localhost", true},
		{"http://127.0.0.1:8080/", "127.0.0.1", "127.0.0.1:8080", true},
		{"http://127.9.9.9/", "127.9.9.9", "127.9.9.9", true},
		{"http://[::1]/", "::1", "[::1]", true},
		{"https://[::1]:443/", "::1", "[::1]", true},
		{"https://[::FFFF:127.0.0.1]:80/", "::ffff:127.0.0.1", "[::ffff:127.0.0.1]:80", true},
		{"https://Shop.Example.:443/", "shop.example", "shop.example", false},
		{"HTTP://shop.example:443/", "shop.example", "shop.example:443", false},
		{"http://127.evil.example/", "127.evil.example", "127.evil.example", false},
		{"http://localhost.example/", "localhost.example", "localhost.example", false},
		{"http://notlocalhost/", "notlocalhost", "notlocalhost", false},
	} {
		u, err := url.Parse(c.address)
		if err != nil {
			t.Fatal(err)
		}
		if name, with, local := host.Name(u.Hostname()), host.WithPort(u), host.Local(u.Hostname()); name != c.name || with != c.withPort || local != c.local {
			t.Errorf("%s: %q, %q, local %v", c.address, name, with, local)
		}
	}
}

func TestHostsThatNothingReaches(t *testing.T) {
	long := strings.Repeat("a", 63)
	for h, fault := range map[string]string{
		"127.0.0.1": "", "[::1]": "", "fe80::1%lo": "", "shop.example": "", "shop.example.": "", "localhost": "", "7up.example": "", "example.x7": "", "a_b.example": "", "1e100.net": "",
		"xn--bcher-kva.example": "", long + ".example": "",
		"127.1": "address", "2130706433": "address", "0x7f000001": "address", "0x7f.1": "address", "0177.0.0.1": "address", "256.1.1.1": "address", "shop.127": "address", "shop.0x7f.": "address",
		"1.2.3.4.5": "address", "99999999999999999999999": "address",
		"a..b": "no name", ".": "no name", ".example": "no name", long + "a.example": "no name", strings.Repeat(long+".", 4) + "example": "no name",
	} {
		if got := host.Fault(h); (got == "") != (fault == "") || !strings.Contains(got, fault) {
			t.Errorf("%s: %q, want %q", h, got, fault)
		}
	}
}
