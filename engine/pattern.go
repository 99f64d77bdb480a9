package engine

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync/atomic"
	"time"
)

// A pattern is short and can become very large: (((a?){10}){10}){10} is a thousand
// steps, which take memory as long as the pattern is waited for, and time at each
// character of a text.
const (
	maxPattern       = 4 << 10         // bytes of a pattern
	maxSteps         = 10_000          // that it becomes
	maxStepsOfTask   = 50_000          // of all patterns that a task waits for
	maxEffort        = 1 << 29         // steps times bytes of one comparison: seconds at worst
	maxAddressEffort = 1 << 24         // the same for an address, of which a page can ask for very many
	maxMatching      = 2 * time.Second // that a task's patterns for responses may take in all
)

// errSteps is the error of a pattern that becomes too large.
var errSteps = errors.New("it has too many steps")

// pattern is an RE2 expression that is neither too long nor too large. It is compiled
// when it is first used.
type pattern struct {
	source string
	steps  int
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
	if int64(p.steps)*int64(len(text)) > most {
		return false, fmt.Errorf("it has %d steps, which is too much for a text of %d bytes", p.steps, len(text))
	}
	if p.re == nil {
		re, err := regexp.Compile(p.source)
		if err != nil {
			return false, err
		}
		p.re = re
	}
	return p.re.MatchString(text), nil
}

// matching is what the patterns of a task that wait for responses may take together:
// they are looked at for every request of a page.
type matching struct {
	steps int
	took  atomic.Int64 // nanoseconds
	some  atomic.Bool  // addresses were not compared
}

// add takes a pattern, unless there are too many steps.
func (m *matching) add(n int) error {
	if m.steps+n > maxStepsOfTask {
		return fmt.Errorf("the task's patterns have more than %d steps together, which are the limit", maxStepsOfTask)
	}
	m.steps += n
	return nil
}

// timed matches as long as there is time for it. What would take too long matches
// nothing.
func (m *matching) timed(matches func(string) (bool, error)) func(string) bool {
	return func(text string) bool {
		if m.took.Load() > int64(maxMatching) {
			m.some.Store(true)
			return false
		}
		began := time.Now()
		ok, err := matches(text)
		m.took.Add(int64(time.Since(began)))
		if err != nil {
			m.some.Store(true)
		}
		return ok
	}
}
