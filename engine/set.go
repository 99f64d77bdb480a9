package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"troupe/engine/lang"
)

// assignment is a key of the data cache and the value that it gets.
type assignment struct {
	key   string
	value lang.Template
}

type assignments []assignment

// Keys adds what the values read, except for what earlier ones have set.
func (a assignments) Keys(to map[string]bool) {
	set := map[string]bool{}
	for _, one := range a {
		reads := map[string]bool{}
		one.value.Keys(reads)
		for key := range reads {
			if !lang.Root(key, func(root string) bool { return set[root] }) {
				to[key] = true
			}
		}
		set[one.key] = true
	}
}

// writes are the keys that are set.
func (a assignments) writes() (keys []string) {
	for _, one := range a {
		keys = append(keys, one.key)
	}
	return keys
}

func (a assignments) asks() bool {
	for _, one := range a {
		if one.value.Asks() {
			return true
		}
	}
	return false
}

// valueRef is the schema of a value with functions in it.
const valueRef = `{"$ref":"#/$defs/value"}`

var _ = define(Action[assignments]{
	Name: "set", Group: "Data cache",
	Doc: "Saves values, made from other values, in their order. A string that is `${key}` alone is that value; in a longer one the value is put in as text. " +
		"An object with one field such as `{\"$trim\": …}` is the call of a [function](../actions.md#functions).",
	Value: lang.Shape[assignments]{
		Words: "{key: value, …}", Schema: `{"type":"object","minProperties":1,"additionalProperties":` + valueRef + `}`,
		Read: func(d *lang.Decoder, n *lang.Node) (all assignments) {
			if !n.IsObject() || len(n.Fields) == 0 {
				d.Fault(n, `want an object of keys and values such as {"name":"Ada"}, not %s`, n.TypeName())
				return nil
			}
			for _, f := range n.Fields {
				lang.CheckKey(d, f, f.Key)
				all = append(all, assignment{f.Key, lang.TemplateShape.Read(d, f)})
			}
			return all
		},
	},
	Example: `{"set":{"page":{"$number":"3"},"address":{"$absolute":"/?page=3"},"seen":["${page}"]}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v assignments) (Result, error) {
		for _, one := range v {
			value, err := r.make(ctx, s, one.value)
			if err != nil {
				return nil, err
			}
			if !r.cache.Set(one.key, value) {
				return nil, errCacheFull
			}
		}
		return nil, nil
	},
})

// make makes a value, without secrets: parts of one may have come together in it.
func (r *Run) make(ctx context.Context, s *Step, t lang.Template) (Result, error) {
	env := &valueEnv{run: r, ctx: ctx, step: s}
	v, err := t.Make(env)
	if env.err != nil {
		err = env.err
	}
	if err != nil {
		return nil, err
	}
	return r.mask.JSON(v), nil
}

// valueEnv is what values are made with in a run.
type valueEnv struct {
	run     *Run
	ctx     context.Context
	step    *Step
	address string
	err     error // that ends everything
}

// Get is a value of the data cache, or nothing when the task has looked at too much.
func (e *valueEnv) Get(key string) (json.RawMessage, bool) {
	if e.err != nil {
		return nil, false
	}
	v, ok := e.run.cache.Get(key)
	if e.Charge(len(v)) != nil {
		return nil, false
	}
	return v, ok
}

func (e *valueEnv) Now() time.Time { return time.Now() }

// Address is asked for once for each action.
func (e *valueEnv) Address() (string, error) {
	if e.address == "" {
		about, err := e.run.page.about(e.ctx, e.step)
		if err != nil {
			return "", err
		}
		e.address = about.URL
	}
	return e.address, nil
}

func (e *valueEnv) Charge(n int) error {
	switch { // one action can hold thousands of functions
	case e.err != nil:
	case e.ctx.Err() != nil && !errors.Is(context.Cause(e.ctx), context.DeadlineExceeded):
		e.err = context.Cause(e.ctx)
	case time.Now().After(e.run.deadline):
		e.err = Problemf(CodeTimeout, "The values were not made within %dms: want fewer functions, or shorter texts", Millis(e.run.limit))
	}
	if e.err == nil {
		e.err = e.run.blocks.charge(n)
	}
	return e.err
}
