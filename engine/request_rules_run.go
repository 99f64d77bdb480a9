package engine

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

func mapKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// rules gives the requests of pages the rules of the task, or those that its session has.
func (in *instance) rules(ctx context.Context, r *Run) (ok bool) {
	in.mu.Lock()
	in.requests = in.requests.with(r.task.Config.requests)
	all := in.requests
	in.mu.Unlock()
	if all == nil {
		return true
	}
	rules, err := r.requestRules(all)
	if err == nil {
		err = r.tabs.SetRules(ctx, rules)
	}
	if err != nil && ctx.Err() == nil {
		code := CodeInternal
		if p, known := err.(*Problem); known {
			code = p.Code
		}
		r.reports.failed(Failure{Code: code, Text: "The rules of config for requests cannot be kept: " + ErrorText(err)}, true)
	}
	return err == nil
}

// requestRules are the rules with the secrets that they name.
func (r *Run) requestRules(c *requestConfig) (*browser.RequestRules, error) {
	rules := &browser.RequestRules{Headers: map[string][]browser.Header{}, Credentials: map[string]browser.Login{}}
	if b := c.Block; b != nil {
		rules.Types, rules.ThirdParty = b.Types, b.ThirdParty
		for _, u := range b.URLs {
			match, err := matchesAddress(u, true)
			if err != nil {
				return nil, err
			}
			rules.URLs = append(rules.URLs, match)
		}
	}
	for _, m := range c.Mock {
		match, err := matchesAddress(m.URL, false)
		if err != nil {
			return nil, err
		}
		mock := browser.Mock{Match: match, Status: m.Status, Body: m.Body}
		for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
			mock.Header = append(mock.Header, browser.Header{Name: name, Value: m.Headers[name]})
		}
		rules.Mocks = append(rules.Mocks, mock)
	}
	for origin, headers := range c.Headers {
		for _, name := range slices.Sorted(maps.Keys(headers)) {
			value, err := r.forOrigin(headers[name], origin)
			if err != nil {
				return nil, err
			}
			rules.Headers[origin] = append(rules.Headers[origin], browser.Header{Name: name, Value: value})
		}
	}
	for origin, l := range c.Credentials {
		name, err := r.forOrigin(l.Username, origin)
		if err != nil {
			return nil, err
		}
		password, err := r.forOrigin(l.Password, origin)
		if err != nil {
			return nil, err
		}
		rules.Credentials[origin] = browser.Login{Username: name, Password: password}
	}
	return rules, nil
}

// matchesAddress compares addresses with a pattern. What would take too long is as
// unclear says.
func matchesAddress(pattern string, unclear bool) (func(string) bool, error) {
	p, err := lang.ReadURLPattern(pattern)
	if err != nil {
		return nil, err
	}
	return func(address string) bool {
		ok, err := p.Match(address, maxRuleEffort)
		return ok || err != nil && unclear
	}, nil
}

// forOrigin fills in the secrets of a text, all of which must be for the origin.
func (r *Run) forOrigin(text, origin string) (string, error) {
	filled, origins, err := r.secrets(lang.ParseSecretText(text))
	if err != nil {
		return "", err
	}
	if origins != nil && !slices.Contains(origins, origin) {
		return "", Problemf(CodeInvalidValue, "a secret for %s is not one of that origin: its origins are the operator's", origin)
	}
	return filled.Expand(nil)
}

// warnUnread says which requests were answered although they could not be read.
func (r *Run) warnUnread() {
	failed, let, names := r.tabs.Unread()
	of := ""
	if len(names) > 0 {
		of = ": " + strings.Join(names, ", ")
	}
	if failed > 0 {
		r.warn("%d %s too large to be compared with the rules of config for requests and sites, and %s failed%s", failed, Plural(failed, "request was", "requests were"), Plural(failed, "was", "were"), of)
	}
	if let > 0 {
		r.warn("%d %s too large to be read, and %s sent: no rule was about %s", let, Plural(let, "request was", "requests were"), Plural(let, "was", "were"), Plural(let, "it", "them"))
	}
}
