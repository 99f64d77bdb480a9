package lang

import "bytes"

// Rewrite is the value as JSON, with other JSON in the place of some values in it, and
// with more members at the end of some objects in it.
func (n *Node) Rewrite(instead map[*Node][]byte, more map[*Node][]Addition) []byte {
	if v, ok := instead[n]; ok {
		return v
	}
	if n.Kind != '[' && n.Kind != '{' {
		return n.JSON()
	}
	var b bytes.Buffer
	b.WriteByte(byte(n.Kind))
	for i, e := range n.Elements {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(e.Rewrite(instead, more))
	}
	for i, f := range n.Fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(f.Key))
		b.WriteByte(':')
		b.Write(f.Rewrite(instead, more))
	}
	for i, a := range more[n] {
		if i > 0 || len(n.Fields) > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(a.Name))
		b.WriteByte(':')
		b.Write(a.Value)
	}
	b.WriteByte(byte(n.Kind) + 2) // the bracket that closes it
	return b.Bytes()
}

// Addition is a member that an object gets.
type Addition struct {
	Name  string
	Value []byte
}
