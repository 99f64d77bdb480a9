package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// capture is an answer that waitForResponse waits for while later actions run.
type capture struct {
	step    *Step
	wanted  []*browser.Wanted // one for each response
	count   int               // how many were asked for; zero: one, and its body alone
	open    bool              // it takes those that come until the list ends
	pattern string
	until   time.Time // with a timeout of its own: when it gives up
	limit   time.Duration
	body    json.RawMessage
	at      *int // the iteration that it began in
	within  []int
	allowed bool // it may fail: see [blocks.tolerates]
}

// maxCaptures bounds the responses that one task waits for: in loops the number of
// its actions does not.
const maxCaptures = 1000

// maxResponses bounds those that one action waits for.
const maxResponses = 200

// captures are the answers that a run waits for.
type captures struct {
	run      *Run
	list     []*capture
	begun    int // those of flows that have ended, too
	bytes    int // of what they have captured
	matching matching
}

func (c *capture) result() json.RawMessage {
	if c.body == nil {
		return null
	}
	return c.body
}

// methodShape is a method of HTTP, in upper or lower case.
var methodShape = lang.Shape[lang.Text]{
	Words: "HTTP method", Schema: `{"type":"string","minLength":1}`,
	Read: func(d *lang.Decoder, n *lang.Node) lang.Text {
		s, ok := d.ReadString(n, "an HTTP method")
		t := lang.ParseText(s)
		if ok && t.Fixed() && !httpMethod.MatchString(s) {
			d.Fault(n, "want an HTTP method such as POST, not %q", s)
		}
		return t
	},
}

var httpMethod = regexp.MustCompile(`^[A-Za-z]+$`)

var _ = define(Action[lang.Text]{
	Name: "waitForResponse", Group: "Advanced",
	Doc: "Starts to wait for the response to a fetch or XMLHttpRequest of the page, while later actions run. The response's body becomes the task's `data` at the end: parsed if it is JSON, else a string. " +
		"The pattern is a part of the address, or an RE2 regular expression that matches it; `/re/flags` is a regular expression with flags. " +
		"With `timeout`, the response must come within that time from the start of this action. Without it, the response can come while later actions run, and within the action timeout after the last one. If it does not come, the action has failed; that is reported at the end. " +
		"Actions with the same pattern and method get one response each, in the order in which the responses begin. Actions with different ones can get the same response. With `count` or `until`, one action gets several: `count` then counts as so many actions. Requests of workers (dedicated, shared, service) are not seen. In `while`, `until`, `forEach`, `retry` and `try` it waits for one response each time that it runs; `data` is an array then, however many there are.",
	Value: lang.NonEmptyShape("pattern"),
	Opts: []Opt{
		opt("method", methodShape, "Only requests with this method."),
		opt("count", lang.IntShape("a number of responses", 1, maxResponses), "How many responses to wait for. The body becomes an array of their bodies, in the order in which they begin, with null for each that does not come."),
		opt("until", lang.EnumShape("how long to wait", "end"), "`end`: takes all responses to requests that begin before the list ends, at most `count` (default 200). The body becomes an array of their bodies. It is no failure if there are none."),
	},
	Not:     NotInLoop | NotInBranch,
	Result:  "the response's body, at the end of the task",
	Example: `{"waitForResponse":"/api/products","options":{"timeout":5000}}`, Page: "/live",
	Check: func(d *decoder, n *lang.Node, s *Step, v lang.Text) {
		d.network = true
		d.severalResponses = d.severalResponses || d.blocks > 0
		if v.Fixed() {
			text, _ := v.Expand(nil)
			p, err := lang.ReadURLPattern(text)
			if err == nil {
				err = d.matching.add(p.Steps())
			}
			if err != nil {
				d.Fault(n, "%s", err)
			}
		}
	},
	Run: func(ctx context.Context, r *Run, s *Step, v lang.Text) (Result, error) {
		c := &capture{step: s, limit: r.timeOf(s), at: r.blocks.iteration(), within: r.blocks.iterations(), allowed: r.blocks.tolerates(s), count: own(s, "count", 0), open: own(s, "until", "") == "end"}
		if c.open && c.count == 0 {
			c.count = maxResponses
		}
		n := max(1, c.count)
		if r.captures.begun+n > maxCaptures {
			return nil, Problemf(CodeInvalidValue, "the task has begun to wait for %d responses, which are the limit", maxCaptures)
		}
		r.captures.begun += n
		if s.Options.Timeout > 0 {
			c.until = time.Now().Add(c.limit)
		}
		r.captures.list = append(r.captures.list, c)
		pattern, err := v.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		matches, err := r.captures.matching.pattern(pattern, true)
		if err != nil {
			return nil, err
		}
		method := ""
		if m, ok := s.Options.own["method"]; ok {
			if method, err = m.(lang.Text).Expand(r.cache); err != nil {
				return nil, err
			}
		}
		c.pattern = pattern
		for range n {
			c.wanted = append(c.wanted, &browser.Wanted{Key: strings.ToUpper(method) + " " + pattern, Match: func(url, m string) bool {
				return (method == "" || strings.EqualFold(method, m)) && matches(url)
			}})
		}
		r.tabs.Network.Want(ctx, c.wanted...)
		return nil, nil
	},
})

var errCaptured = Problemf(CodeInvalidValue, "the responses that the task has captured have more than %d bytes together, which are the limit", MaxResult)

// collect waits for the answers from the first one on that have not come yet. One that
// does not come is a failed action, and stops nothing that was done.
func (cs *captures) collect(ctx context.Context, first int) {
	after := time.Now()
	for _, c := range cs.list[first:] {
		if c.wanted == nil {
			continue // it failed when it began
		}
		until := c.until
		if until.IsZero() {
			until = after.Add(cs.run.task.Config.ActionTimeout)
		}
		err := cs.take(ctx, c, until)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = cs.run.keep(c.step, c.body)
		}
		if err == nil {
			continue
		}
		cs.run.path = c.step.Path
		p := cs.run.problem(c.step, err)
		if c.count == 0 {
			c.body = nil
		}
		cs.run.reports.failed(Failure{Code: p.Code, Text: cs.run.mask.Text(p.Text).String(), Index: c.step.Index, Path: c.step.Path, Flow: cs.run.scopes.now.flow, Iteration: c.at, Iterations: c.within, Action: c.step.raw, Tolerated: c.allowed}, false)
		cs.run.evidence.fails(ctx, c.step.Path, false)
	}
}

// tolerate lets the answers from the first one on fail: the actions that wait for them run
// again.
func (cs *captures) tolerate(first int) {
	for _, c := range cs.list[first:] {
		c.allowed = true
	}
}

// results is the task's result, and the last other result where captured responses
// take its place.
func (cs *captures) results() (data, last Result) {
	if bodies, any := cs.bodies(0, cs.run.task.severalResponses); any {
		return bodies, cs.run.last
	}
	return cs.run.last, nil
}

// bodies is what was captured from the first answer on: one body, or a list of them.
func (cs *captures) bodies(first int, several bool) (bodies Result, any bool) {
	list := cs.list[first:]
	switch {
	case several:
	case len(list) == 0:
		return nil, false
	case len(list) == 1:
		return list[0].result(), true
	}
	all := make([]json.RawMessage, len(list))
	for i, c := range list {
		all[i] = c.result()
	}
	return join(all), true
}

// take takes the body of a response, or the array of those that one action waits for. What
// has come of an array stays, whatever fails.
func (cs *captures) take(ctx context.Context, c *capture, until time.Time) error {
	if c.count == 0 {
		var err error
		c.body, err = cs.one(ctx, c, c.wanted[0], until)
		return err
	}
	var failed error
	all := []json.RawMessage{}
	missing := 0
	for i, w := range c.wanted {
		if c.open && !w.Begun() {
			break // and neither has one of those after it
		}
		body, err := cs.one(ctx, c, w, until)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			all = append(all, body)
			continue
		case c.open && !errors.Is(err, browser.ErrGone) && !errors.Is(err, errCaptured):
			missing++
			continue
		}
		var late *Problem
		if errors.As(err, &late) && late.Code == CodeTimeout {
			late.Text += fmt.Sprintf(": it is number %d of %d", i+1, c.count)
		}
		if failed == nil {
			failed = err
		}
		all = append(all, null)
	}
	if missing > 0 {
		cs.run.path = c.step.Path
		cs.run.warn("%d responses to %q were left out: they did not end in time, or failed", missing, c.pattern)
	}
	c.body = join(all)
	return failed
}

// one waits for one response, and counts its body.
func (cs *captures) one(ctx context.Context, c *capture, w *browser.Wanted, until time.Time) (json.RawMessage, error) {
	b, err := cs.await(ctx, c, w, until)
	if err != nil {
		return nil, err
	}
	body := cs.run.mask.JSON(b)
	if cs.bytes+len(body) > MaxResult {
		return nil, errCaptured
	}
	cs.bytes += len(body)
	return body, nil
}

func (cs *captures) await(ctx context.Context, c *capture, w *browser.Wanted, until time.Time) (json.RawMessage, error) {
	select {
	case <-w.Done(): // it may have come in time although we look late
	default:
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		select {
		case <-w.Done():
		case <-t.C:
			if status := w.Status(); status != 0 {
				return nil, Problemf(CodeTimeout, "The response to %q has begun with status %d, but it did not end within %dms", c.pattern, status, Millis(c.limit))
			}
			if cs.matching.some.Load() {
				return nil, Problemf(CodeTimeout, "No response matched %q within %dms; some addresses were not compared, because the task's patterns are too large", c.pattern, Millis(c.limit))
			}
			return nil, Problemf(CodeTimeout, "No response matched %q within %dms", c.pattern, Millis(c.limit))
		case <-cs.run.tabs.Gone():
			return nil, browser.ErrGone
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	b, err := w.Body()
	if err != nil {
		if errors.Is(err, browser.ErrGone) {
			return nil, err
		}
		if errors.Is(err, browser.ErrTooMuch) {
			return nil, errCaptured
		}
		return nil, Problemf(CodeNavigationFailed, "The response to %q could not be read: %s", c.pattern, ErrorText(err))
	}
	if cs.bytes+len(b) > MaxResult {
		return nil, errCaptured // before a copy of it is made
	}
	return bodyJSON(b), nil
}

// bodyJSON is a body as JSON: itself if it is, else as a string.
func bodyJSON(b []byte) json.RawMessage {
	if json.Valid(b) && utf8.Valid(b) {
		return json.RawMessage(browser.WellFormed(b))
	}
	s, _ := json.Marshal(strings.ToValidUTF8(string(b), "\uFFFD"))
	return s
}
