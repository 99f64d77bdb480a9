package lang

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Shape describes how a value is spelled in JSON: to people, to programs, and to
// the [Decoder].
type Shape[V any] struct {
	Words  string // for people: "selector", "[selector, text]"
	Schema string // JSON Schema
	// Read turns a node into a value. What is wrong goes to the decoder.
	Read func(*Decoder, *Node) V
}

// AnyShape is a Shape without its type, for tables.
type AnyShape struct {
	Words, Schema string
	Read          func(*Decoder, *Node) any
}

func (s Shape[V]) Any() AnyShape {
	return AnyShape{Words: s.Words, Schema: s.Schema, Read: func(d *Decoder, n *Node) any { return s.Read(d, n) }}
}

// SelectorShape is a selector.
var SelectorShape = Shape[Selector]{Words: "selector", Schema: selectorRef}

func init() { // selectors may stand in selectors
	SelectorShape.Read = func(d *Decoder, n *Node) Selector {
		if n.IsObject() {
			by := readDescription(d, n)
			return Selector{source: by.words(), by: by}
		}
		s, ok := d.ReadString(n, "a selector")
		if ok && strings.TrimSpace(s) == "" {
			d.Fault(n, "want a selector, not an empty string")
		}
		if len(s) > maxSelector {
			d.Fault(n, "want a selector of at most %d bytes, not %d", maxSelector, len(s))
		}
		sel := parseSelector(strings.TrimSpace(s))
		if want := InsteadOf(sel.text.String()); want != "" && len(s) <= maxSelector {
			d.Warn(n, "%s is not CSS: want %s", quoted(s), want)
		}
		if IsReference(sel.ref) {
			if d.referring == nil {
				d.referring = map[*Node]Selector{}
			}
			d.referring[n] = sel
		}
		return sel
	}
}

// maxSelector bounds what is compiled once for each look at the page.
const maxSelector = 8 << 10

// TextShape is a text, which faults call what.
func TextShape(what string) Shape[Text] {
	return Shape[Text]{
		Words: what, Schema: `{"type":"string"}`,
		Read: func(d *Decoder, n *Node) Text {
			s, _ := d.ReadString(n, withArticle(what))
			return ParseText(s)
		},
	}
}

// NonEmptyShape is a text of more than white space.
func NonEmptyShape(what string) Shape[Text] {
	return Shape[Text]{
		Words: what, Schema: `{"type":"string","minLength":1}`,
		Read: func(d *Decoder, n *Node) Text {
			s, ok := d.ReadString(n, withArticle(what))
			if ok && strings.TrimSpace(s) == "" {
				d.Fault(n, "want %s, not an empty string", withArticle(what))
			}
			return ParseText(s)
		},
	}
}

// BoolShape is true or false.
var BoolShape = Shape[bool]{
	Words: "boolean", Schema: `{"type":"boolean"}`,
	Read: func(d *Decoder, n *Node) bool {
		if n.Kind != 't' && n.Kind != 'f' {
			d.Fault(n, "want true or false, not %s", n.TypeName())
		}
		return n.Kind == 't'
	},
}

// TrueShape is the value of actions that need none.
var TrueShape = Shape[struct{}]{
	Words: "true", Schema: `{"const":true}`,
	Read: func(d *Decoder, n *Node) struct{} {
		if n.Kind != 't' {
			d.Fault(n, "want true, not %s", n.Describe())
		}
		return struct{}{}
	},
}

// NumberShape is a number from min to max; either may be infinite.
func NumberShape(what string, min, max float64) Shape[float64] {
	return Shape[float64]{
		Words: what, Schema: numberSchema("number", min, max),
		Read: func(d *Decoder, n *Node) float64 {
			if n.Kind != '0' {
				d.Fault(n, "want %s, a number, not %s", what, n.TypeName())
				return 0
			}
			if n.Number < min || n.Number > max {
				d.Fault(n, "want %s %s, not %s", what, bounds(min, max), plain(n.Number))
			}
			return n.Number
		},
	}
}

// IntShape is a whole number from min to max.
func IntShape(what string, min, max float64) Shape[int] {
	return Shape[int]{
		Words: what, Schema: numberSchema("integer", min, max),
		Read: func(d *Decoder, n *Node) int {
			if n.Kind != '0' {
				d.Fault(n, "want %s, a whole number, not %s", what, n.TypeName())
				return 0
			}
			if n.Number != math.Trunc(n.Number) {
				d.Fault(n, "want %s, a whole number, not %s", what, plain(n.Number))
				return 0
			}
			if n.Number < min || n.Number > max {
				d.Fault(n, "want %s %s, not %s", what, bounds(min, max), plain(n.Number))
				return 0
			}
			return int(n.Number)
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

// MaxMillis is the longest time in a request: a day, longer than any task.
const MaxMillis = 24 * 60 * 60 * 1000

// MillisShape is a limit of time above zero, in milliseconds. More than [MaxMillis] is
// lowered to that: no task lasts as long.
var MillisShape = Shape[time.Duration]{
	Words: "milliseconds", Schema: `{"type":"number","exclusiveMinimum":0}`,
	Read: func(d *Decoder, n *Node) time.Duration {
		if n.Kind != '0' {
			d.Fault(n, "want a number of milliseconds, not %s", n.TypeName())
			return 0
		}
		if n.Number <= 0 {
			d.Fault(n, "want a number of milliseconds above 0, not %s", plain(n.Number))
			return 0
		}
		return max(1, time.Duration(min(n.Number, MaxMillis)*float64(time.Millisecond)))
	},
}

// PauseShape is how long something is to wait, in milliseconds: also not at all. Faults call
// it what.
func PauseShape(what string) Shape[time.Duration] {
	return Shape[time.Duration]{
		Words: "milliseconds", Schema: `{"type":"number","minimum":0,"maximum":86400000}`,
		Read: func(d *Decoder, n *Node) time.Duration {
			ms := NumberShape(what, 0, MaxMillis).Read(d, n)
			return time.Duration(ms * float64(time.Millisecond))
		},
	}
}

// KeyShape is a key of the data cache.
var KeyShape = Shape[string]{
	Words: "key", Schema: `{"type":"string","pattern":"^` + keyPattern + `$"}`,
	Read: func(d *Decoder, n *Node) string {
		s, ok := d.ReadString(n, "a key")
		if ok {
			CheckKey(d, n, s)
		}
		return s
	},
}

// CheckKey makes a fault of a text that can be no key.
func CheckKey(d *Decoder, n *Node, s string) {
	switch {
	case !keyOnly.MatchString(s):
		d.Fault(n, "want a key of letters, digits, '_', '.' and '-' that begins with a letter or '_', not %q", s)
	case s == "this":
		d.Fault(n, `"this" is reserved for the current element of a loop: choose another key`)
	}
}

// EnumShape is one of some strings.
func EnumShape(what string, of ...string) Shape[string] {
	return Shape[string]{
		Words: strings.Join(of, " or "), Schema: `{"enum":["` + strings.Join(of, `","`) + `"]}`,
		Read: func(d *Decoder, n *Node) string {
			for _, o := range of {
				if n.IsString() && n.Text == o {
					return o
				}
			}
			d.Fault(n, "want %s, one of %s, not %s%s", what, strings.Join(of, ", "), n.Describe(), d.DidYouMean(n.Text, func() []string { return of }))
			return of[0]
		},
	}
}

// Pair is an array of two.
type Pair[A, B any] struct {
	A A
	B B
}

// PairShape is an array of two values.
func PairShape[A, B any](a Shape[A], b Shape[B]) Shape[Pair[A, B]] {
	words := "[" + a.Words + ", " + b.Words + "]"
	return Shape[Pair[A, B]]{
		Words: words, Schema: `{"type":"array","prefixItems":[` + a.Schema + `,` + b.Schema + `],"minItems":2,"maxItems":2}`,
		Read: func(d *Decoder, n *Node) (p Pair[A, B]) {
			if !n.IsArray() || len(n.Elements) != 2 {
				got := n.TypeName()
				if n.IsArray() {
					got = fmt.Sprintf("an array of %d", len(n.Elements))
				}
				d.Fault(n, "want %s, not %s", words, got)
				return p
			}
			p.A, p.B = a.Read(d, n.Elements[0]), b.Read(d, n.Elements[1])
			return p
		},
	}
}
