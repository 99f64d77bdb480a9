package lang

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// A pattern is short and can become very large: (((a?){10}){10}){10} is a thousand
// steps, which take memory as long as the pattern is waited for, and time at each
// character of a text.
const (
	maxPattern = 4 << 10 // bytes of a pattern
	maxSteps   = 10_000  // that it becomes
	maxEffort  = 1 << 29 // steps times bytes of one comparison: seconds at worst
)

// errSteps is the error of a pattern that becomes too large.
var errSteps = errors.New("it has too many steps")

// pattern is an RE2 expression that is neither too long nor too large. It is compiled
// when it is first used.
type pattern struct {
	source string
	steps  int
	once   bool // it is compiled whenever it is used
	re     *regexp.Regexp
}

func readPattern(s string) (*pattern, error) {
	if len(s) > maxPattern {
		return nil, fmt.Errorf("it has %d bytes, and %d are the limit", len(s), maxPattern)
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, err
	}
	p := &pattern{source: s, steps: steps(tree)}
	if p.steps > maxSteps {
		return nil, fmt.Errorf("%w: with its repetitions it has %d, and %d are the limit", errSteps, p.steps, maxSteps)
	}
	return p, nil
}

// CheckPattern returns what is wrong with the right side of "matches", if anything.
func CheckPattern(s string) error {
	_, err := readPattern(s)
	return err
}

// steps estimates how large the compiled expression is.
func steps(e *syntax.Regexp) (n int) {
	for _, sub := range e.Sub {
		n += steps(sub) + 1
	}
	switch e.Op {
	case syntax.OpLiteral:
		n += len(e.Rune)
	case syntax.OpCharClass:
		n += 1 + len(e.Rune)/8
	case syntax.OpRepeat:
		// The parser has no nested repetitions of more than 1000 in all.
		n *= max(e.Min+1, e.Max)
	default:
		n++
	}
	return n
}

// match reports whether a text matches, unless that would take too long.
func (p *pattern) match(text string, most int64) (bool, error) {
	re, err := p.compiled(text, most)
	return err == nil && re.MatchString(text), err
}

// compiled is the expression, to be used on a text that it does not take too long
// with.
func (p *pattern) compiled(text string, most int64) (*regexp.Regexp, error) {
	if int64(p.steps)*int64(len(text)) > most {
		return nil, fmt.Errorf("it has %d steps, which is too much for a text of %d bytes", p.steps, len(text))
	}
	if p.re != nil {
		return p.re, nil
	}
	re, err := regexp.Compile(p.source)
	if err != nil {
		return nil, err
	}
	if !p.once {
		p.re = re
	}
	return re, nil
}
