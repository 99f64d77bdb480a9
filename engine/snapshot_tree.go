package engine

import (
	"errors"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// pageTree is the page script's answer.
type pageTree struct {
	Document string         `json:"d"`
	URL      string         `json:"url"`
	Title    string         `json:"title"`
	Tree     treeNodes      `json:"tree"`
	Found    []foundNode    `json:"found"`
	Foreign  []foreignFrame `json:"foreign"`
	Free     int            `json:"free"`
	Cut      bool           `json:"cut"` // there is more than one snapshot may hold
}

type foreignFrame struct {
	Ref    int       `json:"e"`
	Origin []float64 `json:"o"`
}

// foundNode is an element that is like some words.
type foundNode struct {
	Score      float64   `json:"q"`
	Tree       treeNodes `json:"tree"` // it alone
	AroundRole string    `json:"ar"`
	AroundName string    `json:"an"`
}

// treeNode is an element of a snapshot. Behind each field is its letter in the page
// script's answer.
type treeNode struct {
	Role        string
	Name        string      // n
	Called      string      // k: its name, where that is not shown
	Full        string      // f: the name to show where what is in it is not
	States      string      // s: with a space between two
	Ref         int         // e
	Pointer     bool        // p
	Acts        bool        // i
	URL         *string     // u
	Placeholder *string     // h
	Box         []int       // b
	Frame       int         // x
	Origin      []float64   // o
	Children    []treeChild // the lines below
}

// treeChild is an element, or a text. A quiet text only tells what has changed.
type treeChild struct {
	node  *treeNode
	text  string
	quiet bool
}

// treeNodes are what the page script writes as one text: see its function writeTree.
type treeNodes []treeChild

// UnmarshalJSONFrom reads the text that a tree is.
func (t *treeNodes) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var s string
	if err := jsonv2.UnmarshalDecode(d, &s); err != nil {
		return err
	}
	var err error
	*t, err = readTreeLines(s)
	return err
}

// readTree reads the page script's answer. A page can have half a character in its texts.
func readTree(b []byte, into *pageTree) error {
	return jsonv2.Unmarshal(b, into, jsontext.AllowInvalidUTF8(true))
}

var (
	errNoTree   = errors.New("reading a tree of elements: it is none")
	errDeepTree = errors.New("reading a tree of elements: it has too many levels")
)

// maxTreeLevels is more than the page script gives. Its process is the page's, so it may
// say anything.
const maxTreeLevels = 5000

// readTreeLines reads each byte once, however deep the tree is: pages decide that.
func readTreeLines(s string) ([]treeChild, error) {
	if s == "" {
		return nil, nil
	}
	if s[0] != '|' {
		return nil, errNoTree
	}
	var top []treeChild
	around := make([]*[]treeChild, 1, 32) // where the lines of each level go to
	around[0] = &top
	// Nodes are made in lots: one for each line would be as many pieces of the heap. Roles are
	// kept longer than the text that they are a part of.
	var lot []treeNode
	roles := map[string]string{}
	for rest, more := s[1:], true; more; {
		var line string
		line, rest, more = strings.Cut(rest, "|")
		level, i := 0, 0
		for ; i < len(line) && line[i] >= '0' && line[i] <= '9'; i++ {
			if level = level*10 + int(line[i]-'0'); level > maxTreeLevels {
				return nil, errDeepTree
			}
		}
		if i == len(line) || level >= len(around) {
			return nil, errNoTree
		}
		around = around[:level+1]
		child := treeChild{}
		switch kind, said := line[i], line[i+1:]; kind {
		case '\'', '?':
			child.text, child.quiet = unmarked(said), kind == '?'
		case '.':
			if len(lot) == 0 {
				lot = make([]treeNode, 64)
			}
			child.node, lot = &lot[0], lot[1:]
			child.node.read(said)
			role, known := roles[child.node.Role]
			if !known {
				role = strings.Clone(child.node.Role)
				roles[role] = role
			}
			child.node.Role = role
			around = append(around, &child.node.Children)
		default:
			return nil, errNoTree
		}
		*around[level] = append(*around[level], child)
	}
	return top, nil
}

// lines is how many elements and texts there are.
func (t treeNodes) lines() int {
	n := len(t)
	for _, c := range t {
		if c.node != nil {
			n += treeNodes(c.node.Children).lines()
		}
	}
	return n
}

// read takes in the role and the fields of an element.
func (n *treeNode) read(line string) {
	role, rest, more := strings.Cut(line, "^")
	n.Role = role
	for more {
		var field string
		if field, rest, more = strings.Cut(rest, "^"); field == "" {
			continue
		}
		said := field[1:]
		switch field[0] {
		case 'n':
			n.Name = unmarked(said)
		case 'k':
			n.Called = unmarked(said)
		case 'f':
			n.Full = unmarked(said)
		case 's':
			n.States = said
		case 'e':
			n.Ref = number(said)
		case 'p':
			n.Pointer = true
		case 'i':
			n.Acts = true
		case 'u':
			text := unmarked(said)
			n.URL = &text
		case 'h':
			text := unmarked(said)
			n.Placeholder = &text
		case 'b':
			for side := range strings.SplitSeq(said, ",") {
				n.Box = append(n.Box, number(side))
			}
		case 'x':
			n.Frame = number(said)
		case 'o':
			for at := range strings.SplitSeq(said, ",") {
				v, _ := strconv.ParseFloat(at, 64)
				n.Origin = append(n.Origin, v)
			}
		}
	}
}

// number is zero for what is none.
func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

var unmarking = strings.NewReplacer("~0", "~", "~1", "|", "~2", "^")

// unmarked is a text as it was before the page script has written its marks otherwise.
func unmarked(s string) string {
	if strings.IndexByte(s, '~') < 0 {
		return s
	}
	return unmarking.Replace(s)
}
