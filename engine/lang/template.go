package lang

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Template is a JSON value that is made when it is used: values of the cache can
// stand in its strings, and functions in the place of values. A string that is ${key}
// alone becomes that value, whatever it is; in a longer one ${key} is put in as in
// every [Text]. An object with one field, whose name begins with a dollar sign, is
// the call of a function.
type Template struct {
	text   *Text           // of a string
	whole  string          // the key of a string that is ${key} alone
	raw    json.RawMessage // of what is neither a string nor holds values
	array  bool
	list   []Template // of an array, or the arguments of a function
	object bool
	fields []templateField
	call   *function
	fixed  *pattern // of a call whose pattern is known
}

type templateField struct {
	name  json.RawMessage
	value Template
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

func readTemplate(d *Decoder, n *Node) (t Template) {
	switch n.Kind {
	case '"':
		text := ParseText(n.Text)
		if len(text.parts) == 1 && text.parts[0].key != "" {
			return Template{whole: text.parts[0].key}
		}
		return Template{text: &text}
	case '[':
		t.array = true
		t.list = readTemplates(d, n.Elements)
	case '{':
		if len(n.Fields) == 1 && strings.HasPrefix(n.Fields[0].Key, "$") && !strings.HasPrefix(n.Fields[0].Key, "$$") {
			return readCall(d, n.Fields[0])
		}
		t.object = true
		for _, f := range n.Fields {
			name := f.Key
			switch {
			case strings.HasPrefix(name, "$$"):
				name = name[1:]
			case strings.HasPrefix(name, "$"):
				d.Fault(f, "want a function alone in its object (a field of this name is written %q)", "$"+name)
			}
			t.fields = append(t.fields, templateField{quote(name), readTemplate(d, f)})
		}
	default:
		t.raw = json.RawMessage(n.literal())
	}
	return t
}

func readTemplates(d *Decoder, nodes []*Node) []Template {
	list := make([]Template, 0, len(nodes))
	for _, e := range nodes {
		list = append(list, readTemplate(d, e))
	}
	return list
}

// Kind is that of the value, or zero where it is known only when the value is made.
func (t Template) Kind() jsontext.Kind {
	switch {
	case t.call != nil, t.whole != "":
		return 0
	case t.text != nil:
		return '"'
	case t.array:
		return '['
	case t.object:
		return '{'
	}
	return KindOf(t.raw)
}

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
	if t.whole != "" {
		to[t.whole] = true
	}
	if t.text != nil {
		t.text.Keys(to)
	}
	for i := range t.list {
		t.list[i].Keys(to)
	}
	for i := range t.fields {
		t.fields[i].value.Keys(to)
	}
}

// Asks reports whether the value depends on the current page.
func (t Template) Asks() bool {
	if t.call != nil && t.call.name == "$absolute" && len(t.list) == 1 {
		return true
	}
	for i := range t.list {
		if t.list[i].Asks() {
			return true
		}
	}
	for i := range t.fields {
		if t.fields[i].value.Asks() {
			return true
		}
	}
	return false
}

// Make makes the value. A key without a value is a [*ValueError], and so is a value
// of more than [MaxText] bytes.
func (t Template) Make(env Env) (json.RawMessage, error) {
	m := &maker{env: env}
	if err := m.write(&t); err != nil {
		return nil, err
	}
	return m.b.Bytes(), nil
}

// maker writes one value. Functions make their arguments with makers of their own.
type maker struct {
	env Env
	b   bytes.Buffer
}

func (m *maker) put(b []byte) error {
	if m.b.Len()+len(b) > MaxText {
		return invalid("the value has more than %d bytes once its values are filled in, which are the limit", MaxText)
	}
	m.b.Write(b)
	return m.env.Charge(len(b))
}

func (m *maker) write(t *Template) error {
	switch {
	case t.call != nil:
		v, err := t.call.run(m.env, t)
		if err != nil {
			return err
		}
		return m.put(v)
	case t.whole != "":
		v, ok := Lookup(m.env, t.whole)
		if !ok {
			return invalid("${%s} has no value: nothing was saved under %q", t.whole, t.whole)
		}
		return m.put(v)
	case t.text != nil:
		s, err := t.text.Expand(m.env)
		if err != nil {
			return err
		}
		return m.put(quote(s))
	case t.array:
		return m.within('[', ']', len(t.list), func(i int) error { return m.write(&t.list[i]) })
	case t.object:
		return m.within('{', '}', len(t.fields), func(i int) error {
			if err := m.put(append(bytes.Clone(t.fields[i].name), ':')); err != nil {
				return err
			}
			return m.write(&t.fields[i].value)
		})
	}
	return m.put(t.raw)
}

func (m *maker) within(begin, end byte, n int, one func(int) error) error {
	m.b.WriteByte(begin)
	for i := range n {
		if i > 0 {
			m.b.WriteByte(',')
		}
		if err := one(i); err != nil {
			return err
		}
	}
	m.b.WriteByte(end)
	return nil
}

// quote is a string as JSON.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string is always JSON
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
