package engine

import (
	"fmt"
	"strings"
)

// What an answer tells of faults is bounded: a request can hold very many of them,
// each below long names and about long texts.
const (
	maxFaults    = 100  // that one answer names
	maxFaultPath = 1000 // bytes of the place of one
	maxFaultText = 500  // bytes of each text of the client's in its message
)

// NewFault makes a fault. Long texts among args are cut, and a place whose path is
// long is told by what it lies in.
func NewFault(path, format string, args ...any) Fault {
	for i, a := range args {
		if e, ok := a.(error); ok {
			a = e.Error()
		}
		if s, ok := a.(string); ok {
			args[i] = cutText(s)
		}
	}
	if len(path) > maxFaultPath {
		path = path[:strings.LastIndexByte(path[:maxFaultPath+1], '/')]
	}
	return Fault{Path: path, Message: fmt.Sprintf(format, args...)}
}

func cutText(s string) string {
	if len(s) <= maxFaultText {
		return s
	}
	return strings.ToValidUTF8(s[:maxFaultText], "") + "…"
}

// MoreFaults reports whether an answer has room for another fault.
func MoreFaults(all []Fault) bool { return len(all) < maxFaults }

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// path is the JSON Pointer of the value, or of the nearest one around it whose
// pointer is not too long.
func (n *node) path() string {
	var within []*node
	for ; n.parent != nil; n = n.parent {
		within = append(within, n)
	}
	var b strings.Builder
	for i := len(within) - 1; i >= 0; i-- {
		key := within[i].key
		if b.Len()+1+len(key) > maxFaultPath {
			break
		}
		if key = pointerEscapes.Replace(key); b.Len()+1+len(key) > maxFaultPath {
			break
		}
		b.WriteByte('/')
		b.WriteString(key)
	}
	return b.String()
}

// fault notes what is wrong with a value. Beyond those that are named it only
// counts.
func (d *decoder) fault(n *node, format string, args ...any) {
	if d.wrong++; MoreFaults(d.faults) {
		d.faults = append(d.faults, NewFault(n.path(), format, args...))
	}
}

// didYouMean is [DidYouMean] for a fault that will be named: of others nobody hears.
func (d *decoder) didYouMean(word string, known func() []string) string {
	if !MoreFaults(d.faults) {
		return ""
	}
	return DidYouMean(word, known())
}
