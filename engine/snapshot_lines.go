package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"troupe/engine/mask"
)

// snapshotLine is one line of a snapshot.
type snapshotLine struct {
	depth  int
	head   string // what stands behind the dash
	ref    int    // of its element; zero: it has none
	parent int    // the line that it is below; -1: none
	mark   string // of a change: "+" or "~"
	quiet  bool   // a text that is shown only where it has changed
	leaf   bool   // an element or a text that nobody can act upon, with nothing below it
}

// lineWriter makes the lines of a tree.
type lineWriter struct {
	mask     *mask.Masker
	refs     *references
	maxDepth int // -1: any
	maxText  int // characters of one text
	maxName  int
	lines    []snapshotLine
	said     map[string]bool // long texts
	count    int             // references
}

const (
	longText    = 120 // characters: a text that is said again is cut
	longTextCut = 60
	fewAlike    = 3 // lines in a row that say the same are folded
	maxIndent   = 60
	maxURL      = 500
)

// nodes writes what is below a line.
func (w *lineWriter) nodes(all []treeChild, depth, parent int) {
	if w.maxDepth >= 0 && depth > w.maxDepth {
		return
	}
	for i := 0; i < len(all); {
		from := len(w.lines)
		w.child(all[i], depth, parent)
		alike := 1
		for i+alike < len(all) && len(w.lines) == from+1 && w.lines[from].leaf && sameLeaf(all[i], all[i+alike]) {
			alike++
		}
		if alike >= fewAlike {
			w.add(snapshotLine{depth: depth, head: fmt.Sprintf("/more: %d like it", alike-1), parent: parent})
			i += alike
			continue
		}
		i++
	}
}

func (w *lineWriter) add(l snapshotLine) { w.lines = append(w.lines, l) }

// sameLeaf reports whether two neighbours say the same, and neither can be acted upon.
func sameLeaf(a, b treeChild) bool {
	if a.quiet || b.quiet {
		return false
	}
	if a.node == nil || b.node == nil {
		return a.node == nil && b.node == nil && a.text == b.text
	}
	x, y := a.node, b.node
	return x.Role == y.Role && x.Name == y.Name && x.Called == y.Called && !x.Acts && !y.Acts && !x.Pointer && !y.Pointer && x.States == y.States &&
		len(x.Box)+len(y.Box) == 0 && x.Frame+y.Frame == 0 && soleText(x) == soleText(y) && len(x.Children) == len(y.Children) && (len(x.Children) == 0 || soleText(x) != "")
}

func soleText(n *treeNode) string {
	if n.saysOneText() {
		return n.Children[0].text
	}
	return ""
}

func (n *treeNode) saysOneText() bool {
	return len(n.Children) == 1 && n.Children[0].node == nil && !n.Children[0].quiet
}

func (w *lineWriter) child(c treeChild, depth, parent int) {
	if c.node == nil {
		if t := w.text(c.text); t != "" {
			w.add(snapshotLine{depth: depth, head: "text: " + yamlValue(t), parent: parent, leaf: !c.quiet, quiet: c.quiet})
		}
		return
	}
	n := c.node
	if n.Ref > 0 {
		w.count++
		name := n.Name
		if name == "" {
			name = n.Called
		}
		w.refs.calls(n.Ref, n.Role, w.clean(name))
	}
	deepest := w.maxDepth >= 0 && depth == w.maxDepth
	text, one := "", n.saysOneText()
	if one {
		text = w.text(n.Children[0].text)
	}
	below := len(n.Children) > 0 && !one && !deepest
	name := n.Name
	if name == "" && !below && !one {
		name = n.Full
	}
	head := yamlKey(w.key(n, name))
	props := w.props(n)
	at := len(w.lines)
	line := snapshotLine{depth: depth, head: head, ref: n.Ref, parent: parent, leaf: !n.Acts && !n.Pointer && !below && len(props) == 0}
	switch {
	case len(props) == 0 && one && text != "":
		line.head += ": " + yamlValue(text)
	case len(props) > 0 || below:
		line.head += ":"
	}
	w.add(line)
	if below && !slices.ContainsFunc(n.Children, func(c treeChild) bool { return !c.quiet }) {
		w.lines[at].head = strings.TrimSuffix(w.lines[at].head, ":") // nothing is shown below it
	}
	for _, p := range props {
		w.add(snapshotLine{depth: depth + 1, head: p, parent: at})
	}
	if len(props) > 0 && one && text != "" {
		w.add(snapshotLine{depth: depth + 1, head: "text: " + yamlValue(text), parent: at})
	}
	if below {
		w.nodes(n.Children, depth+1, at)
	}
}

// key is what stands before the colon of an element.
func (w *lineWriter) key(n *treeNode, name string) string {
	var b strings.Builder
	b.WriteString(n.Role)
	if name = cutText(w.clean(name), w.maxName); name != "" {
		b.WriteByte(' ')
		b.WriteString(quotedName(name))
	}
	for states := n.States; states != ""; {
		var s string
		s, states, _ = strings.Cut(states, " ")
		b.WriteString(" [")
		b.WriteString(s)
		b.WriteByte(']')
	}
	if n.Ref > 0 {
		b.WriteString(" [ref=e")
		b.WriteString(strconv.Itoa(n.Ref))
		b.WriteByte(']')
		if n.Pointer {
			b.WriteString(" [cursor=pointer]")
		}
	}
	if len(n.Box) == 4 {
		fmt.Fprintf(&b, " [box=%d,%d,%d,%d]", n.Box[0], n.Box[1], n.Box[2], n.Box[3])
	}
	return b.String()
}

func (w *lineWriter) props(n *treeNode) (all []string) {
	if n.URL != nil {
		all = append(all, "/url: "+yamlValue(cutText(w.clean(*n.URL), min(maxURL, w.maxText))))
	}
	if n.Placeholder != nil {
		all = append(all, "/placeholder: "+yamlValue(cutText(w.clean(*n.Placeholder), w.maxName)))
	}
	return all
}

// text is a text of the page. A long one that was said before is cut.
func (w *lineWriter) text(s string) string {
	s = w.clean(s)
	if utf8.RuneCountInString(s) > longText {
		if w.said[s] {
			return cutText(s, longTextCut)
		}
		if w.said == nil {
			w.said = map[string]bool{}
		}
		w.said[s] = true
	}
	return cutText(s, w.maxText)
}

// clean is a text of the page without secrets, without characters that nobody sees or
// that turn the order of others, and without what looks like a reference.
func (w *lineWriter) clean(s string) string {
	s = w.mask.Text(s).String()
	if !printable(s) {
		s = strings.Map(visible, s)
	}
	for strings.Contains(s, "[ref=") {
		s = strings.ReplaceAll(s, "[ref=", "(ref=")
	}
	return strings.TrimSpace(s)
}

// printable reports whether a text has only letters and signs of ASCII, as most have.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// visible is what stands for a character of the page; negative: nothing.
func visible(r rune) rune {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return ' '
	case r >= ' ' && r <= '~':
		return r
	case r == '\u200c' || r == '\u200d': // they join and part letters, and emoji
		return r
	case unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || r >= 0xE0000 && r <= 0xE0FFF || r == utf8.RuneError:
		return -1
	}
	return r
}

// cutText cuts a text to so many characters, with an ellipsis.
func cutText(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n++; n > most-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// quotedName is a name as a string of JSON.
func quotedName(s string) string {
	return `"` + quoting.Replace(s) + `"`
}

// quoting is made once: making it takes longer than a hundred names.
var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// yamlKey quotes the key of a line where YAML takes it for something else.
func yamlKey(s string) string {
	if !yamlQuotes(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

func yamlValue(s string) string {
	if !yamlQuotes(s) {
		return s
	}
	return quotedName(s)
}

// longestWord is longer than each of the yamlWords, in bytes, also where letters become
// shorter as they become small.
const longestWord = 10

var yamlWords = map[string]bool{"y": true, "n": true, "yes": true, "no": true, "true": true, "false": true, "on": true, "off": true, "null": true, "~": true, ".nan": true, ".inf": true, "+.inf": true, "-.inf": true}

// yamlQuotes reports whether a plain text would be something else in YAML. There are no
// line breaks and control characters in it.
func yamlQuotes(s string) bool {
	if s == "" || s != strings.TrimSpace(s) || strings.ContainsAny(s, "{}`") || strings.ContainsAny(s[:1], "-&*],?!>|@\"'#%[") {
		return true
	}
	if strings.Contains(s, ": ") || strings.HasSuffix(s, ":") || strings.Contains(s, " #") || len(s) <= longestWord && yamlWords[strings.ToLower(s)] {
		return true
	}
	return strings.IndexByte("+.0123456789", s[0]) >= 0 && strings.Trim(s, "+-.0123456789abcdefABCDEFxXoO") == "" && numeric.MatchString(s) || s == "Infinity" || s == "+Infinity"
}
