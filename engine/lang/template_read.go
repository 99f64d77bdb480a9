package lang

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// program is a value that is not always the same: constant JSON, and between its
// pieces what is made each time. Requests hold very many short values, so that it takes
// little more memory than their text.
type program struct {
	constant []byte  // of all pieces, one after another
	pieces   []piece // the last one is an end
	names    []string
	fixed    map[int32]*pattern // the known patterns, by the piece that is the call
}

// piece is constant JSON, and what comes after it.
type piece struct {
	end    uint32 // of the constant JSON
	weight int32  // what that is charged
	of     uint32 // which of the names, or of the functions
	then   then
	args   uint8 // of a function: how many follow, each with an end of its own
}

type then uint8

const (
	thenEnd  then = iota
	thenKey       // the value of a key
	thenText      // a string with values in it
	thenCall      // what a function gives
)

// before is the constant JSON of a piece.
func (p *program) before(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = p.pieces[i-1].end
	}
	return p.constant[from:p.pieces[i].end]
}

// templateReader reads one Template.
type templateReader struct {
	d      *Decoder
	out    program
	weight int32 // of the constant JSON behind the last piece
	asks   bool
}

func readTemplate(d *Decoder, n *Node) Template {
	r := &templateReader{d: d}
	t := Template{kind: r.value(n)}
	if len(r.out.pieces) == 0 {
		t.weight = r.weight
		// As it was sent it is in memory already.
		if t.constant = n.Raw; !bytes.Equal(r.out.constant, n.Raw) {
			t.constant = bytes.Clone(r.out.constant)
		}
		return t
	}
	r.end(piece{then: thenEnd})
	t.asks = r.asks
	t.program = &program{bytes.Clone(r.out.constant), slices.Clone(r.out.pieces), slices.Clone(r.out.names), r.out.fixed}
	return t
}

// unit writes constant JSON that is charged; brackets and commas are not.
func (r *templateReader) unit(b []byte) {
	r.out.constant = append(r.out.constant, b...)
	r.weight += int32(len(b))
}

// end ends the constant JSON of a piece.
func (r *templateReader) end(p piece) {
	p.end, p.weight = uint32(len(r.out.constant)), r.weight
	r.out.pieces, r.weight = append(r.out.pieces, p), 0
}

// named is a piece that is made of a key or a text.
func (r *templateReader) named(of then, name string) {
	r.end(piece{then: of, of: uint32(len(r.out.names))})
	r.out.names = append(r.out.names, name)
}

// value reads a value, and says of which kind it will be.
func (r *templateReader) value(n *Node) jsontext.Kind {
	switch n.Kind {
	case '"':
		text := ParseText(n.Text)
		if key, ok := text.oneKey(); ok {
			r.named(thenKey, key)
			return 0
		}
		if !text.Fixed() {
			r.named(thenText, n.Text)
			break
		}
		s, _ := text.Expand(nil)
		r.unit(quote(s))
	case '[':
		r.within(n, n.Elements, func(e *Node) { r.value(e) })
	case '{':
		if len(n.Fields) == 1 && strings.HasPrefix(n.Fields[0].Key, "$") && !strings.HasPrefix(n.Fields[0].Key, "$$") {
			r.call(n.Fields[0])
			return 0
		}
		r.within(n, n.Fields, func(f *Node) {
			name := f.Key
			switch {
			case strings.HasPrefix(name, "$$"):
				name = name[1:]
			case strings.HasPrefix(name, "$"):
				r.d.Fault(f, "want a function alone in its object (a field of this name is written %q)", "$"+name)
			}
			r.unit(append(quote(name), ':'))
			r.value(f)
		})
	default:
		r.unit([]byte(n.literal()))
	}
	return n.Kind
}

func (r *templateReader) within(n *Node, all []*Node, one func(*Node)) {
	r.out.constant = append(r.out.constant, byte(n.Kind))
	for i, c := range all {
		if i > 0 {
			r.out.constant = append(r.out.constant, ',')
		}
		one(c)
	}
	r.out.constant = append(r.out.constant, byte(n.Kind)+2) // the bracket that closes it
}

func (r *templateReader) call(n *Node) {
	i := slices.IndexFunc(functions, func(f *function) bool { return f.name == n.Key })
	if i < 0 {
		r.d.Fault(n, "function %q is unknown%s (a field of this name is written %q)", n.Key, r.d.DidYouMean(n.Key, func() []string {
			names := make([]string, len(functions))
			for i, f := range functions {
				names[i] = f.name
			}
			return names
		}), "$"+n.Key)
		return
	}
	f, args := functions[i], []*Node{n}
	if !f.list && n.IsArray() {
		args = n.Elements
	}
	if len(args) < f.least || len(args) > f.most {
		r.d.Fault(n, "want %s for %s", f.args, f.name)
		return
	}
	at := int32(len(r.out.pieces))
	r.end(piece{then: thenCall, of: uint32(i), args: uint8(len(args))})
	for _, a := range args {
		r.value(a)
		r.end(piece{then: thenEnd})
	}
	switch f.name {
	case "$absolute":
		r.asks = r.asks || len(args) == 1
	case "$now":
		if n.Text != "iso" && n.Text != "ms" {
			r.d.Fault(n, "want %s for $now, not %s", f.args, n.Describe())
		}
	case "$replace", "$match":
		r.expression(at, args[1])
	}
}

// maxCompiled is how many known patterns of a value stay compiled: each takes some
// hundred times its text. More are compiled whenever they are used.
const maxCompiled = 64

// expression checks the pattern of a call, where it is known.
func (r *templateReader) expression(call int32, n *Node) {
	if !n.IsString() {
		r.d.Fault(n, "want an RE2 expression, a string, not %s", n.TypeName())
		return
	}
	text := ParseText(n.Text)
	if !text.Fixed() {
		return
	}
	source, _ := text.Expand(nil)
	p, err := readExpression(source)
	if err != nil {
		r.d.Fault(n, "%q is no RE2 expression: %v", Short(source, 100), err)
		return
	}
	if r.out.fixed == nil {
		r.out.fixed = map[int32]*pattern{}
	}
	p.once = len(r.out.fixed) >= maxCompiled
	r.out.fixed[call] = p
}
