package mcp

import (
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"unicode"
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

// visible takes out of a text what a reader does not see, but a model reads: what Unicode
// lets programs ignore, as characters without width, tags and fillers; what turns the
// direction of others; controls of terminals. What shows as nothing but room is a blank.
func visible(s string) string {
	seen := func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r >= ' ' && r <= '~':
			return r
		case r == '\u2800', unicode.In(r, unicode.Zl, unicode.Zp): // an empty pattern of Braille, and other ends of lines
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Noncharacter_Code_Point), r >= 0xe0000 && r <= 0xe0fff:
			return -1
		}
		return r
	}
	if strings.IndexFunc(s, func(r rune) bool { return seen(r) != r }) < 0 {
		return s
	}
	return strings.Map(seen, s)
}
