package lang_test

import (
	"testing"

	"troupe/engine/lang"
)

func TestSites(t *testing.T) {
	for _, c := range []struct {
		site, address string
		allows        bool
	}{
		{"shop.test", "https://shop.test/", true},
		{"shop.test", "http://shop.test:8080/a", true},
		{"shop.test", "http://SHOP.test./a", true},
		{"Shop.Test", "https://shop.test/?q=1", true},
		{"shop.test", "https://www.shop.test/", false},
		{"shop.test", "https://shop.test.evil.test/", false},
		{"shop.test", "https://shop.test@evil.test/", false},
		{"shop.test", "https://evil.test/#shop.test", false},
		{"shop.test", "https://evil.test\\@shop.test/", false},
		{"shop.test", "data:text/html,shop.test", false},
		{"shop.test", "blob:https://shop.test/0", true},
		{"shop.test", "file:///shop.test", false},
		{"*.shop.test", "https://a.b.shop.test/", true},
		{"*.shop.test", "https://shop.test/", true},
		{"*.shop.test", "https://notshop.test/", false},
		{"https://shop.test", "https://shop.test:443/", true},
		{"https://shop.test", "http://shop.test/", false},
		{"https://shop.test", "https://shop.test:8443/", false},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080/x", true},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8081/x", false},
		{"127.0.0.1:8080", "http://127.0.0.1:8080/x", true},
		{"[::1]:8080", "http://[::1]:8080/x", true},
	} {
		s, err := lang.ParseSite(c.site)
		if err != nil {
			t.Errorf("%s: %v", c.site, err)
			continue
		}
		if got := s.Allows(c.address); got != c.allows {
			t.Errorf("%s allows %s: %v", c.site, c.address, got)
		}
	}
	for _, wrong := range []string{"", "*", "*.", "*.com", "ftp://a.test", "a.test/path", "a.test?q", "user@a.test", "a b", "a.*.test", "https://", "a.test:x", ",", "a,b"} {
		if s, err := lang.ParseSite(wrong); err == nil {
			t.Errorf("%q is %+v", wrong, s)
		}
	}
	for _, c := range []struct {
		in, of string
		within bool
	}{
		{"a.shop.test", "*.shop.test", true},
		{"shop.test", "*.shop.test", true},
		{"*.a.shop.test", "*.shop.test", true},
		{"*.shop.test", "shop.test", false},
		{"*.shop.test", "*.a.shop.test", false},
		{"https://shop.test", "shop.test", true},
		{"shop.test", "https://shop.test", false},
		{"https://shop.test:8443", "https://shop.test", false},
		{"shop.test:8443", "shop.test", true},
		{"shop.test", "shop.test:8443", false},
	} {
		in, _ := lang.ParseSite(c.in)
		of, _ := lang.ParseSite(c.of)
		if got := in.Within(of); got != c.within {
			t.Errorf("%s is within %s: %v", c.in, c.of, got)
		}
	}
}

func TestSitesMeet(t *testing.T) {
	for _, c := range []struct {
		a, b string
		meet bool
	}{
		{"shop.test", "shop.test", true},
		{"shop.test", "other.test", false},
		{"a.shop.test", "*.shop.test", true},
		{"*.a.shop.test", "*.shop.test", true},
		{"*.a.shop.test", "*.b.shop.test", false},
		{"https://*.shop.test", "a.shop.test", true}, // neither is within the other
		{"https://shop.test", "http://shop.test", false},
		{"https://shop.test", "shop.test", true},
		{"https://shop.test", "shop.test:8443", false},
		{"https://shop.test:8443", "shop.test:8443", true},
		{"shop.test:1", "shop.test:2", false},
		{"notshop.test", "*.shop.test", false},
	} {
		a, errA := lang.ParseSite(c.a)
		b, errB := lang.ParseSite(c.b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if a.Meets(b) != c.meet || b.Meets(a) != c.meet {
			t.Errorf("%s meets %s: %v, %v", c.a, c.b, a.Meets(b), b.Meets(a))
		}
	}
}
