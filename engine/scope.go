package engine

import (
	"context"
	"strconv"

	"troupe/engine/lang"
)

// scope is what the actions of one list have to themselves: those of the task, or of a
// flow that it runs.
type scope struct {
	flow    string // its name and version; empty: the task's own
	cache   *Cache
	secrets map[string]string // what the flow's parameters are in the account; empty: nothing was given
	loop    *loopState        // the innermost loop around the flow: it is not the flow's own
}

// scopes are those of a run.
type scopes struct {
	run     *Run
	now     *scope
	entered int // how many flows were begun
}

// of makes the scope of a flow, with its parameters.
func (sc *scopes) of(ctx context.Context, s *Step, c flowCall) (*scope, error) {
	r := sc.run
	bctx, cancel := r.bound(ctx, s)
	defer cancel()
	sc.entered++
	in := &scope{flow: c.flow.Reference(), cache: r.cache.newFlowCache(strconv.Itoa(sc.entered) + ":"), secrets: map[string]string{}, loop: r.blocks.loop}
	for _, p := range c.flow.Parameters {
		if p.Secret {
			in.secrets[p.Name] = ""
		}
		if p.Default != nil && !in.cache.Set(p.Name, p.Default) {
			return nil, errCacheFull
		}
	}
	for _, a := range c.given {
		if a.to.Secret {
			in.secrets[a.to.Name] = sc.secretName(a.secret)
			continue
		}
		v, err := r.make(bctx, s, a.value)
		if err != nil {
			return nil, err
		}
		switch k := lang.KindOf(v); {
		case k == 'n' && !a.to.Required:
			continue // it is not given
		case k == 'n' || !isOfType(k, a.to.Type):
			return nil, Problemf(CodeInvalidValue, "the flow %q wants %s for the parameter %q, not %s", c.flow.Reference(), typeWords[a.to.Type], a.to.Name, lang.KindName(k))
		}
		if !in.cache.Set(a.to.Name, v) {
			return nil, errCacheFull
		}
	}
	return in, nil
}

// enter makes a scope the current one.
func (sc *scopes) enter(in *scope) (leave func()) {
	r, outer := sc.run, sc.now
	returned, cache := r.returned, r.cache
	sc.now, r.cache, r.returned = in, in.cache, nil
	return func() { sc.now, r.cache, r.returned = outer, cache, returned }
}

// secretName is the name in the account of what the actions call by a name.
func (sc *scopes) secretName(name string) string {
	if own, ok := sc.now.secrets[name]; ok {
		return own
	}
	return name
}
