package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"troupe/engine/lang"
)

// arrive waits for the responses whose values a step uses, so that none is used before it is
// there.
func (cs *captures) arrive(ctx context.Context, s *Step) error {
	for _, key := range cs.used(s) {
		for _, c := range cs.run.cache.expected(key) {
			if c.open && !c.ended {
				return Problemf(CodeInvalidValue, "%q has no value yet: it gets the responses to %q when the list ends", key, c.pattern)
			}
			now, limit := time.Now(), cs.run.task.Config.ActionTimeout
			t := c.term(term{now.Add(limit), limit})
			if own := s.Options.Timeout; own > 0 && now.Add(own).Before(t.until) {
				t = term{now.Add(own), own}
			}
			err := cs.end(ctx, c, t, !c.until.IsZero() && t.until.Equal(c.until))
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				p := cs.run.problem(s, err)
				return Problemf(p.Code, "%q has no value: %s", key, p.Text)
			}
		}
	}
	return nil
}

// used are the keys that a step uses of those that responses are to be kept under.
func (cs *captures) used(s *Step) []string {
	coming := cs.run.cache.expects()
	if len(coming) == 0 {
		return nil
	}
	keys := map[string]bool{}
	s.keys(keys)
	switch v := s.value.(type) {
	case []string: // of getSavedData
		for _, key := range v {
			keys[key] = true
		}
	case lang.Text:
		if s.def.name == "evaluate" && strings.Contains(v.String(), "saved") {
			for _, key := range coming {
				if hasName(v.String(), key) {
					keys[key] = true
				}
			}
		}
	}
	if key := s.Options.Push; key != "" && s.def.name != "waitForResponse" {
		keys[key] = true // what is appended comes after it
	}
	return slices.Sorted(maps.Keys(keys))
}

// waits are the responses that a step would wait for.
func (cs *captures) waits(s *Step) (all []*capture) {
	for _, key := range cs.used(s) {
		all = append(all, cs.run.cache.expected(key)...)
	}
	return all
}

// hasName reports whether a script has a key in it that is no part of a longer name.
func hasName(script, key string) bool {
	part := func(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for at := 0; ; {
		i := strings.Index(script[at:], key)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(script[:at+i])
		after, _ := utf8.DecodeRuneInString(script[at+i+len(key):])
		if !part(before) && !part(after) {
			return true
		}
		at += i + len(key)
	}
}
