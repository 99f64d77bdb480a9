package documents

import (
	"cmp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// SearchPath is where the library is searched, below the address of all
// documents: no document stands there.
const SearchPath = "search"

// A passage is the text under one heading, up to the next.
type passage struct {
	page      *Page
	id, title string
	text      string
	low       string // the text with its title and that of its page, in small letters
}

// A Hit is a passage in which words were found.
type Hit struct {
	Page    *Page
	ID      string // of its heading; empty: the page from its beginning
	Title   string // of its heading; empty: that of the page
	Excerpt []Piece
}

// A Piece is a piece of an excerpt.
type Piece struct {
	Text  string
	Found bool // one of the words
}

const (
	mostWords = 8
	history   = "changelog"
	around    = 90 // bytes of an excerpt before and after the first word
)

// Search finds the passages that have all words of a query, the best first, or,
// where none has them all, those with the most of them; all says which. Words are
// found inside of others, and in large letters and small ones.
func (l *Library) Search(query string, most int) (hits []Hit, all bool) {
	words := strings.Fields(strings.ToLower(query))
	slices.Sort(words)
	words = slices.Compact(words)
	words = words[:min(len(words), mostWords)]
	type found struct {
		*passage
		words, score int
	}
	var list []found
	best := 1
	for i := range l.passages {
		f := found{passage: &l.passages[i]}
		for _, w := range words {
			n := strings.Count(f.low, w)
			if n == 0 {
				continue
			}
			f.words++
			if f.page.Path == history { // names everything, ever more often, and explains nothing
				n = 1
			}
			f.score += min(n, 5)
			if strings.Contains(strings.ToLower(f.title), w) {
				f.score += 20
			}
			if strings.Contains(strings.ToLower(f.page.Heading), w) {
				f.score += 10
			}
			if strings.EqualFold(f.title, w) || f.title == "" && strings.EqualFold(f.page.Heading, w) {
				f.score += 40
			}
		}
		if f.words >= best {
			best = f.words
			list = append(list, f)
		}
	}
	list = slices.DeleteFunc(list, func(f found) bool { return f.words < best })
	slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	for _, f := range list[:min(len(list), most)] {
		hits = append(hits, Hit{f.page, f.id, f.title, excerpt(f.text, words)})
	}
	return hits, best == len(words)
}

// excerpt is the neighbourhood of the first word that a text has, or its
// beginning.
func excerpt(text string, words []string) (pieces []Piece) {
	low := strings.ToLower(text)
	if len(low) != len(text) {
		text = low // some letters are longer when they are small
	}
	first := 0
	if at, _ := nearest(low, words); at >= 0 {
		first = at
	}
	from, to := max(0, first-around), min(len(text), first+around)
	for from > 0 && text[from-1] != ' ' { // whole words
		from--
	}
	for to < len(text) && text[to] != ' ' {
		to++
	}
	add := func(s string, found bool) {
		if s != "" {
			pieces = append(pieces, Piece{s, found})
		}
	}
	if from > 0 {
		add("… ", false)
	}
	for from < to {
		at, word := nearest(low[from:to], words)
		if at < 0 {
			break
		}
		add(text[from:from+at], false)
		add(text[from+at:from+at+len(word)], true)
		from += at + len(word)
	}
	add(text[from:to], false)
	if to < len(text) {
		add(" …", false)
	}
	return pieces
}

// nearest is the first place of a text that has one of the words, the longest
// where several begin; -1 without one.
func nearest(text string, words []string) (at int, word string) {
	at = -1
	for _, w := range words {
		if i := strings.Index(text, w); i >= 0 && (at < 0 || i < at || i == at && len(w) > len(word)) {
			at, word = i, w
		}
	}
	return at, word
}

// passages are those of a document.
func (p *Page) passages(doc ast.Node, source []byte) (all []passage) {
	now := passage{page: p}
	var b strings.Builder
	end := func() {
		now.text = strings.Join(strings.Fields(b.String()), " ")
		now.low = strings.ToLower(now.title + " " + p.Heading + " " + now.text)
		if now.title != "" || now.text != "" {
			all = append(all, now)
		}
		b.Reset()
	}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			spell(&b, n, source)
			continue
		}
		if h.Level == 1 {
			continue // the page's own
		}
		end()
		id, _ := h.AttributeString("id")
		name, _ := id.([]byte)
		now = passage{page: p, id: string(name), title: plain(h, source)}
	}
	end()
	return all
}

// spell writes what a block says, programs and tables included.
func spell(b *strings.Builder, n ast.Node, source []byte) {
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock || n.Kind() == extast.KindTableCell {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock, *ast.RawHTML: // marks of generated parts
			return ast.WalkSkipChildren, nil
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				b.Write(line.Value(source))
			}
		case *ast.Text:
			b.Write(n.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		}
		return ast.WalkContinue, nil
	})
}
