package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"troupe/engine/browser"
)

// numeric is a text that YAML reads as a number.
var numeric = regexp.MustCompile(`^([-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)$`)

// treeResult is the result of a snapshot.
type treeResult struct {
	Snapshot string   `json:"snapshot"`
	URL      string   `json:"url"`
	Title    string   `json:"title"`
	Tokens   int      `json:"tokens"`
	Refs     int      `json:"refs"`
	Next     string   `json:"next,omitempty"`
	Left     int      `json:"left,omitempty"`
	Cut      bool     `json:"tooLarge,omitempty"`
	Diff     *bool    `json:"diff,omitempty"`
	Changed  *bool    `json:"changed,omitempty"`
	Moved    bool     `json:"moved,omitempty"` // the address or the title has changed
	Gone     []string `json:"gone,omitempty"`
	GoneMore int      `json:"goneMore,omitempty"`
}

// matchResult is the result of a snapshot with find.
type matchResult struct {
	Matches []match `json:"matches"`
	URL     string  `json:"url"`
	Title   string  `json:"title"`
	Tokens  int     `json:"tokens"`
}

type match struct {
	Ref   string  `json:"ref"`
	Role  string  `json:"role"`
	Name  string  `json:"name,omitempty"`
	In    string  `json:"in,omitempty"`
	Line  string  `json:"line"`
	Score float64 `json:"score"`
}

func (p *surveying) writer() *lineWriter {
	letters := p.value.maxTokens * 4
	w := &lineWriter{mask: p.run.mask, refs: p.run.refs, maxDepth: -1, maxText: min(20_000, letters/2), maxName: min(900, letters/4)}
	if p.value.depth != nil {
		w.maxDepth = *p.value.depth
	}
	return w
}

// tree is the result as text.
func (p *surveying) tree() (Result, error) {
	w := p.writer()
	w.lines = make([]snapshotLine, 0, p.page.Tree.lines())
	w.nodes(p.page.Tree, 0, -1)
	out := treeResult{URL: cutText(w.clean(p.page.URL), maxURL), Title: cutText(w.clean(p.page.Title), 200), Refs: w.count, Cut: p.page.Cut}
	lines, first := w.lines, 0
	before := p.before(w.lines)
	if !p.value.diff || before == nil {
		lines = withoutQuiet(lines)
	}
	if p.value.from != "" {
		var err error
		if first, err = lineOfPlace(lines, p.value.from); err != nil {
			return nil, err
		}
	}
	if p.value.diff {
		yes := before != nil
		if out.Diff = &yes; yes {
			lines = p.changes(&out, before, lines)
			out.Moved = before.url != p.page.URL || before.title != p.page.Title
		}
	}
	text, end := fitted(lines, first, p.value.maxTokens*4)
	if out.Snapshot = text; end < len(lines) {
		out.Next, out.Left = placeOfLine(lines, end), len(lines)-end
		if out.Changed != nil {
			out.Next = "" // what has changed has no place to go on from
		}
	}
	out.Tokens = tokens(text)
	return plainJSON(out)
}

// plainJSON is JSON without escapes that only HTML needs.
func plainJSON(v any) (Result, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return Result(bytes.TrimSpace(b.Bytes())), nil
}

// tokens is about what a text costs a language model.
func tokens(s string) int { return (utf8.RuneCountInString(s) + 3) / 4 }

var indents = strings.Repeat("  ", maxIndent)

func (l *snapshotLine) String() string {
	mark := l.mark
	if mark == "" {
		mark = "-"
	}
	return l.indent() + mark + " " + l.head
}

func (l *snapshotLine) indent() string { return indents[:2*min(l.depth, maxIndent)] }

// size is how many characters String has.
func (l *snapshotLine) size() int { return len(l.indent()) + 2 + utf8.RuneCountInString(l.head) }

// fitted is the lines from the first on that have room in so many characters, and the
// line that has none any more. The lines that the first is below stand before it.
func fitted(lines []snapshotLine, first, room int) (text string, end int) {
	if first >= len(lines) {
		return "", len(lines)
	}
	var around []string
	size := 0
	for at := lines[first].parent; at >= 0; at = lines[at].parent {
		s := lines[at].String()
		if size += utf8.RuneCountInString(s) + 1; size > room/2 {
			break
		}
		around = append([]string{s}, around...)
	}
	out, left := around, room
	for _, s := range around {
		left -= utf8.RuneCountInString(s) + 1
	}
	for end = first; end < len(lines); end++ {
		n := lines[end].size() + 1
		if left-n < -1 { // the last line has no line break
			if end == first { // else nobody would ever get any further
				out = append(out, cutText("- "+lines[end].head, max(left, 4)))
				end++
			}
			break
		}
		left -= n
		out = append(out, lines[end].String())
	}
	return strings.Join(out, "\n"), end
}

// placeOfLine is a place to go on from: a line with a reference, and how many lines
// behind it.
func placeOfLine(lines []snapshotLine, at int) string {
	for i := at; i >= 0; i-- {
		switch {
		case lines[i].ref > 0 && i == at:
			return referenceOf(lines[i].ref)
		case lines[i].ref > 0:
			return referenceOf(lines[i].ref) + "+" + strconv.Itoa(at-i)
		}
	}
	return "+" + strconv.Itoa(at)
}

func lineOfPlace(lines []snapshotLine, from string) (int, error) {
	ref, more, _ := strings.Cut(from, "+")
	n, _ := strconv.Atoi(more)
	if ref == "" {
		return min(n, len(lines)), nil
	}
	for i, l := range lines {
		if l.ref == referenceNumber(ref) {
			return min(i+n, len(lines)), nil
		}
	}
	return 0, Problemf(CodeElementGone, "%q, where the snapshot was to go on, is not in it any more: the page has changed. Take a snapshot without from", ref)
}

// matches is the result of find.
func (p *surveying) matches() (Result, error) {
	w := p.writer()
	out := matchResult{Matches: []match{}, URL: cutText(w.clean(p.page.URL), maxURL), Title: cutText(w.clean(p.page.Title), 200)}
	sortMatches(p.page.Found)
	room := p.value.maxTokens * 4
	for i := range p.page.Found {
		f := &p.page.Found[i]
		if i >= p.value.limit || f.Score < p.page.Found[0].Score/2 {
			break
		}
		if len(f.Tree) != 1 || f.Tree[0].node == nil {
			return nil, fmt.Errorf("reading what was found: %w", errNoTree)
		}
		n, from := f.Tree[0].node, len(w.lines)
		w.child(f.Tree[0], 0, -1)
		m := match{Ref: referenceOf(n.Ref), Role: n.Role, Name: cutText(w.clean(n.Name), w.maxName), Line: w.lines[from].String(), Score: f.Score}
		if f.AroundRole != "" {
			m.In = f.AroundRole
			if name := cutText(w.clean(f.AroundName), 80); name != "" {
				m.In += " " + quotedName(name)
			}
		}
		if room -= utf8.RuneCountInString(m.Line) + utf8.RuneCountInString(m.In) + utf8.RuneCountInString(m.Name); room < 0 && len(out.Matches) > 0 {
			break
		}
		out.Matches = append(out.Matches, m)
		out.Tokens = p.value.maxTokens - room/4
	}
	return plainJSON(out)
}

// pastSnapshot is a snapshot that was taken, for what has changed since.
type pastSnapshot struct {
	tab      *browser.Tab
	document string
	kind     string // what was asked for

	url, title  string
	interactive bool
	lines       []shotLine
}

type shotLine struct {
	ref, parent int // parent is the reference of the next line around it that has one
	head        string
}

const (
	maxShots    = 8
	maxShotText = 4 << 20
	maxGone     = 100
)
