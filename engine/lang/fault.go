package lang

import (
	"fmt"
	"strings"
)

// Fault is one thing that is wrong with a request.
type Fault struct {
	Path    string `json:"path"` // JSON Pointer into the body
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what can be done about it
}

// String is the fault with its place in front, where it has one.
func (f Fault) String() string { return strings.TrimPrefix(f.Path+": "+f.Message, ": ") }

// The list of faults in an answer is bounded: a request can hold very many of them,
// each below long names and about long texts.
const (
	maxFaults    = 100  // that one answer names
	maxFaultPath = 1000 // bytes of the place of one
	maxFaultText = 500  // bytes of each text of the client's in its message
)

// NewFault makes a fault. Long texts among args are cut, and a place whose path is
// long is named by what it lies in.
func NewFault(path, format string, args ...any) Fault {
	for i, a := range args {
		if e, ok := a.(error); ok {
			a = e.Error()
		}
		if s, ok := a.(string); ok {
			args[i] = Short(s, maxFaultText)
		}
	}
	if len(path) > maxFaultPath {
		path = path[:strings.LastIndexByte(path[:maxFaultPath+1], '/')]
	}
	return Fault{Path: path, Message: fmt.Sprintf(format, args...)}
}

// MoreFaults reports whether an answer has room for another fault.
func MoreFaults(all []Fault) bool { return len(all) < maxFaults }

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Path is the JSON Pointer of the value, or of the nearest one around it whose
// pointer is not too long.
func (n *Node) Path() string {
	var within []*Node
	for ; n.parent != nil; n = n.parent {
		within = append(within, n)
	}
	var b strings.Builder
	for i := len(within) - 1; i >= 0; i-- {
		key := within[i].Key
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
