package browser

import (
	"net/url"
	"testing"
)

// TestSpellingsOfHosts: a secure cookie goes to this machine however it is spelled, and not to
// a name that only begins like it; headers and logins of an origin are found by each spelling.
func TestSpellingsOfHosts(t *testing.T) {
	for address, sent := range map[string]bool{"http://localhost./": true, "http://LOCALHOST/": true, "http://[::1]/": true, "http://127.0.0.2/": true, "http://127.evil.example/": false} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Cookie{Domain: u.Hostname(), Path: "/", Secure: true}).SentTo(u); got != sent {
			t.Errorf("%s: sent is %v", address, got)
		}
	}
	for address, want := range map[string]string{
		"https://Shop.Example.:443/a": "https://shop.example", "http://localhost.:8080": "http://localhost:8080", "http://[::1]:80/": "http://[::1]", "about:blank": "",
	} {
		if got := OriginOf(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
