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
)

// capture is an answer that waitForResponse waits for while later actions run.
type capture struct {
	step    *Step
	wanted  *browser.Wanted
	pattern string
	until   time.Time // with a timeout of its own: when it gives up
	limit   time.Duration
	body    json.RawMessage
}

func (c *capture) result() json.RawMessage {
	if c.body == nil {
		return null
	}
	return c.body
}

// methodShape is a method of HTTP, in upper or lower case.
var methodShape = Shape[Text]{
	Words: "HTTP method", Schema: `{"type":"string","minLength":1}`,
	read: func(d *decoder, n *node) Text {
		s, ok := wantString(d, n, "an HTTP method")
		t := parseText(s)
		if ok && t.Fixed() && !httpMethod.MatchString(s) {
			d.fault(n, "want an HTTP method such as POST, not %q", s)
		}
		return t
	},
}

var httpMethod = regexp.MustCompile(`^[A-Za-z]+$`)

var _ = define(Action[Text]{
	Name: "waitForResponse", Group: "Advanced",
	Doc: "Begins to look out for the answer to a fetch or XMLHttpRequest of the page, and lets the list go on. The answer's body becomes the task's `data` at the end: parsed when it is JSON, else a string. " +
		"The pattern is part of the address, or a regular expression of RE2 that matches it; `/re/flags` is a regular expression with flags. " +
		"With `timeout` it has so long from its start; without, it may come while later actions run and for the action timeout after the last one. One that does not come is a failed action, reported at the end. " +
		"Actions with the same pattern and method get a response each, in the order in which the responses begin; those with different ones may get the same. Requests of workers (dedicated, shared, service) are not seen.",
	Value:   nonEmpty("pattern"),
	Opts:    []Opt{opt("method", methodShape, "Only requests with this method.")},
	Not:     NotInLoop | NotInBranch,
	Result:  "the answer's body, at the end of the task",
	Example: `{"waitForResponse":"/api/products","options":{"timeout":5000}}`, Page: "/live",
	Check: func(d *decoder, n *node, s *Step, v Text) {
		d.network = true
		if v.Fixed() {
			text, _ := v.Expand(nil)
			p, err := readURLPattern(text)
			if err == nil {
				err = d.matching.add(p.steps())
			}
			if err != nil {
				d.fault(n, "%s", err)
			}
		}
	},
	Run: func(ctx context.Context, r *Run, s *Step, v Text) (Result, error) {
		c := &capture{step: s, limit: r.timeOf(s)}
		if s.Options.Timeout > 0 {
			c.until = time.Now().Add(c.limit)
		}
		r.captures = append(r.captures, c)
		pattern, err := v.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		wanted, err := readURLPattern(pattern)
		if err == nil {
			err = r.matching.add(wanted.steps())
		}
		if err != nil {
			return nil, Problemf(CodeInvalidValue, "%s", err)
		}
		method := ""
		if m, ok := s.Options.own["method"]; ok {
			if method, err = m.(Text).Expand(r.cache); err != nil {
				return nil, err
			}
		}
		c.pattern = pattern
		matches := r.matching.timed(func(url string) (bool, error) { return wanted.match(url, maxAddressEffort) })
		c.wanted = &browser.Wanted{Key: strings.ToUpper(method) + " " + pattern, Match: func(url, m string) bool {
			return (method == "" || strings.EqualFold(method, m)) && matches(url)
		}}
		r.tabs.Want(ctx, c.wanted)
		return nil, nil
	},
})

var slashed = regexp.MustCompile(`^/(.+)/([a-zA-Z]*)$`)

// urlPattern is a pattern for addresses: a part of them, an expression, or either.
type urlPattern struct {
	part string   // empty: none
	re   *pattern // nil: none
}

// steps is how large the expression is.
func (p urlPattern) steps() int {
	if p.re == nil {
		return 0
	}
	return p.re.steps
}

// match reports whether an address matches, unless that would take too long.
func (p urlPattern) match(url string, most int64) (bool, error) {
	switch {
	case p.part != "" && strings.Contains(url, p.part):
		return true, nil
	case p.re == nil:
		return false, nil
	}
	return p.re.match(url, most)
}

// readURLPattern reads a pattern for addresses.
func readURLPattern(s string) (p urlPattern, err error) {
	if m := slashed.FindStringSubmatch(s); m != nil && !looksLikePath(m[2]) {
		flags := ""
		for _, f := range m[2] {
			switch f {
			case 'i', 's', 'm':
				flags += string(f)
			case 'g', 'u', 'y', 'd', 'v': // mean nothing here
			default:
				return p, Problemf(CodeInvalidValue, "pattern %q has an unknown flag %q: want i, m or s", short(s, 100), string(f))
			}
		}
		re := m[1]
		if flags != "" {
			re = "(?" + flags + ")" + re
		}
		if p.re, err = readPattern(re); err != nil {
			return p, Problemf(CodeInvalidValue, "pattern %q is no RE2 expression: %v", short(s, 100), err)
		}
		return p, nil
	}
	if len(s) > maxPattern {
		return p, Problemf(CodeInvalidValue, "pattern %q is too long: it has %d bytes, and %d are the limit", short(s, 100), len(s), maxPattern)
	}
	if regexp.QuoteMeta(s) != s { // else it is no other expression
		if p.re, err = readPattern(s); errors.Is(err, errSteps) {
			return p, Problemf(CodeInvalidValue, "pattern %q is too large: %v", short(s, 100), err)
		}
	}
	p.part = s
	return p, nil
}

// looksLikePath tells "/api/users" from "/re/flags": what follows the last slash
// would have to be flags, each once.
func looksLikePath(flags string) bool {
	for _, f := range flags {
		if !strings.ContainsRune("dgimsuvy", f) || strings.Count(flags, string(f)) > 1 {
			return true
		}
	}
	return false
}

var errCaptured = Problemf(CodeInvalidValue, "the responses that the task has captured have more than %d bytes together, which are the limit", MaxResult)

// collect waits for the answers that have not come yet. One that does not come
// is a failed action, and stops nothing that was done.
func (r *Run) collect(ctx context.Context) {
	after := time.Now()
	for _, c := range r.captures {
		if c.wanted == nil {
			continue // it failed when it began
		}
		until := c.until
		if until.IsZero() {
			until = after.Add(r.task.Config.ActionTimeout)
		}
		err := r.await(ctx, c, until)
		if ctx.Err() != nil {
			return
		}
		c.body = r.mask.JSON(c.body)
		if err == nil && r.captured+len(c.body) > MaxResult {
			err = errCaptured
		}
		if err == nil {
			err = r.keep(c.step, c.body)
		}
		if err == nil {
			r.captured += len(c.body)
			continue
		}
		r.path = c.step.Path
		p := r.problem(c.step, err)
		c.body = nil
		r.reports.failed(Failure{Code: p.Code, Text: r.mask.Text(p.Text).String(), Index: c.step.Index, Path: c.step.Path, Action: c.step.raw}, false)
		r.fails(ctx, c.step.Path, false)
	}
}

func (r *Run) await(ctx context.Context, c *capture, until time.Time) error {
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
			if r.matching.some.Load() {
				return Problemf(CodeTimeout, "No response matched %q within %dms; some addresses were not compared, for which the task's patterns are too large", c.pattern, Millis(c.limit))
			}
			return Problemf(CodeTimeout, "No response matched %q within %dms", c.pattern, Millis(c.limit))
		case <-r.tabs.Gone():
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
	if r.captured+len(b) > MaxResult {
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
