package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// decoder reads the nodes of one request and collects what is wrong with them.
type decoder struct {
	faults []Fault // the first ones
	wrong  int     // how many there are
	files  []Upload
	steps  int
	// pictures are the screenshots so far.
	pictures int
	// mayHoldSecrets are the texts in which secrets may stand.
	mayHoldSecrets map[*node]bool

	inLoop, inBranch bool
	config           Config
	network          bool // an action looks at requests
	matching         matching
	step             *Step   // the step whose value is read
	faulty           []*node // the steps with faults
}

// Shape is how a value is spelled in JSON: how it is read, and how it is
// described to people and to programs.
type Shape[V any] struct {
	Words  string // for people: "selector", "[selector, text]"
	Schema string // JSON Schema
	read   func(*decoder, *node) V
}

// anyShape is a Shape without its type, for tables.
type anyShape struct {
	words, schema string
	read          func(*decoder, *node) any
}

func (s Shape[V]) any() anyShape {
	return anyShape{words: s.Words, schema: s.Schema, read: func(d *decoder, n *node) any { return s.read(d, n) }}
}

func wantString(d *decoder, n *node, what string) (string, bool) {
	if !n.isString() {
		if what == "a text" || what == "a string" { // which says it already
			d.fault(n, "want a string, not %s", n.isA())
		} else {
			d.fault(n, "want %s, a string, not %s", what, n.isA())
		}
		return "", false
	}
	return n.str, true
}

var selectorShape = Shape[Selector]{
	Words: "selector", Schema: `{"type":"string","minLength":1}`,
	read: func(d *decoder, n *node) Selector {
		s, ok := wantString(d, n, "a selector")
		if ok && strings.TrimSpace(s) == "" {
			d.fault(n, "want a selector, not an empty string")
		}
		if len(s) > maxSelector {
			d.fault(n, "want a selector of at most %d bytes, not %d", maxSelector, len(s))
		}
		return parseSelector(strings.TrimSpace(s))
	},
}

// maxSelector bounds what is compiled once for each look at the page.
const maxSelector = 8 << 10

func textShape(what string) Shape[Text] {
	return Shape[Text]{
		Words: what, Schema: `{"type":"string"}`,
		read: func(d *decoder, n *node) Text {
			s, _ := wantString(d, n, withArticle(what))
			return parseText(s)
		},
	}
}

// nonEmpty is a text that must hold something.
func nonEmpty(what string) Shape[Text] {
	return Shape[Text]{
		Words: what, Schema: `{"type":"string","minLength":1}`,
		read: func(d *decoder, n *node) Text {
			s, ok := wantString(d, n, withArticle(what))
			if ok && strings.TrimSpace(s) == "" {
				d.fault(n, "want %s, not an empty string", withArticle(what))
			}
			return parseText(s)
		},
	}
}

var boolShape = Shape[bool]{
	Words: "boolean", Schema: `{"type":"boolean"}`,
	read: func(d *decoder, n *node) bool {
		if n.kind != 't' && n.kind != 'f' {
			d.fault(n, "want true or false, not %s", n.isA())
		}
		return n.kind == 't'
	},
}

// trueShape is for actions that have nothing to say.
var trueShape = Shape[struct{}]{
	Words: "true", Schema: `{"const":true}`,
	read: func(d *decoder, n *node) struct{} {
		if n.kind != 't' {
			d.fault(n, "want true, not %s", n.describe())
		}
		return struct{}{}
	},
}

// describe shows a small value, or names its kind.
func (n *node) describe() string {
	switch n.kind {
	case 't':
		return "true"
	case 'f':
		return "false"
	case '"':
		if len(n.str) <= 40 {
			return fmt.Sprintf("%q", n.str)
		}
	case '0':
		return fmt.Sprint(n.num)
	}
	return n.isA()
}

func numberShape(what string, min, max float64) Shape[float64] {
	return Shape[float64]{
		Words: what, Schema: numberSchema("number", min, max),
		read: func(d *decoder, n *node) float64 {
			if n.kind != '0' {
				d.fault(n, "want %s, a number, not %s", what, n.isA())
				return 0
			}
			if n.num < min || n.num > max {
				d.fault(n, "want %s %s, not %s", what, bounds(min, max), plain(n.num))
			}
			return n.num
		},
	}
}

func intShape(what string, min, max float64) Shape[int] {
	return Shape[int]{
		Words: what, Schema: numberSchema("integer", min, max),
		read: func(d *decoder, n *node) int {
			if n.kind != '0' {
				d.fault(n, "want %s, a whole number, not %s", what, n.isA())
				return 0
			}
			if n.num != math.Trunc(n.num) {
				d.fault(n, "want %s, a whole number, not %s", what, plain(n.num))
				return 0
			}
			if n.num < min || n.num > max {
				d.fault(n, "want %s %s, not %s", what, bounds(min, max), plain(n.num))
				return 0
			}
			return int(n.num)
		},
	}
}

func numberSchema(kind string, min, max float64) string {
	s := `{"type":"` + kind + `"`
	if !math.IsInf(min, 0) {
		s += fmt.Sprintf(`,"minimum":%v`, min)
	}
	if !math.IsInf(max, 0) {
		s += fmt.Sprintf(`,"maximum":%.0f`, max)
	}
	return s + "}"
}

func bounds(min, max float64) string {
	switch {
	case math.IsInf(max, 1):
		return "of at least " + plain(min)
	case math.IsInf(min, -1):
		return "of at most " + plain(max)
	default:
		return "from " + plain(min) + " to " + plain(max)
	}
}

// plain is a number as people write it, unless it is beyond all measure.
func plain(n float64) string {
	if math.Abs(n) >= 1e15 {
		return fmt.Sprint(n)
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// withArticle puts a or an before a noun.
func withArticle(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) || strings.HasPrefix(noun, "HTTP") {
		return "an " + noun
	}
	return "a " + noun
}

// maxMillis bounds every time in a request: a day is longer than any task.
const maxMillis = 24 * 60 * 60 * 1000

// millisShape is a time above zero.
var millisShape = Shape[time.Duration]{
	Words: "milliseconds", Schema: `{"type":"number","exclusiveMinimum":0,"maximum":86400000}`,
	read: func(d *decoder, n *node) time.Duration {
		if n.kind != '0' {
			d.fault(n, "want a number of milliseconds, not %s", n.isA())
			return 0
		}
		if n.num <= 0 || n.num > maxMillis {
			d.fault(n, "want a number of milliseconds above 0 and up to %d, not %s", maxMillis, plain(n.num))
			return 0
		}
		return time.Duration(n.num * float64(time.Millisecond))
	},
}

// keyShape is a key of a cache.
var keyShape = Shape[string]{
	Words: "key", Schema: `{"type":"string","pattern":"^` + keyPattern + `$"}`,
	read: func(d *decoder, n *node) string {
		s, ok := wantString(d, n, "a key")
		switch {
		case !ok:
		case !keyOnly.MatchString(s):
			d.fault(n, "want a key of letters, digits, '_', '.' and '-' that begins with a letter or '_', not %q", s)
		case s == "this":
			d.fault(n, `"this" is reserved for the current element of a loop: choose another key`)
		}
		return s
	},
}

func enumShape(what string, of ...string) Shape[string] {
	return Shape[string]{
		Words: strings.Join(of, " or "), Schema: `{"enum":["` + strings.Join(of, `","`) + `"]}`,
		read: func(d *decoder, n *node) string {
			for _, o := range of {
				if n.isString() && n.str == o {
					return o
				}
			}
			d.fault(n, "want %s, one of %s, not %s%s", what, strings.Join(of, ", "), n.describe(), d.didYouMean(n.str, func() []string { return of }))
			return of[0]
		},
	}
}

// Pair is an array of two.
type Pair[A, B any] struct {
	A A
	B B
}

func pairShape[A, B any](a Shape[A], b Shape[B]) Shape[Pair[A, B]] {
	words := "[" + a.Words + ", " + b.Words + "]"
	return Shape[Pair[A, B]]{
		Words: words, Schema: `{"type":"array","prefixItems":[` + a.Schema + `,` + b.Schema + `],"items":false,"minItems":2}`,
		read: func(d *decoder, n *node) (p Pair[A, B]) {
			if !n.isArray() || len(n.list) != 2 {
				got := n.isA()
				if n.isArray() {
					got = fmt.Sprintf("an array of %d", len(n.list))
				}
				d.fault(n, "want %s, not %s", words, got)
				return p
			}
			p.A, p.B = a.read(d, n.list[0]), b.read(d, n.list[1])
			return p
		},
	}
}

// Plural is the form of a word that goes with the number n.
func Plural[N ~int | ~int64 | ~uint64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// DidYouMean names the nearest of the known words, when one is near, as the end
// of a sentence that has refused the word.
func DidYouMean(word string, known []string) string {
	// Of a short word one wrong letter leaves enough to be sure, of a longer one two.
	best, at := "", min(3, 1+(len(word)+1)/3)
	if len(word) > 100 {
		return ""
	}
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k), at); d < at {
			best, at = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance counts the letters to change, add, drop or swap between two words, up to
// a limit: whoever compares very many long words wants to know only which are near.
func distance(a, b string, limit int) int {
	if len(a) > 64 || len(b) > 64 || len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	var before, last, row [65]int // of a[:i-2], a[:i-1] and a[:i]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := range row {
			row[j] = limit // beyond the limit, as all is that is so far from the diagonal
		}
		from, to := max(1, i-limit), min(len(b), i+limit)
		if from == 1 {
			row[0] = i
		}
		least := row[from-1]
		for j := from; j <= to; j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit { // a swap reaches back by two rows, and costs one
			return limit
		}
		before, last = last, row
	}
	return min(last[len(b)], limit)
}
