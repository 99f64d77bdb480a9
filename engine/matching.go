package engine

import (
	"fmt"
	"sync/atomic"
	"time"

	"troupe/engine/lang"
)

// The bounds of the patterns that a task waits for, together.
const (
	maxStepsOfTask   = 50_000          // of all patterns that a task waits for
	maxAddressEffort = 1 << 24         // the same for an address, of which a page can ask for very many
	maxMatching      = 2 * time.Second // that they may take in all
)

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

// pattern is what matches a part of a text, or a regular expression. Patterns that stay
// until the task ends count together.
func (m *matching) pattern(text string, stays bool) (func(string) bool, error) {
	p, err := lang.ReadURLPattern(text)
	if err == nil && stays {
		err = m.add(p.Steps())
	}
	if err != nil {
		return nil, Problemf(CodeInvalidValue, "%s", err)
	}
	return m.timed(func(s string) (bool, error) { return p.Match(s, maxAddressEffort) }), nil
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
