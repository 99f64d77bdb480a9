package lang

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// A regular expression in a selector has the meaning of all others of the service: RE2's. It
// is not run as an expression of the page's engine, which can take for ever for some: the page
// script gets the program that it compiles to, and follows all its ways at once.

const (
	maxExpressionSteps = 4000  // of a program: it is sent with each look at the page
	maxProgramNumbers  = 40000 // in it
)

// Program is a compiled expression, as the page script runs it.
type Program struct {
	As      string  `json:"t"`           // how the client wrote it
	Start   int     `json:"s"`           // the first instruction
	Bound   bool    `json:"b,omitempty"` // it asks where it stands: at a beginning, an end, a border of a word
	Literal string  `json:"l,omitempty"` // what each match begins with
	Steps   [][]int `json:"i"`           // operation, next instruction, and what the operation needs
}

// The operations of a [Program].
const (
	opFail  = iota
	opMatch // the end of the expression
	opGo    // on to the next instruction
	opEither
	opWhere // the numbers are conditions on the place: see syntax.EmptyOp
	opChar  // the numbers are ranges of characters
	opAny
	opAnyInLine
)

// CompileExpression makes a program of an expression and its flags.
func CompileExpression(expression, flags string) (*Program, error) {
	if len(expression) > maxPattern {
		return nil, fmt.Errorf("it has %d bytes, and %d are the limit", len(expression), maxPattern)
	}
	source, err := asRE2(expression)
	if err != nil {
		return nil, err
	}
	if own := strings.ReplaceAll(flags, "u", ""); own != "" {
		source = "(?" + own + ")" + source
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if n := steps(tree); n > maxExpressionSteps {
		return nil, fmt.Errorf("%w: with its repetitions it has %d, and %d are the limit", errSteps, n, maxExpressionSteps)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	p := &Program{As: "/" + expression + "/" + flags, Start: prog.Start}
	p.Literal, _ = prog.Prefix()
	numbers := 0
	for _, in := range prog.Inst {
		step := []int{opFail, int(in.Out)}
		switch in.Op {
		case syntax.InstMatch:
			step[0] = opMatch
		case syntax.InstNop, syntax.InstCapture:
			step[0] = opGo
		case syntax.InstAlt, syntax.InstAltMatch:
			step = []int{opEither, int(in.Out), int(in.Arg)}
		case syntax.InstEmptyWidth:
			step = []int{opWhere, int(in.Out), int(in.Arg)}
			p.Bound = true
		case syntax.InstRuneAny:
			step[0] = opAny
		case syntax.InstRuneAnyNotNL:
			step[0] = opAnyInLine
		case syntax.InstRune, syntax.InstRune1:
			step[0] = opChar
			step = append(step, ranges(in)...)
		}
		if numbers += len(step); numbers > maxProgramNumbers {
			return nil, fmt.Errorf("%w for a selector: it is about too many characters", errSteps)
		}
		p.Steps = append(p.Steps, step)
	}
	return p, nil
}

// ranges are the characters of an instruction: the first and the last of each range.
func ranges(in syntax.Inst) (out []int) {
	if len(in.Rune) == 1 {
		out = []int{int(in.Rune[0]), int(in.Rune[0])}
		if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
			for r := unicode.SimpleFold(in.Rune[0]); r != in.Rune[0]; r = unicode.SimpleFold(r) {
				out = append(out, int(r), int(r))
			}
		}
		return out
	}
	for _, r := range in.Rune {
		out = append(out, int(r))
	}
	return out
}

// asRE2 is an expression with what JavaScript spells otherwise as RE2 has it: \u00e4 and
// \u{1f600}. What RE2 has no word for is named.
func asRE2(s string) (string, error) {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			rest := s[i+2:]
			switch c := s[i+1]; {
			case c == 'u' && strings.HasPrefix(rest, "{"):
				b.WriteString(`\x`)
			case c == 'u' && len(rest) >= 4 && isHex(rest[:4]):
				b.WriteString(`\x{` + rest[:4] + `}`)
				i += 4
			case c >= '1' && c <= '9' || c == 'k':
				return "", fmt.Errorf(`\%c means what a group has matched, which RE2 does not have`, c)
			default:
				b.WriteString(s[i : i+2])
			}
			i++
			continue
		}
		if !inClass {
			for _, p := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
				if strings.HasPrefix(s[i:], p) {
					return "", fmt.Errorf("%s looks around, which RE2 does not have: use hasNotText, or two selectors", p)
				}
			}
		}
		inClass = s[i] == '[' || inClass && s[i] != ']'
		b.WriteByte(s[i])
	}
	return b.String(), nil
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// wording is a text of a description, or a regular expression.
type wording struct {
	text       Text
	flags      string
	expression bool
}

const wordingExample = `{"regex": "^Save( all)?$", "flags": "i"}`

// readWording reads a text or an expression.
func readWording(d *Decoder, n *Node, field string) *wording {
	if !n.IsObject() || field == describing[byRole] {
		if slashed.MatchString(n.Text) && n.IsString() && looksLikeExpression(n.Text) {
			m := slashed.FindStringSubmatch(n.Text)
			want := `{"regex": ` + quoted(m[1]) + `}`
			if m[2] != "" {
				want = `{"regex": ` + quoted(m[1]) + `, "flags": ` + quoted(m[2]) + `}`
			}
			d.Warn(n, "%s is a text and no regular expression: for one want %s", quoted(n.Text), want)
		}
		return &wording{text: NonEmptyShape(field).Read(d, n)}
	}
	w := &wording{expression: true}
	var expression *Node
	d.ReadObject(n, "a regular expression", Field("regex", func(f *Node) {
		expression = f
		w.text = NonEmptyShape("regular expression").Read(d, f)
	}), Field("flags", func(f *Node) {
		w.flags, _ = d.ReadString(f, "flags")
		for i, c := range w.flags {
			if !strings.ContainsRune("imsu", c) || strings.ContainsRune(w.flags[:i], c) {
				d.Fault(f, "want flags of i, m, s and u, each once, not %q", Short(w.flags, 20))
				w.flags = ""
				break
			}
		}
	}))
	if expression == nil {
		d.Fault(n, `want a text, or a regular expression such as %s`, wordingExample)
		return w
	}
	if expression.IsString() && w.text.Fixed() {
		s, _ := w.text.Expand(nil)
		if _, err := CompileExpression(s, w.flags); err != nil {
			d.Fault(expression, "want a regular expression of RE2 such as %q: %v", `^Save( all)?$`, err)
		}
	}
	return w
}

// looksLikeExpression reports whether somebody means an expression by /text/: a path of an
// address looks like that, too.
func looksLikeExpression(s string) bool {
	m := slashed.FindStringSubmatch(s)
	return m != nil && (strings.ContainsAny(m[1], `\^$*+?()[]|`) || slices.Contains([]string{"i", "g", "u", "gi", "iu", "ig", "im", "m", "s"}, m[2]))
}

// String is the wording as the client wrote it.
func (w *wording) String() string {
	if w.expression {
		return "/" + w.text.String() + "/" + w.flags
	}
	return w.text.String()
}
