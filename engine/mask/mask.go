// Package mask takes the secrets of an account out of whatever a task gives.
//
// A text that was masked has a type of its own, [Text], and only that can be
// cut: half of a secret is not found again.
package mask

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Mark replaces a secret.
const Mark = "***"

// Least is the length of the shortest secret, and of the shortest part of one that
// is masked at the end of a cut text: up to three bytes of a secret can stay
// there. Masking shorter ones would mask half of a result.
const Least = 4

// ellipsis is how Chromium, the page script and this package mark a cut.
const ellipsis = "…"

// half is what is left of a character that was cut in two.
const half = "\uFFFD"

// Masker takes secrets out of texts. A nil Masker takes out nothing.
type Masker struct {
	now atomic.Pointer[tables] // nil: there is nothing to take out

	mu  sync.Mutex
	all []string
}

// New makes a Masker for secrets. It is nil for none.
func New(secrets []string) *Masker {
	if len(secrets) == 0 {
		return nil
	}
	m := new(Masker)
	m.Add(secrets...)
	return m
}

// Add takes out further secrets from now on.
func (m *Masker) Add(secrets ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Clone(m.all)
	for _, s := range secrets {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if len(all) > len(m.all) {
		m.all = all
		m.now.Store(newTables(all))
	}
}

func (m *Masker) tables() *tables {
	if m == nil {
		return nil
	}
	return m.now.Load()
}

// Text masks a text. Parts of secrets are masked where the text says by an
// ellipsis that it was cut.
func (m *Masker) Text(s string) Text { return Text{m.tables().replace(s, false)} }

// Cut masks a text that was cut at its end, without an ellipsis, before.
func (m *Masker) Cut(s string) Text { return Text{m.tables().replace(s, true)} }

// JSON masks the strings, names and numbers of a JSON value. Where nothing is masked it is
// returned as it is.
func (m *Masker) JSON(b json.RawMessage) json.RawMessage { return m.tables().json(b) }

// Holds reports whether a text would be masked.
func (m *Masker) Holds(s string) bool { return m.tables().holds(s) }

// IsShort reports whether a secret is so short that somebody can try all that it may be. Where
// it is masked tells then what it is.
func IsShort(secret string) bool { return utf8.RuneCountInString(secret) < leastPart }

// tables find the spellings of secrets. Nil ones find nothing.
type tables struct {
	heads map[string][]string // spellings by their first bytes, the longest first
	tails map[string][]string // by their last bytes
	head  [1 << 16]bool       // whether a spelling begins with these two bytes
	tail  [1 << 16]bool       // whether one ends with them
	loose [256][]string       // secrets by their first byte; see escaped.go
}

func newTables(secrets []string) *tables {
	m := &tables{heads: map[string][]string{}, tails: map[string][]string{}}
	seen := map[string]bool{}
	for _, s := range secrets {
		for _, v := range unique([]string{s, strings.TrimSpace(s), strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s), beforeFragment(s)}) {
			if len(v) >= Least {
				m.loose[v[0]] = append(m.loose[v[0]], v)
			}
		}
		for _, v := range append(Spellings(s), beforeFragment(s)) {
			if len(v) < Least || seen[v] {
				continue
			}
			seen[v] = true
			n := len(v)
			m.heads[v[:Least]] = append(m.heads[v[:Least]], v)
			m.tails[v[n-Least:]] = append(m.tails[v[n-Least:]], v)
			m.head[pair(v[0], v[1])], m.tail[pair(v[n-2], v[n-1])] = true, true
		}
	}
	for _, all := range m.heads {
		slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	}
	return m
}

// leastPart is the length from which a part of a secret is masked by itself, and from which
// a secret is masked everywhere.
const leastPart = 8

// beforeFragment is what requests have of a secret that a page has put into an address as
// it is: they end before a #. Empty where that is nothing, or as short as any word.
func beforeFragment(s string) string {
	before, _, ok := strings.Cut(s, "#")
	if before = strings.TrimSpace(before); !ok || len(before) < leastPart {
		return ""
	}
	return before
}

func pair(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

func (m *tables) replace(s string, cut bool) string {
	if m == nil {
		return s
	}
	found := m.whole(s, cut)
	if strings.Contains(s, ellipsis) {
		all := append(slices.Collect(found), m.ends(s)...)
		slices.SortFunc(all, func(a, b span) int { return a.from - b.from })
		found = slices.Values(all)
	}
	var out strings.Builder
	last := 0 // of s that is written or masked
	any := false
	for f := range found {
		if any && f.from < last { // it overlaps the one before
			last = max(last, f.to)
			continue
		}
		if !any {
			out.Grow(len(s))
			any = true
		}
		out.WriteString(s[last:f.from])
		out.WriteString(Mark)
		last = f.to
	}
	if !any {
		return s
	}
	out.WriteString(s[last:])
	return out.String()
}

// span is a part of a text.
type span struct{ from, to int }

// whole finds secrets, and those that begin before a cut and would end behind
// it, from the beginning of the text to its end.
func (m *tables) whole(s string, cut bool) iter.Seq[span] {
	return func(yield func(span) bool) {
		escaped := strings.ContainsAny(s, escapes)
		for i := 0; i+Least <= len(s); i++ {
			to := 0
			if m.head[pair(s[i], s[i+1])] {
				to = m.plain(s, i, cut)
			}
			if escaped {
				to = max(to, m.escaped(s, i, cut))
			}
			if to > 0 && !yield(span{i, to}) {
				return
			}
		}
	}
}

// plain is where the longest spelling ends that begins at a place of a text; zero:
// none does.
func (m *tables) plain(s string, i int, cut bool) (to int) {
	for _, v := range m.heads[s[i:i+Least]] {
		n := common(v, s[i:])
		switch {
		case n == len(v), cutAt(s, i+n, cut):
		default: // a secret may itself have an ellipsis where the cut has one
			n = strings.LastIndex(s[i:i+n], ellipsis)
		}
		if n >= Least {
			to = max(to, i+n)
		}
	}
	return to
}

// cutAt reports whether a text was cut at a place.
func cutAt(s string, i int, cut bool) bool {
	return cut && i == len(s) || strings.HasPrefix(strings.TrimPrefix(s[i:], half), ellipsis)
}

// ends finds secrets whose beginning is missing because of a cut.
func (m *tables) ends(s string) (found []span) {
	for i := Least + len(ellipsis); i <= len(s); i++ {
		if !m.tail[pair(s[i-2], s[i-1])] {
			continue
		}
		from := i
		for _, v := range m.tails[s[i-Least:i]] {
			n := commonEnd(v, s[:i])
			if n < len(v) && !strings.HasSuffix(strings.TrimSuffix(s[:i-n], half), ellipsis) {
				at := strings.Index(s[i-n:i], ellipsis)
				if n -= at + len(ellipsis); at < 0 {
					continue
				}
			}
			if n >= Least {
				from = min(from, i-n)
			}
		}
		if from < i {
			found = append(found, span{from, i})
		}
	}
	return found
}

// common is how long a text is the same as a spelling from their beginning, in
// whole characters.
func common(v, s string) int {
	n := 0
	for n < len(v) && n < len(s) && v[n] == s[n] {
		n++
	}
	for n < len(v) && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// commonEnd is how long a text is the same as a spelling up to their end, in
// whole characters.
func commonEnd(v, s string) int {
	n := 0
	for n < len(v) && n < len(s) && v[len(v)-1-n] == s[len(s)-1-n] {
		n++
	}
	for n > 0 && n < len(v) && !utf8.RuneStart(s[len(s)-n]) {
		n--
	}
	return n
}

// Text is a text without secrets. Only a Masker makes one that is not empty.
type Text struct{ s string }

// String is the text.
func (t Text) String() string { return t.s }

// Short cuts the text to n bytes, between two characters.
func (t Text) Short(n int) Text {
	if len(t.s) <= n {
		return t
	}
	return Text{strings.ToValidUTF8(t.s[:n], "") + ellipsis}
}

// FirstLine cuts the text behind its first line.
func (t Text) FirstLine() Text {
	first, _, _ := strings.Cut(t.s, "\n")
	return Text{first}
}

// MarshalText is the text, for JSON.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.s), nil }

func (m *tables) holds(s string) bool {
	if m == nil {
		return false
	}
	for range m.whole(s, false) {
		return true
	}
	return strings.Contains(s, ellipsis) && len(m.ends(s)) > 0
}
