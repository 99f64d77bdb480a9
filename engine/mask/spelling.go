package mask

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Spellings are the ways in which a value comes back from a page that did
// nothing with it: as it is, in an address or a form, in HTML as a text or an
// attribute, in JSON, in Base64, as signing in by Basic has it, as the name of a
// file, and in one of these within another: an address that an address names to
// go on to, JSON that a page shows.
func Spellings(s string) []string {
	all := unique(append(spelled(s), inBase64(s)...))
	for _, v := range all[:len(all):len(all)] {
		all = append(all, spelled(v)...)
	}
	return unique(append(all, inAddress(s)...))
}

// sets are what the URL standard's parser escapes in each part of an address, beside
// controls and what is not ASCII: in the fragment, in the query of other and of special
// schemes, in the path, also as older browsers do, and in the user's name and password.
var sets = []string{" \"<>`", " \"#<>", " \"#<>'", " \"#<>?`{}", " \"#<>?^`{}", " \"#<>?^`{}/:;=@[\\]|"}

// inAddress is a value as a browser writes it that finds it in an address. Its parser
// drops tabs and the ends of lines.
func inAddress(s string) (all []string) {
	s = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
	all = append(all, s)
	for _, set := range sets {
		for _, digits := range []string{"0123456789ABCDEF", "0123456789abcdef"} {
			var b strings.Builder
			for i := range len(s) {
				if c := s[i]; c < ' ' || c > '~' || strings.IndexByte(set, c) >= 0 {
					b.Write([]byte{'%', digits[c>>4], digits[c&15]})
				} else {
					b.WriteByte(c)
				}
			}
			all = append(all, b.String())
		}
	}
	return all
}

func unique(all []string) []string {
	seen := make(map[string]bool, len(all))
	var out []string
	for _, s := range all {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

func spelled(s string) []string {
	escaped, _ := json.Marshal(s) // as Go and many others do for pages
	var plain strings.Builder     // as a page's script does
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string is always JSON
	inText := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\u00a0", "&nbsp;").Replace(s)
	inAttribute := strings.NewReplacer("&", "&amp;", `"`, "&quot;", "\u00a0", "&nbsp;").Replace(s)
	component := strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(url.QueryEscape(s))
	inForm := strings.NewReplacer("%2A", "*", "~", "%7E").Replace(url.QueryEscape(s))
	all := []string{
		component, inForm, s, strings.ReplaceAll(s, "\r\n", "\n"), url.QueryEscape(s), url.PathEscape(s), strings.ReplaceAll(url.QueryEscape(s), "+", "%20"),
		inText, inAttribute, strings.ReplaceAll(inText, `"`, "&quot;"), html.EscapeString(s),
		unquoted(string(escaped)), unquoted(strings.TrimSpace(plain.String())),
		unquoted(strconv.Quote(s)),                                 // in our own errors
		strings.TrimSpace(s), strings.Join(strings.Fields(s), " "), // as pages show it, and as we trim what they show
		strings.Join(strings.Fields(s), "."), // as the classes of an element
	}
	return append(append(all, inASCII(s)...), fileNames(s)...)
}

// inASCII is a value in JSON as Python and others write it, and as PHP does.
func inASCII(s string) []string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(unquoted(string(quote(s))))) {
		if u > '~' {
			fmt.Fprintf(&b, `\u%04x`, u)
		} else {
			b.WriteByte(byte(u))
		}
	}
	return []string{b.String(), strings.ReplaceAll(b.String(), "/", `\/`)}
}

// fileNames are how Chromium spells a name that no file can have.
func fileNames(s string) (all []string) {
	for _, in := range []string{"_", "-"} {
		var name strings.Builder
		for _, c := range s {
			if strings.ContainsRune(`"*/:<>?\|~`, c) || unicode.Is(unicode.Cc, c) || unicode.Is(unicode.Cf, c) {
				name.WriteString(in)
			} else {
				name.WriteRune(c)
			}
		}
		all = append(all, name.String())
	}
	return all
}

// inBase64 is what of Base64 is the same whatever stands before and after a
// value. Three bytes make four characters, so there are three ways to begin, in
// two alphabets; characters at both ends are of its neighbours, too.
func inBase64(s string) (all []string) {
	for before := range 3 {
		b := append(make([]byte, before), s...)
		first, end := (before*8+5)/6, len(b)*8/6
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			all = append(all, e.EncodeToString(b)[first:end])
		}
	}
	return all
}

func unquoted(s string) string { return s[1 : len(s)-1] }
