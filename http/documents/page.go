package documents

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A Page is a document as it is shown.
type Page struct {
	Path     string // below the address of all documents
	Title    string // in the contents
	Heading  string
	HTML     []byte
	Sections []Section
	Parent   *Page   // nil: it is at the top of its group
	Pages    []*Page // that stand below it
	Before   *Page
	After    *Page

	file string
}

// A Section is a part of a page that the contents lead to.
type Section struct{ ID, Title string }

// A Library is all documents.
type Library struct {
	Groups []Group
	pages  map[string]*Page // by Path
	files  fs.FS

	passages []passage // of all pages, in the order of reading
}

// Page finds a page by its path.
func (l *Library) Page(path string) *Page { return l.pages[path] }

// Picture finds a picture that documents show, by its path below the address of
// all documents.
func (l *Library) Picture(path string) ([]byte, bool) {
	if !picture(path) || !fs.ValidPath(path) {
		return nil, false
	}
	b, err := fs.ReadFile(l.files, "docs/"+path)
	return b, err == nil
}

// Read makes pages of documents, which are shown below the address base.
func Read(files fs.FS, base string) (*Library, error) {
	l := &Library{pages: map[string]*Page{}, files: files}
	var paths map[string]*Page
	var err error
	if l.Groups, paths, err = place(files); err != nil {
		return nil, err
	}
	var last *Page
	for _, s := range l.Groups {
		for _, p := range s.inside() {
			if p.Path == SearchPath {
				return nil, fmt.Errorf("%s has the address of the search", p.file)
			}
			if l.pages[p.Path] != nil {
				return nil, fmt.Errorf("%s and %s have one address", p.file, l.pages[p.Path].file)
			}
			l.pages[p.Path] = p
			if p.Before = last; last != nil {
				last.After = p
			}
			last = p
			source, err := fs.ReadFile(files, p.file)
			if err != nil {
				return nil, fmt.Errorf("read a document: %w", err)
			}
			doc, err := p.read(source, links{base, p.file, paths, files})
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", p.file, err)
			}
			l.passages = append(l.passages, p.passages(doc, source)...)
		}
	}
	return l, nil
}

// read makes the page of its source, and gives what stands in it.
func (p *Page) read(source []byte, to links) (ast.Node, error) {
	md := goldmark.New(
		// An alignment as a style would be stopped by the policy of the page.
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(to, 100))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(narrow{}, 100))),
	)
	doc := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&names{used: map[string]bool{}}))))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		id, _ := h.AttributeString("id")
		name, _ := id.([]byte)
		switch title := plain(h, source); h.Level {
		case 1:
			p.Heading = title
		case 2:
			p.Sections = append(p.Sections, Section{string(name), title})
		}
	}
	if p.Heading == "" {
		return nil, fmt.Errorf("it has no heading")
	}
	if p.Title == "" {
		p.Title = p.Heading
	}
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, source, doc); err != nil {
		return nil, err
	}
	p.HTML = b.Bytes()
	return doc, nil
}

// plain is what a piece of a document says.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Value(source))
			if n.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
