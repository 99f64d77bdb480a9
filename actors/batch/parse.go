package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"troupe/engine"
)

// The task of a batch is text, and is parsed for each turn of the batch that needs it. Many
// batches may go on at the same moment: those that a start finds, or that were held. What a
// large task is parsed into has many times its size, so an account has one of them at a time,
// and all together have a few.

// parsedAtOnce is how many large tasks there are at a time.
const parsedAtOnce = 4

// restTimes is how many times as long as a large task took to be parsed no other one of its
// account is, once the queue has refused it. So batches that are held take little of the
// processor, however many they are.
const restTimes = 10

// parsing is about the large tasks of one account.
type parsing struct {
	turn  chan struct{}
	users int // batches that have the turn or wait for it; Batches.mu guards it
	// Of whoever has the turn: why the queue refused the last one, and until when no other
	// one is parsed for that.
	why   engine.Code
	until time.Time
}

// withTask parses the task of a batch for f, in turn if it is large.
func (m *Batches) withTask(s *state, f func(*engine.Task) error) error {
	b := m.record(s)
	parse := func() (*engine.Task, error) {
		end, err := engine.BeginParse(m.ctx, len(b.Task))
		if err != nil {
			return nil, err
		}
		defer end()
		t := new(engine.Task)
		if err := json.Unmarshal(b.Task, t); err != nil {
			return nil, fmt.Errorf("read the task of a batch: %w", err)
		}
		opts := *t.Queue
		opts.Retention = b.Keep
		t.Queue = &opts
		return t, nil
	}
	if len(b.Task) <= engine.SmallBody {
		t, err := parse()
		if err != nil {
			return err
		}
		return f(t)
	}
	p, leave, err := m.enterParsing(s.account)
	if err != nil {
		return err
	}
	defer leave()
	if time.Now().Before(p.until) {
		return heldError(p.why)
	}
	began := time.Now()
	t, err := parse()
	if err != nil {
		return err
	}
	took := time.Since(began)
	var held heldError
	if err = f(t); errors.As(err, &held) {
		p.why, p.until = engine.Code(held), time.Now().Add(max(again, restTimes*took))
	}
	return err
}

// enterParsing waits for the turn of an account, and for one of all.
func (m *Batches) enterParsing(account string) (p *parsing, leave func(), err error) {
	m.mu.Lock()
	if p = m.parsed[account]; p == nil {
		p = &parsing{turn: make(chan struct{}, 1)}
		m.parsed[account] = p
	}
	p.users++
	m.mu.Unlock()
	out := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		p.users--
		for id, p := range m.parsed { // those that were refused rest for a while, and then go too
			if p.users == 0 && !time.Now().Before(p.until) {
				delete(m.parsed, id)
			}
		}
	}
	for _, turn := range []chan struct{}{p.turn, m.parsing} {
		select {
		case turn <- struct{}{}:
			before := out
			out = func() { <-turn; before() }
		case <-m.ctx.Done():
			out()
			return nil, nil, context.Cause(m.ctx)
		}
	}
	return p, out, nil
}
