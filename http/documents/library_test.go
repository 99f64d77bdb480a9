package documents_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"troupe"
	"troupe/http/documents"
)

const base = "/docs/"

func read(t *testing.T, files fs.FS) *documents.Library {
	t.Helper()
	l, err := documents.Read(files, base)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// with is the project's documents, and files beside them or in their place.
func with(t *testing.T, files map[string]string) fs.FS {
	t.Helper()
	all := fstest.MapFS{}
	err := fs.WalkDir(troupe.Documents, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(troupe.Documents, name)
		all[name] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// pages are all pages of a library.
func pages(l *documents.Library) (all []*documents.Page) {
	for _, s := range l.Groups {
		for _, p := range s.Pages {
			all = append(append(all, p), p.Pages...)
		}
	}
	return all
}

// TestEveryDocumentIsAPage: each document of the project is shown, its links
// lead to headings and pictures that are there, and nothing in it needs what the
// policy of the page forbids.
func TestEveryDocumentIsAPage(t *testing.T) {
	t.Parallel()
	l := read(t, troupe.Documents)
	named := map[string]bool{}
	for _, p := range pages(l) {
		for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllSubmatch(p.HTML, -1) {
			id := p.Path + "#" + string(m[1])
			if named[id] {
				t.Errorf("two headings are called %s", id)
			}
			named[id] = true
		}
	}
	links, pictures := 0, 0
	for _, p := range pages(l) {
		for _, bad := range []string{"<script", " style=", "<!--", " onclick=", "javascript:", ".md\"", ".md#"} {
			if strings.Contains(string(p.HTML), bad) {
				t.Errorf("%s has %s", p.Path, bad)
			}
		}
		if source, _ := fs.ReadFile(troupe.Documents, "docs/"+p.Path+".md"); strings.Contains(string(source), "```mermaid") {
			t.Errorf("%s has a drawing that only some sites draw: it would be shown as text here", p.Path)
		}
		for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(string(p.HTML), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			to, anchor, _ := strings.Cut(m[1], "#")
			at := p.Path
			if to != "" {
				below, ok := strings.CutPrefix(to, base)
				if at = below; !ok || l.Page(at) == nil {
					t.Errorf("%s leads to %s, where nothing is shown", p.Path, m[1])
					continue
				}
			}
			if anchor != "" && !named[at+"#"+anchor] {
				t.Errorf("%s leads to %s, which has no such heading", p.Path, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`src="([^"]*)"`).FindAllStringSubmatch(string(p.HTML), -1) {
			pictures++
			if b, ok := l.Picture(strings.TrimPrefix(m[1], base)); !ok || len(b) < 1000 {
				t.Errorf("%s shows %s, which is not there", p.Path, m[1])
			}
		}
	}
	if links < 300 || pictures < 10 {
		t.Errorf("only %d links and %d pictures: the documents are not where they were", links, pictures)
	}
	for _, want := range []string{"start", "actions/click", "recipes/log-in", "recipes", "decisions/0001-own-protocol-sessions", "security", "reporting", "changelog"} {
		if l.Page(want) == nil {
			t.Errorf("%s is not shown", want)
		}
	}
}

// TestReadingOrder: from the first page one gets to all others, and back.
func TestReadingOrder(t *testing.T) {
	t.Parallel()
	l := read(t, troupe.Documents)
	n := 0
	var last *documents.Page
	for p := l.Page("start"); p != nil; p = p.After {
		if n++; p.Before != last || n > 1000 {
			t.Fatalf("%s comes after %v, and says that it comes after %v", p.Path, last, p.Before)
		}
		last = p
	}
	if want := len(pages(l)); n != want {
		t.Errorf("one gets to %d pages of %d", n, want)
	}
}

// TestWhatDocumentsSay plays odd documents.
func TestWhatDocumentsSay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want, not string }{
		{"a script is left out", "<script>alert(1)</script>\n\nand <b onclick=x>bold</b>", "bold", "<script>|onclick|<b"},
		{"an address that runs is none", "[x](javascript:alert(1))", ">x<", "javascript"},
		{"what is typed as code is text", "```\n<script>&\n```", "&lt;script&gt;&amp;", "<script>"},
		{"a name in brackets is text", "`<script>`", "&lt;script&gt;", "<script>"},
		{"a link to another page, with its heading", "[x](actions/click.md#options)", `href="/docs/actions/click#options"`, ""},
		{"a link to a folder leads to its page", "[x](recipes) [y](recipes/)", `href="/docs/recipes">x`, ".md"},
		{"a link up to the root", "[x](../CHANGELOG.md)", `href="/docs/changelog"`, ""},
		{"a link to what is not shown is its text", "see [the **code**](../engine/click.go) there", "see the <strong>code</strong> there", "href|engine"},
		{"a link out of the project is its text", "[x](../../../etc/passwd)", ">x<", "href|passwd"},
		{"a picture", "![p](images/workers-390.png)", `src="/docs/images/workers-390.png" alt="p" width="390" height="844"`, ""},
		{"an alignment is no style", "|a|\n|-:|\n|1|", `align="right"`, "style"},
		{"headings with one name have two", "## Same\n\n## Same", `id="same-1"`, ""},
		{"a heading is named as elsewhere", "## What `a_b` costs: 5 %, ßo", `id="what-a_b-costs-5--ßo"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := read(t, with(t, map[string]string{"docs/limits.md": "# Limits\n\n" + c.text + "\n"}))
			page := string(l.Page("limits").HTML)
			_, page, _ = strings.Cut(page, "</h1>")
			if !strings.Contains(page, c.want) {
				t.Errorf("it is shown as %s\nwant %s in it", page, c.want)
			}
			if c.not != "" && regexp.MustCompile(c.not).MatchString(page) {
				t.Errorf("it is shown as %s\nwant nothing of %s", page, c.not)
			}
		})
	}
}

// TestNewDocuments: a document that nobody has given a place is shown at the
// end, one in a folder beside its neighbours; one that says not what it is, is a
// fault.
func TestNewDocuments(t *testing.T) {
	t.Parallel()
	l := read(t, with(t, map[string]string{"docs/new.md": "# New\n", "docs/actions/new.md": "# Newer\n", "docs/else/where.md": "# Elsewhere\n"}))
	last := l.Groups[len(l.Groups)-1].Pages
	if p := l.Page("new"); p == nil || last[len(last)-1] != p || p.Before != l.Page("else/where") {
		t.Errorf("the new document is at %+v", p)
	}
	if p := l.Page("actions/new"); p == nil || p.Parent != l.Page("actions") {
		t.Errorf("the new action is at %+v", p)
	}
	if _, err := documents.Read(with(t, map[string]string{"docs/new.md": "text\n"}), base); err == nil || !strings.Contains(err.Error(), "has no heading") {
		t.Errorf("without a heading: %v", err)
	}
}

// TestPictures: only pictures of the documents are given away.
func TestPictures(t *testing.T) {
	t.Parallel()
	l := read(t, troupe.Documents)
	if b, ok := l.Picture("scale.svg"); !ok || !strings.Contains(string(b), "<svg") {
		t.Error("a drawing is not given")
	}
	for _, name := range []string{"", ".", "api.md", "../docs/scale.svg", "images/../scale.svg", "images", "nothing.png", "/scale.svg", "images//usage-390.png"} {
		if _, ok := l.Picture(name); ok {
			t.Errorf("%q is given", name)
		}
	}
}
