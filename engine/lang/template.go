package lang

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Template is a JSON value that is made when it is used: values of the cache can
// stand in its strings, and functions in the place of values. A string that is ${key}
// alone becomes that value, whatever it is; in a longer one ${key} is put in as in
// every [Text]. An object with one field, whose name begins with a dollar sign, is
// the call of a function.
//
// What is the same whenever it is made is kept as its bytes: see template_read.go.
type Template struct {
	constant json.RawMessage // of what is always the same
	program  *program        // of what is not; nil: it is
	weight   int32           // what making the constant is charged
	kind     jsontext.Kind   // zero: known only when the value is made
	asks     bool            // it depends on the current page
}

// Env is what values are made with.
type Env interface {
	Values
	Now() time.Time
	// Address is that of the current page.
	Address() (string, error)
	// Charge counts work, in bytes that are looked at. Its error ends everything.
	Charge(n int) error
}

// TemplateShape is any JSON value, with ${key} and functions in it.
var TemplateShape = Shape[Template]{Words: "any JSON value", Schema: `{}`, Read: readTemplate}

// Kind is that of the value, or zero where it is known only when the value is made.
func (t Template) Kind() jsontext.Kind { return t.kind }

// KindOf is the kind of a JSON value.
func KindOf(v json.RawMessage) jsontext.Kind {
	if len(v) == 0 {
		return 0
	}
	if v[0] == '-' || v[0] >= '0' && v[0] <= '9' {
		return '0'
	}
	return jsontext.Kind(v[0])
}

// Keys adds the keys that the value reads to a set.
func (t Template) Keys(to map[string]bool) {
	if t.program == nil {
		return
	}
	for _, p := range t.program.pieces {
		switch p.then {
		case thenKey:
			to[t.program.names[p.of]] = true
		case thenText:
			ParseText(t.program.names[p.of]).Keys(to)
		}
	}
}

// Asks reports whether the value depends on the current page.
func (t Template) Asks() bool { return t.asks }

// Make makes the value. A key without a value is a [*ValueError], and so is a value
// of more than [MaxText] bytes.
func (t Template) Make(env Env) (json.RawMessage, error) {
	m := &maker{env: env}
	if t.program == nil {
		if err := m.put(t.constant, int(t.weight)); err != nil {
			return nil, err
		}
		return m.b.Bytes(), nil
	}
	at := 0
	if err := m.run(t.program, &at); err != nil {
		return nil, err
	}
	return m.b.Bytes(), nil
}

// maker writes one value. Functions make their arguments with makers of their own.
type maker struct {
	env Env
	b   bytes.Buffer
}

// put writes JSON that is charged with its weight.
func (m *maker) put(b []byte, weight int) error {
	// Brackets and commas at its end have never counted.
	if m.b.Len()+len(bytes.TrimRight(b, "[]{},")) > MaxText {
		return invalid("the value has more than %d bytes once its values are filled in, which are the limit", MaxText)
	}
	m.b.Write(b)
	return m.env.Charge(weight)
}

// run writes what a program makes, from one of its pieces to the next that is an end.
func (m *maker) run(p *program, at *int) error {
	for {
		one := p.pieces[*at]
		if text := p.before(*at); len(text) > 0 {
			if err := m.put(text, int(one.weight)); err != nil {
				return err
			}
		}
		*at++
		var v json.RawMessage
		var err error
		switch one.then {
		case thenEnd:
			return nil
		case thenKey:
			var ok bool
			if v, ok = Lookup(m.env, p.names[one.of]); !ok {
				err = invalid("${%s} has no value: nothing was saved under %q", p.names[one.of], p.names[one.of])
			}
		case thenText:
			var s string
			s, err = ParseText(p.names[one.of]).Expand(m.env)
			v = quote(s)
		case thenCall:
			v, err = m.call(p, one, at)
		}
		if err == nil {
			err = m.put(v, len(v))
		}
		if err != nil {
			return err
		}
	}
}

// call makes what a function gives. Its arguments are the next pieces.
func (m *maker) call(p *program, one piece, at *int) (json.RawMessage, error) {
	c := &call{function: functions[one.of], env: m.env, fixed: p.fixed[int32(*at-1)], args: make([]json.RawMessage, one.args)}
	for i := range c.args {
		arg := &maker{env: m.env}
		if err := arg.run(p, at); err != nil {
			return nil, err
		}
		c.args[i] = arg.b.Bytes()
	}
	return c.evaluates(c)
}

// quote is a string as JSON.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string is always JSON
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
