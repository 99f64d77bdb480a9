package documents

import (
	"image/png"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// links leads from one document to the pages of others.
type links struct {
	base, from string
	pages      map[string]*Page // by file
	files      fs.FS
}

// Transform changes the links of a document. Parts that are not shown, such as the
// source of the program, is named without a link.
func (l links) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	var dead []*ast.Link
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			to, ok := l.to(string(n.Destination))
			if !ok {
				dead = append(dead, n)
			}
			n.Destination = []byte(to)
		case *ast.Image:
			to, _ := l.to(string(n.Destination))
			n.Destination = []byte(to)
			l.size(n, strings.TrimPrefix(to, l.base))
		}
		return ast.WalkContinue, nil
	})
	for _, n := range dead {
		for child := n.FirstChild(); child != nil; child = n.FirstChild() {
			n.Parent().InsertBefore(n.Parent(), n, child)
		}
		n.Parent().RemoveChild(n.Parent(), n)
	}
}

// to is where a link leads, and whether anything is shown there.
func (l links) to(link string) (string, bool) {
	if strings.HasPrefix(link, "#") || strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return link, true
	}
	name, anchor, _ := strings.Cut(link, "#")
	if anchor != "" {
		anchor = "#" + anchor
	}
	file := path.Join(path.Dir(l.from), name)
	for _, f := range []string{file, path.Join(file, "README.md")} {
		if p := l.pages[f]; p != nil {
			return l.base + p.Path + anchor, true
		}
	}
	below, ok := strings.CutPrefix(file, "docs/")
	if _, err := fs.Stat(l.files, file); !ok || err != nil || !picture(file) {
		return link, false
	}
	return l.base + below, true
}

// size tells how large a picture is, so that the page keeps its place.
func (l links) size(n *ast.Image, name string) {
	f, err := l.files.Open("docs/" + name)
	if err != nil {
		return
	}
	defer f.Close()
	if c, err := png.DecodeConfig(f); err == nil { // a drawing has no size of its own
		n.SetAttributeString("width", strconv.Itoa(c.Width))
		n.SetAttributeString("height", strconv.Itoa(c.Height))
	}
}

// picture reports whether a file is one.
func picture(name string) bool { return path.Ext(name) == ".png" || path.Ext(name) == ".svg" }

// names gives headings the names that sites which show Markdown give them: the
// links between the documents hold there and here.
type names struct{ used map[string]bool }

// Generate is the name of a heading.
func (n *names) Generate(heading []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(string(heading)))
	unique := name
	for i := 1; n.used[unique]; i++ {
		unique = name + "-" + strconv.Itoa(i)
	}
	n.used[unique] = true
	return []byte(unique)
}

// Put takes a name.
func (n *names) Put(name []byte) { n.used[string(name)] = true }
