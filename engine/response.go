package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

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
	as      string
	cache   *Cache // that keeps the body
	ended   bool   // the body has come, or err says why it never will
	err     error
}

// term is how long a response may take.
type term struct {
	until time.Time
	limit time.Duration // from its start on, for people
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
		"Actions with the same pattern and method get one response each, in the order in which the responses begin. Actions with different ones can get the same response. With `count` or `until`, one action gets several: `count` then counts as so many actions. " +
		"`save` and `push` keep the body when it has come. An action that uses the key before that waits for it: at most until the response's `timeout`, or for the action timeout where it has none. If the response does not come, that action fails. " +
		"A body that is neither text nor JSON needs `as`. Requests of workers (dedicated, shared, service) are not seen. In `while`, `until`, `forEach`, `retry` and `try` it waits for one response each time that it runs; `data` is an array then, however many there are.",
	Value: lang.NonEmptyShape("pattern"),
	Opts: []Opt{
		opt("method", methodShape, "Only requests with this method."),
		opt("count", lang.IntShape("a number of responses", 1, maxResponses), "How many responses to wait for. The body becomes an array of their bodies, in the order in which they begin, with null for each that does not come."),
		opt("as", lang.EnumShape("how the body is given", "json", "text", "base64", "file"), "How the body is given. `json`: as a value; a body that is no JSON is a failure. `text`: as a string, also where it is JSON. `base64`: its bytes. `file`: an object `{name, url, size, type, sha256}`; the URL has its bytes. Default: JSON if it is JSON, else a string, in which bytes that are no UTF-8 are replaced, with a warning."),
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
		c := &capture{step: s, limit: r.timeOf(s), at: r.blocks.iteration(), within: r.blocks.iterations(), allowed: r.blocks.tolerates(s), count: own(s, "count", 0), open: own(s, "until", "") == "end", as: own(s, "as", ""), cache: r.cache}
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
		c.cache.expect(c)
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
		limit := cs.run.task.Config.ActionTimeout
		err := cs.end(ctx, c, c.term(term{after.Add(limit), limit}), true)
		if ctx.Err() != nil {
			return
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

// term is how long the response may take: by its own time, or else by another.
func (c *capture) term(other term) term {
	if !c.until.IsZero() {
		return term{c.until, c.limit}
	}
	return other
}

// end waits for a response and keeps it. The last time that it is waited for, it has failed
// if it does not come.
func (cs *captures) end(ctx context.Context, c *capture, t term, last bool) error {
	if c.ended {
		return c.err
	}
	bytes := cs.bytes
	err := cs.take(ctx, c, t)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var late *Problem
	if !last && errors.As(err, &late) && late.Code == CodeTimeout {
		c.body, cs.bytes = nil, bytes
		return err
	}
	c.ended = true
	if c.err = err; err == nil {
		c.err = cs.keep(c)
	}
	return c.err
}

// keep carries out save and push of a response that has come.
func (cs *captures) keep(c *capture) error {
	if len(c.body) > MaxResult {
		return Problemf(CodeInvalidValue, "the result of %s has %d bytes, and %d are the limit", c.step.def.name, len(c.body), MaxResult)
	}
	pushed, ok := c.cache.come(c, c.body)
	if !ok {
		return errCacheFull
	}
	if b := &cs.run.blocks; pushed && b.loop != cs.run.scopes.now.loop {
		b.loop.push(c.step.Options.Push, c.body)
	}
	return nil
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
func (cs *captures) take(ctx context.Context, c *capture, t term) error {
	if c.count == 0 {
		var err error
		c.body, err = cs.one(ctx, c, c.wanted[0], t)
		return err
	}
	var failed error
	all := []json.RawMessage{}
	missing := 0
	for i, w := range c.wanted {
		if c.open && !w.Begun() {
			break // and neither has one of those after it
		}
		body, err := cs.one(ctx, c, w, t)
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
func (cs *captures) one(ctx context.Context, c *capture, w *browser.Wanted, t term) (json.RawMessage, error) {
	b, err := cs.await(ctx, c, w, t)
	if err != nil {
		return nil, err
	}
	if b, err = cs.given(ctx, c, w, b); err != nil {
		return nil, err
	}
	body := cs.run.mask.JSON(b)
	if cs.bytes+len(body) > MaxResult {
		return nil, errCaptured
	}
	cs.bytes += len(body)
	return body, nil
}

func (cs *captures) await(ctx context.Context, c *capture, w *browser.Wanted, t term) ([]byte, error) {
	late := func() error {
		if status := w.Status(); status != 0 {
			return Problemf(CodeTimeout, "The response to %q has begun with status %d, but it did not end within %dms", c.pattern, status, Millis(t.limit))
		}
		if cs.matching.some.Load() {
			return Problemf(CodeTimeout, "No response matched %q within %dms; some addresses were not compared, because the task's patterns are too large", c.pattern, Millis(t.limit))
		}
		return Problemf(CodeTimeout, "No response matched %q within %dms", c.pattern, Millis(t.limit))
	}
	timer := time.NewTimer(time.Until(t.until))
	defer timer.Stop()
	for over := timer.C; ; {
		select {
		case <-w.Done():
		case <-over:
			if _, come := w.Arrived(); !come {
				return nil, late()
			}
			over = nil // it is being read
			continue
		case <-cs.run.tabs.Gone():
			return nil, browser.ErrGone
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		break
	}
	if at, come := w.Arrived(); come && at.After(t.until) {
		return nil, late() // we look late, and so it was
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
	return b, nil
}
