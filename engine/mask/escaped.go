package mask

import (
	"html"
	"slices"
	"strings"
)

// Texts that browsers, pages and servers write have escapes in them: in addresses those
// of the URL standard, whose parser has a set of characters for each part of an address,
// in capital or in small letters, and + for a blank; in HTML entities; in Markdown and in
// scripts a backslash. What is escaped
// differs from writer to writer, so that no list of spellings has them all: secrets are
// compared with what the escapes stand for.

// escapes are the characters that an escape begins with.
const escapes = `%&+\`

// again is how often an escape is looked for in what another one stands for.
const again = 3

// escaped is where the longest secret ends that begins at a place of a text, escaped or
// not; zero: none does.
func (m *tables) escaped(s string, i int, cut bool) (to int) {
	var first [4]byte
	for _, c := range begins(s, i, first[:0]) {
		for _, v := range m.loose[c] {
			to = max(to, matchEscaped(v, s, i, cut))
		}
	}
	return to
}

// begins are the bytes with which a secret can begin that begins here.
func begins(s string, i int, to []byte) []byte {
	to = append(to, s[i])
	c := s[i]
	switch s[i] {
	case '%':
		var n int
		if c, n = percent(s[i:]); n > 0 {
			to = append(to, c)
			if w := inWestern(c); w != "" {
				to = append(to, w[0])
			}
		}
		if u, n := percentNumber(s[i:]); n > 0 {
			to = append(to, u[0])
		}
		if u, n := percentEntity(s[i:]); n > 0 {
			to = append(to, u[0])
		}
	case '&':
		if e, n := entity(s[i:]); n > 0 && e != "" {
			to = append(to, e[0])
		}
	case '\\':
		backslashed(s[i:], func(c string, _ int) bool {
			if !slices.Contains(to, c[0]) {
				to = append(to, c[0])
			}
			return false
		})
	}
	switch c {
	case '+':
		to = append(to, ' ')
	case '/':
		to = append(to, '\\')
	}
	return to
}

// stands reports whether a byte of an address or a form can stand for one of a secret.
func stands(c, of byte) bool {
	return c == of || c == '+' && of == ' ' || c == '/' && of == '\\'
}

// matchEscaped is where a secret that begins at s[i] ends, or the part of it that is
// there before a cut; zero: it is another text.
func matchEscaped(v, s string, i int, cut bool) int {
	k := 0 // of the secret
	for k < len(v) {
		if i == len(s) {
			break
		}
		if s[i] == '%' {
			c, n := percent(s[i:])
			if n > 0 && stands(c, v[k]) {
				k, i = k+1, i+n
				continue
			}
			if w := inWestern(c); n > 0 && w != "" && strings.HasPrefix(v[k:], w) {
				k, i = k+len(w), i+n
				continue
			}
			if u, n := percentNumber(s[i:]); n > 0 && strings.HasPrefix(v[k:], u) {
				k, i = k+len(u), i+n
				continue
			}
			if u, n := percentEntity(s[i:]); n > 0 && strings.HasPrefix(v[k:], u) {
				k, i = k+len(u), i+n
				continue
			}
		}
		if s[i] == '&' {
			if c, n := entity(s[i:]); n > 0 && strings.HasPrefix(v[k:], c) {
				k, i = k+len(c), i+n
				continue
			}
		}
		if s[i] == '\\' && backslashed(s[i:], func(c string, n int) bool {
			if !strings.HasPrefix(v[k:], c) {
				return false
			}
			k, i = k+len(c), i+n
			return true
		}) {
			continue
		}
		if stands(s[i], v[k]) {
			k, i = k+1, i+1
			continue
		}
		break
	}
	if k == len(v) {
		return i
	}
	if k < Least {
		return 0
	}
	// An escape can have been cut in two.
	for n := 0; n < longestEntity && i+n <= len(s) && !strings.ContainsAny(s[i:i+n], ellipsis); n++ {
		if cutAt(s, i+n, cut) && (n == 0 || strings.IndexByte(`%&\\`, s[i]) >= 0) {
			return i + n
		}
	}
	return 0
}

// percent is the byte that %41 stands for at the beginning of a text, and %2541, and
// how long that is; zero: there is none.
func percent(s string) (c byte, n int) {
	for range again {
		hi, lo := digit(s, n+1), digit(s, n+2)
		if hi < 0 || lo < 0 {
			return 0, 0
		}
		c = byte(hi<<4 | lo)
		// The first % is there, and further ones are %25 each.
		if c != '%' || digit(s, n+3) < 0 || digit(s, n+4) < 0 {
			return c, n + 3
		}
		n += len("25")
	}
	return 0, 0
}

func digit(s string, i int) int {
	if i >= len(s) {
		return -1
	}
	switch c := s[i]; {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// longestEntity bounds how far an entity is looked for.
const longestEntity = 12

// entity is what &amp; stands for at the beginning of a text, and &amp;lt;, and how long
// that is; zero: there is none.
func entity(s string) (c string, n int) {
	for range again {
		rest := s[n+1:] // behind the & that is there, or that another entity stands for
		end := strings.IndexFunc(rest[:min(len(rest), longestEntity)], func(c rune) bool { return c != '#' && !isLetterOrDigit(c) })
		if end < 1 || rest[end] != ';' {
			break
		}
		e := "&" + rest[:end+1]
		means := html.UnescapeString(e)
		if means == e {
			break
		}
		c = means
		if n += 1 + end; c != "&" { // at the semicolon
			break
		}
	}
	if n == 0 {
		return "", 0
	}
	return c, n + 1
}

func isLetterOrDigit(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// isPunctuation reports whether a text has a sign of ASCII at a place.
func isPunctuation(s string, i int) bool {
	return i < len(s) && s[i] > ' ' && s[i] <= '~' && !isLetterOrDigit(rune(s[i]))
}
