package engine

import (
	"context"
	"encoding/json"
	"errors"
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
	wanted  *browser.Wanted
	pattern string
	until   time.Time // with a timeout of its own: when it gives up
	limit   time.Duration
	body    json.RawMessage
	at      *int // the iteration that it began in
	within  []int
}

// maxCaptures bounds the responses that one task waits for: in loops the number of
// its actions does not.
const maxCaptures = 1000

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
		"Actions with the same pattern and method get one response each, in the order in which the responses begin. Actions with different ones can get the same response. Requests of workers (dedicated, shared, service) are not seen. In `while`, `until`, `forEach`, `retry` and `try` it waits for one response each time that it runs; `data` is an array then, however many there are.",
	Value:   lang.NonEmptyShape("pattern"),
	Opts:    []Opt{opt("method", methodShape, "Only requests with this method.")},
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
		if r.captures.begun == maxCaptures {
			return nil, Problemf(CodeInvalidValue, "the task has begun to wait for %d responses, which are the limit", maxCaptures)
		}
		r.captures.begun++
		c := &capture{step: s, limit: r.timeOf(s), at: r.blocks.iteration(), within: r.blocks.iterations()}
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
		c.wanted = &browser.Wanted{Key: strings.ToUpper(method) + " " + pattern, Match: func(url, m string) bool {
			return (method == "" || strings.EqualFold(method, m)) && matches(url)
		}}
		r.tabs.Network.Want(ctx, c.wanted)
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
		err := cs.await(ctx, c, until)
		if ctx.Err() != nil {
			return
		}
		c.body = cs.run.mask.JSON(c.body)
		if err == nil && cs.bytes+len(c.body) > MaxResult {
			err = errCaptured
		}
		if err == nil {
			err = cs.run.keep(c.step, c.body)
		}
		if err == nil {
			cs.bytes += len(c.body)
			continue
		}
		cs.run.path = c.step.Path
		p := cs.run.problem(c.step, err)
		c.body = nil
		cs.run.reports.failed(Failure{Code: p.Code, Text: cs.run.mask.Text(p.Text).String(), Index: c.step.Index, Path: c.step.Path, Flow: cs.run.scopes.now.flow, Iteration: c.at, Iterations: c.within, Action: c.step.raw}, false)
		cs.run.evidence.fails(ctx, c.step.Path, false)
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

func (cs *captures) await(ctx context.Context, c *capture, until time.Time) error {
	select {
	case <-c.wanted.Done(): // it may have come in time although we look late
	default:
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		select {
		case <-c.wanted.Done():
		case <-t.C:
			if status := c.wanted.Status(); status != 0 {
				return Problemf(CodeTimeout, "The response to %q has begun with status %d, but it did not end within %dms", c.pattern, status, Millis(c.limit))
			}
			if cs.matching.some.Load() {
				return Problemf(CodeTimeout, "No response matched %q within %dms; some addresses were not compared, because the task's patterns are too large", c.pattern, Millis(c.limit))
			}
			return Problemf(CodeTimeout, "No response matched %q within %dms", c.pattern, Millis(c.limit))
		case <-cs.run.tabs.Gone():
			return browser.ErrGone
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	b, err := c.wanted.Body()
	if err != nil {
		if errors.Is(err, browser.ErrGone) {
			return err
		}
		if errors.Is(err, browser.ErrTooMuch) {
			return errCaptured
		}
		return Problemf(CodeNavigationFailed, "The response to %q could not be read: %s", c.pattern, ErrorText(err))
	}
	if cs.bytes+len(b) > MaxResult {
		return errCaptured // before a copy of it is made
	}
	c.body = bodyJSON(b)
	return nil
}

// bodyJSON is a body as JSON: itself if it is, else as a string.
func bodyJSON(b []byte) json.RawMessage {
	if json.Valid(b) && utf8.Valid(b) {
		return json.RawMessage(b)
	}
	s, _ := json.Marshal(strings.ToValidUTF8(string(b), "\uFFFD"))
	return s
}
