package mask

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// letters are what a backslash and a letter stand for in JSON and in scripts.
var letters = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v"}

// backslashed gives what a backslash at the beginning of a text can stand for, with what is
// behind it, and how long that is, until one is taken: \u00fc and \ud83d\ude00 of JSON, \xfc,
// \u{fc} and \n of scripts, \U0001f600 of Go and Python, \31 and a blank of CSS, and a sign
// or a blank of Markdown and CSS. JSON in JSON has two backslashes, and in that four.
func backslashed(s string, take func(c string, n int) bool) bool {
	slashes := 1
	for slashes < 4 && slashes < len(s) && s[slashes] == '\\' {
		slashes++
	}
	if slashes == 4 && len(s) > 4 && s[4] == '\\' { // a long row of them
		return take(s[:1], 2)
	}
	for n := slashes; n > 0; n-- {
		if n < len(s) && behind(s[:n], s[n:], func(c string, size int) bool { return take(c, n+size) }) {
			return true
		}
	}
	return false
}

// behind gives what there can be behind backslashes.
func behind(slashes, s string, take func(c string, n int) bool) bool {
	c := s[0]
	if c == ' ' || isPunctuation(s, 0) {
		return take(s[:1], 1)
	}
	switch c {
	case 'u':
		if r, ok := number(s, 1, 4); ok {
			low := len(slashes) + 1 + len("uXXXX")
			if second, ok := number(s, low, 4); ok && utf16.IsSurrogate(r) && strings.HasPrefix(s[len("uXXXX"):], slashes+"u") {
				if whole := utf16.DecodeRune(r, second); whole != utf8.RuneError && take(string(whole), low+4) {
					return true
				}
			}
			if take(string(r), 5) {
				return true
			}
		}
		if end := strings.IndexByte(s[:min(len(s), len("u{10ffff}"))], '}'); end > 2 && s[1] == '{' {
			if r, ok := number(s, 2, end-2); ok && take(string(r), end+1) {
				return true
			}
		}
	case 'U':
		if r, ok := number(s, 1, 8); ok && take(string(r), 9) {
			return true
		}
	case 'x':
		if r, ok := number(s, 1, 2); ok && (take(string([]byte{byte(r)}), 3) || take(string(r), 3)) {
			return true
		}
	}
	if l := letters[c]; l != "" && take(l, 1) {
		return true
	}
	n := 0
	for n < 6 && digit(s, n) >= 0 {
		n++
	}
	r, ok := number(s, 0, n)
	switch {
	case n == 0 || !ok:
		return false
	case n < len(s) && s[n] == ' ' && take(string(r), n+1):
		return true
	}
	return take(string(r), n)
}

// number reads so many hexadecimal digits.
func number(s string, from, n int) (r rune, ok bool) {
	for i := from; i < from+n; i++ {
		d := digit(s, i)
		if d < 0 || r > utf8.MaxRune {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, r <= utf8.MaxRune
}

// western are the characters of windows-1252 that have other places than in Unicode. Pages in
// that encoding have their forms in it, too.
const western = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

var westerns = []rune(western)

// inWestern is the character that a byte stands for in windows-1252; empty: it is one of ASCII.
func inWestern(c byte) string {
	switch {
	case c < 0x80:
		return ""
	case c < 0xa0:
		return string(westerns[c-0x80])
	}
	return string(rune(c))
}

// percentNumber is what %u20AC stands for at the beginning of a text, as older scripts write
// it, and how long that is; zero: there is none.
func percentNumber(s string) (c string, n int) {
	if len(s) < 2 || s[1] != 'u' && s[1] != 'U' {
		return "", 0
	}
	r, ok := number(s, 2, 4)
	if !ok {
		return "", 0
	}
	if second, ok := number(s, 8, 4); ok && utf16.IsSurrogate(r) && (s[6:8] == "%u" || s[6:8] == "%U") {
		if whole := utf16.DecodeRune(r, second); whole != utf8.RuneError {
			return string(whole), 12
		}
	}
	return string(r), 6
}

// percentEntity is what %26%238364%3B stands for, as forms have it where the encoding of their
// page lacks a character, and how long that is; zero: there is none.
func percentEntity(s string) (c string, n int) {
	rest, ok := strings.CutPrefix(s, "%26%23")
	if !ok {
		return "", 0
	}
	digits := 0
	for digits < len(rest) && digits < 7 && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	if digits == 0 || len(rest) < digits+3 || !strings.EqualFold(rest[digits:digits+3], "%3b") {
		return "", 0
	}
	r, err := strconv.Atoi(rest[:digits])
	if err != nil || r > utf8.MaxRune {
		return "", 0
	}
	return string(rune(r)), len("%26%23") + digits + 3
}
