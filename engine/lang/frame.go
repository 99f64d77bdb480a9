package lang

import (
	"strings"
)

// Frame names one frame: by a selector of its element, by the name that the element
// gives it, or by its address.
type Frame struct {
	selector  Selector
	name, url Text
	by        string // "name", "url", or empty for the selector
}

// MaxFrames bounds the frames in one path.
const MaxFrames = 10

// FrameShape is a frame, or a path of nested ones, outermost first.
var FrameShape = Shape[[]Frame]{
	Words: "frame or array of frames", Schema: `{"anyOf":[` + frameSchema + `,{"type":"array","items":{"anyOf":[` + frameSchema + `]},"minItems":1,"maxItems":10}]}`,
	Read: func(d *Decoder, n *Node) []Frame {
		if !n.IsArray() {
			return []Frame{readFrame(d, n)}
		}
		if len(n.Elements) == 0 || len(n.Elements) > MaxFrames {
			d.Fault(n, "want 1 to %d iframes, not %d", MaxFrames, len(n.Elements))
		}
		var out []Frame
		for _, e := range n.Elements {
			out = append(out, readFrame(d, e))
		}
		return out
	},
}

var frameSchema = SelectorShape.Schema + `,` + oneTextSchema("url") + `,` + oneTextSchema("name")

func oneTextSchema(field string) string {
	return `{"type":"object","required":["` + field + `"],"additionalProperties":false,"properties":{"` + field + `":{"type":"string","minLength":1}}}`
}

func readFrame(d *Decoder, n *Node) (f Frame) {
	if n.IsString() || Describes(n) {
		return Frame{selector: SelectorShape.Read(d, n)}
	}
	if !n.IsObject() {
		d.Fault(n, `want the selector of an iframe, {"url": pattern}, {"name": name}, or an array of these, not %s`, n.TypeName())
		return f
	}
	given := 0
	d.ReadObject(n, "iframe",
		Field("url", func(v *Node) {
			given++
			f.by, f.url = "url", URLPatternShape.Read(d, v)
		}),
		Field("name", func(v *Node) { given++; f.by, f.name = "name", NonEmptyShape("name").Read(d, v) }),
	)
	if given != 1 {
		d.Fault(n, `want {"url": pattern} or {"name": name} with one of the two, or the selector of an iframe`)
	}
	return f
}

// Keys adds the keys of the data cache that the frame's name needs.
func (f Frame) Keys(to map[string]bool) {
	switch f.by {
	case "url":
		f.url.Keys(to)
	case "name":
		f.name.Keys(to)
	default:
		f.selector.Keys(to)
	}
}

// Target is a selector of the frame's element, with its values filled in. For a frame
// that is named by its address it is empty: see Address.
func (f Frame) Target(values Values) (Target, error) {
	if f.by != "name" {
		return f.selector.Target(values)
	}
	name, err := f.name.Expand(values)
	if err != nil {
		return Target{}, err
	}
	quoted := cssString(name)
	return Target{Kind: "css", Sel: "iframe[name=" + quoted + "],frame[name=" + quoted + "],object[name=" + quoted + "],embed[name=" + quoted + "]", As: "iframe[name=" + cssString(Short(name, 200)) + "]"}, nil
}

// Address is the pattern of the frame's address, with its values filled in.
func (f Frame) Address(values Values) (pattern string, is bool, err error) {
	if f.by != "url" {
		return "", false, nil
	}
	pattern, err = f.url.Expand(values)
	return pattern, true, err
}

// cssString writes a text as a string of CSS.
func cssString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\a `, "\r", `\d `, "\f", `\c `).Replace(s) + `"`
}
