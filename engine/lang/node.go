package lang

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds how deep a request may nest. The language needs about ten
// levels.
const maxDepth = 64

// maxValues bounds how many values a request has: each takes memory, however short
// it is. A request of 1000 long actions has a tenth of them.
const maxValues = 1 << 17

// Node is one JSON value of a request, with the bytes it was sent as and its
// place, so that a fault can name it.
type Node struct {
	parent   *Node
	Key      string // its name or index in the parent
	Kind     jsontext.Kind
	Raw      []byte  // of an object, an array or a number
	Text     string  // of a string
	Number   float64 // of a number
	Elements []*Node // of an array
	Fields   []*Node // of an object, in the order they were sent
}

// Parent is the value that holds it; nil: none.
func (n *Node) Parent() *Node { return n.parent }

// Field returns a member of an object.
func (n *Node) Field(name string) *Node {
	for _, f := range n.Fields {
		if f.Key == name {
			return f
		}
	}
	return nil
}

func (n *Node) IsNull() bool   { return n.Kind == 'n' }
func (n *Node) IsString() bool { return n.Kind == '"' }
func (n *Node) IsArray() bool  { return n.Kind == '[' }
func (n *Node) IsObject() bool { return n.Kind == '{' }

// TypeName names the kind of value for people: "a number".
func (n *Node) TypeName() string { return KindName(n.Kind) }

// KindName is [Node.TypeName] of a kind.
func KindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "an array"
	default:
		return "an object"
	}
}

// ReadNode reads one JSON value and nothing after it. Names that come twice in
// an object, invalid UTF-8 and too deep nesting are faults.
func ReadNode(b []byte) (*Node, *Fault) {
	d, _ := decoders.Get().(*jsontext.Decoder)
	if d == nil {
		d = new(jsontext.Decoder)
	}
	defer func() {
		d.Reset(nobody) // it must not hold on to a request
		decoders.Put(d)
	}()
	d.Reset(bytes.NewBuffer(b))
	r := &nodeReader{d: d, body: b, text: string(b)}
	n, err := r.value(nil, "", 0)
	if err == nil {
		if _, more := d.ReadToken(); more != io.EOF {
			err = fmt.Errorf("something follows the JSON value, at byte %d", d.InputOffset())
		}
	}
	if err != nil {
		return nil, jsonFault(err)
	}
	return n, nil
}

// decoders are used again: what they know of an object's names needs room.
var (
	decoders sync.Pool
	nobody   = bytes.NewBuffer(nil)
)

// nodeReader reads the nodes of one request.
type nodeReader struct {
	d    *jsontext.Decoder
	body []byte
	text string // the body: most strings stand in it as they are
	free []Node // nodes are made several at a time
	made int
}

func (r *nodeReader) node() *Node {
	if len(r.free) == 0 {
		r.free = make([]Node, 8)
	}
	n := &r.free[0]
	r.free = r.free[1:]
	return n
}

// str is the string that was just read. It began at the byte from or after it.
func (r *nodeReader) str(t jsontext.Token, from int64) string {
	quoted := r.text[from:r.d.InputOffset()]
	i := strings.IndexByte(quoted, '"')
	if i < 0 || strings.IndexByte(quoted, '\\') >= 0 {
		return t.String()
	}
	return quoted[i+1 : len(quoted)-1]
}

func (r *nodeReader) value(parent *Node, key string, depth int) (*Node, error) {
	d, n := r.d, r.node()
	n.parent, n.Key, n.Kind = parent, key, d.PeekKind()
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	if r.made++; r.made > maxValues {
		return nil, fmt.Errorf("it has more than %d values", maxValues)
	}
	from := d.InputOffset()
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	n.Kind = t.Kind()
	start := int(d.InputOffset()) // of a value that is no container: its end
	switch n.Kind {
	case '"':
		n.Text = r.str(t, from)
	case '0':
		n.Number = t.Float()
		n.Raw = bytes.TrimLeft(r.body[from:start], " \t\r\n,:")
	case '[':
		start--
		for i := 0; d.PeekKind() != ']'; i++ {
			c, err := r.value(n, strconv.Itoa(i), depth+1)
			if err != nil {
				return nil, err
			}
			n.Elements = append(n.Elements, c)
		}
	case '{':
		start--
		for d.PeekKind() != '}' {
			from := d.InputOffset()
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			c, err := r.value(n, r.str(name, from), depth+1)
			if err != nil {
				return nil, err
			}
			n.Fields = append(n.Fields, c)
		}
	}
	if n.Kind == '[' || n.Kind == '{' {
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		n.Raw = r.body[start:d.InputOffset()]
	}
	return n, nil
}

// jsonFault says where and why a body is not JSON.
func jsonFault(err error) *Fault {
	var s *jsontext.SyntacticError
	if errors.As(err, &s) {
		why := strings.TrimPrefix(s.Err.Error(), "jsontext: ")
		if errors.Is(err, io.ErrUnexpectedEOF) {
			why = "it ends too early"
		}
		f := NewFault(string(s.JSONPointer), "the body is not valid JSON at byte %d: %s", s.ByteOffset, why)
		return &f
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Fault{Message: "the body is not valid JSON: it ends too early"}
	}
	f := NewFault("", "the body is not valid JSON: %s", err)
	return &f
}

// literal is a value that is neither a string nor holds values, as JSON.
func (n *Node) literal() string {
	switch n.Kind {
	case '0':
		return string(n.Raw)
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	return "null"
}

// JSON is the value as JSON.
func (n *Node) JSON() []byte {
	switch n.Kind {
	case '"':
		return quote(n.Text)
	case '[', '{':
		return n.Raw
	}
	return []byte(n.literal())
}

// Describe shows a small value, or names its kind.
func (n *Node) Describe() string {
	switch n.Kind {
	case 't':
		return "true"
	case 'f':
		return "false"
	case '"':
		if len(n.Text) <= 40 {
			return fmt.Sprintf("%q", n.Text)
		}
	case '0':
		return fmt.Sprint(n.Number)
	}
	return n.TypeName()
}
