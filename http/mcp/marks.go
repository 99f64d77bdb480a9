package mcp

import (
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
)

// marks enclose what comes from a page. Their number is drawn after the page was read,
// and it is in none of its texts, so that the page can neither close them nor begin others.
type marks struct{ nonce string }

func newMarks(around []part) marks {
	for size := 3; ; size++ {
		b := make([]byte, size)
		_, _ = rand.Read(b) // never fails
		m := marks{hex.EncodeToString(b)}
		if !slices.ContainsFunc(around, func(p part) bool {
			return strings.Contains(visible(p.text), m.nonce) || strings.Contains(p.title, m.nonce)
		}) {
			return m
		}
	}
}

// begin is the line before what comes from a page. Its site is cut out of an address
// that the page has chosen.
func (m marks) begin(address string) string {
	site := siteOf(address)
	if site != "" {
		site = " site=\"" + site + "\""
	}
	return "<page-" + m.nonce + site + ">"
}

func (m marks) end() string { return "</page-" + m.nonce + ">" }

// siteOf is the scheme and the host of an address, in characters that need no quotes;
// empty where there is none.
func siteOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	plain := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._:[]/", r) {
			return r
		}
		return '_'
	}
	return strings.Map(plain, u.Scheme+"://"+u.Host)
}

// visible takes out of a text what a reader does not see, but a model reads: controls
// of the writing direction, characters without width, tags, and controls of terminals.
func visible(s string) string {
	hidden := func(r rune) bool {
		switch {
		case r == '\n' || r == '\t':
			return false
		case r < 0x20, r >= 0x7f && r <= 0x9f:
		case r == 0xad, r == 0x61c, r == 0x180e, r == 0xfeff:
		case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff:
		default:
			return false
		}
		return true
	}
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, s)
}
