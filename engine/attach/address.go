package attach

import (
	"fmt"
	"strings"
)

// The schemes of addresses that a page may be sent to.
var schemes = []string{"http", "https", "data", "blob"}

// scheme is the scheme of an address as Chromium reads it: it passes over control characters and
// blanks around the address, and over tabs and line ends in it.
func scheme(address string) (name, rest string, ok bool) {
	address = strings.TrimFunc(address, func(r rune) bool { return r <= ' ' })
	address = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(address)
	name, rest, ok = strings.Cut(address, ":")
	name = strings.ToLower(name)
	for i, c := range name {
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", c)) {
			return "", "", false
		}
	}
	return name, rest, ok && name != ""
}

// addressFault says why no page may be at an address; nil: one may.
func addressFault(address string) error {
	name, rest, ok := scheme(address)
	if !ok {
		return fmt.Errorf("the address %q has no scheme: give a whole one, such as https://example.com", short(address))
	}
	if name == "about" {
		if page, _, _ := strings.Cut(rest, "#"); page == "blank" {
			return nil
		}
		return fmt.Errorf("%q shows the browser itself: of about only about:blank is open", short(address))
	}
	for _, s := range schemes {
		if s == name {
			return nil
		}
	}
	return fmt.Errorf("addresses of %s: are not open to pages of a session: use http, https, data, blob or about:blank", short(name))
}

func short(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}
