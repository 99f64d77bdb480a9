package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	xhtml "golang.org/x/net/html"

	"troupe/testkit/need"
	"troupe/testkit/npm"
)

// documents are pages of documentation that packages of npm bring along, made by six
// generators.
var documents = []string{
	"npm/docs/output/using-npm/config.html", "npm/docs/output/configuring-npm/package-json.html", "npm/docs/output/commands/npm-install.html",
	"paper/dist/docs/classes/Path.html", "paper/dist/docs/classes/Color.html",
	"p2/docs/classes/Narrowphase.html", "cannon/docs/classes/World.html",
	"dygraphs/_site/tutorial.html", "dygraphs/_site/options.html", "dygraphs/_site/jsdoc/symbols/Dygraph.html",
	"snapsvg/doc/reference.html",
}

var documentsInstalled = sync.OnceValues(func() (string, error) {
	return npm.Install(filepath.Join("testdata", "documents"), filepath.Join("..", ".cache", "documents"))
})

// documentServer serves what the packages bring along.
func documentServer(t testing.TB) string {
	t.Helper()
	need.Registry(t)
	root, err := documentsInstalled()
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.FileServer(http.Dir(root)))
	t.Cleanup(srv.Close)
	return srv.URL + "/"
}

// shownScript lists what a page shows, by what the browser says of its text.
const shownScript = `
const tight = (s) => s.replace(/[\s\u00a0\u200b\u00ad]+/g, '');
const seen = (e) => e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && e.getClientRects().length > 0;
const all = (css) => [...document.querySelectorAll(css)].filter(seen);
const sign = /^[#¶§]$/;
for (const e of document.querySelectorAll('body *')) {
  if (e.closest('pre,code,kbd,samp,tt,svg,q,script,style') || !e.checkVisibility()) continue;
  for (const [part, to] of [['::before', 'prepend'], ['::after', 'append']]) {
    const s = getComputedStyle(e, part), said = [...s.content.split(' / ').pop().matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((m) => m[1]).join('').replace(/[\ue000-\uf8ff]/g, '');
    if (said.trim() && s.display !== 'none' && s.visibility === 'visible' && s.opacity !== '0' && s.fontSize !== '0px') e[to](said);
  }
}
for (const a of all(':is(h1,h2,h3,h4,h5,h6) a[href^="#"]')) if (sign.test(a.innerText.trim())) a.remove();
for (const i of all('input')) if (i.type === 'checkbox' || i.type === 'radio') i.after(i.checked ? '[x]' : '[ ]'); else if (i.value && i.type !== 'password') i.after(i.value);
return {
  markdown: saved.m.markdown,
  headings: all('h1,h2,h3,h4,h5,h6').map((h) => h.localName + ' ' + tight(h.innerText)).filter((h) => h.length > 3),
  links: all('a[href]').filter((a) => !a.href.startsWith('javascript:') && tight(a.innerText)).map((a) => tight(a.innerText) + ' ' + a.href),
  code: all('pre').map((p) => p.innerText.replace(/^\n+|\s+$/g, '')).filter(Boolean),
  tables: all('table').filter((t) => t.querySelector('th') && ([...t.rows].filter(seen).length > 1 || [...t.querySelectorAll('th')].some(seen))).map((t) => [...t.rows].filter(seen).map((r) => [...r.cells].map((c) => tight(c.innerText)).join(' | ')).filter((r) => tight(r).replaceAll('|', ''))),
  pictures: all('img').filter((i) => i.getAttribute('alt') !== '').map((i) => tight(i.alt) + ' ' + i.src),
  text: tight(document.body.innerText),
}`

// contents is what a page shows, and what an independent reader of Markdown finds.
type contents struct {
	Headings []string   `json:"headings"`
	Links    []string   `json:"links"`
	Code     []string   `json:"code"`
	Tables   [][]string `json:"tables"`
	Pictures []string   `json:"pictures"`
	Text     string     `json:"text"`
}

// BenchmarkMarkdown measures the processor time, of the browser and of this process, that
// a large page takes to become Markdown once it is open.
func BenchmarkMarkdown(b *testing.B) {
	base := documentServer(b)
	for _, c := range []struct {
		path  string
		bytes float64
	}{{"snapsvg/doc/reference.html", 660_930}, {"dygraphs/_site/jsdoc/symbols/src/src_dygraph.js.html", 846_319}, {"paper/dist/docs/classes/Path.html", 270_989}} {
		b.Run(path.Base(c.path), func(b *testing.B) {
			in := ownBrowser(b)
			spent := func(times int) float64 {
				before := processorTime(in.browser.PID()) + ownTime()
				o := play(b, in, fmt.Sprintf(`{"actions":[{"open":"%s"},{"loop":{"repeat":%d,"do":[{"getMarkdown":{"part":"all"}}]}}],"config":{"actionTimeout":60000},"timeout":120000}`, base+c.path, times), TaskEnv{})
				if len(o.Failures) > 0 {
					b.Fatal(o.Failures)
				}
				return processorTime(in.browser.PID()) + ownTime() - before
			}
			spent(1)
			var once, more float64
			for b.Loop() {
				once += spent(1)
				more += spent(11)
			}
			b.ReportMetric((more-once)/float64(10*b.N)*1000, "cpu-ms/page")
			b.ReportMetric((more-once)/float64(10*b.N)*1000*(1<<20)/c.bytes, "cpu-ms/MiB")
		})
	}
}

// TestMarkdownOfDocumentation: all that a page of documentation shows is in its
// Markdown, and nothing else.
func TestMarkdownOfDocumentation(t *testing.T) {
	base := documentServer(t)
	for i, page := range documents {
		if !need.Nth(i, 3) {
			continue
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			o := play(t, newInstance(t), `{"actions":[{"open":"`+base+page+`"},{"getMarkdown":{"part":"all"},"options":{"save":"m"}},{"evaluate":`+quoted(shownScript)+`}],"config":{"actionTimeout":60000},"timeout":120000}`, TaskEnv{})
			var got struct {
				Markdown string
				contents
			}
			if len(o.Failures) > 0 || json.Unmarshal(o.Data, &got) != nil {
				t.Fatalf("%+v %.300s", o.Failures, o.Data)
			}
			for i := range got.Links {
				got.Links[i] = unescapedAddress(got.Links[i])
			}
			found := contentsOf(t, got.Markdown)
			sameList(t, "headings", found.Headings, got.Headings)
			sameList(t, "links", found.Links, got.Links)
			sameList(t, "code", found.Code, got.Code)
			sameList(t, "pictures", found.Pictures, got.Pictures)
			if len(found.Tables) != len(got.Tables) {
				t.Errorf("%d tables were found, want %d", len(found.Tables), len(got.Tables))
			} else {
				for i := range found.Tables {
					sameList(t, "rows of a table", found.Tables[i], got.Tables[i])
				}
			}
			if found.Text != got.Text {
				at := 0
				for at < min(len(found.Text), len(got.Text)) && found.Text[at] == got.Text[at] {
					at++
				}
				t.Errorf("the text differs at %d of %d: %.150q, want %.150q", at, len(got.Text), found.Text[max(0, at-20):], got.Text[max(0, at-20):])
			}
			t.Logf("%d headings, %d links, %d blocks of code, %d tables, %d pictures, %d characters", len(found.Headings), len(found.Links), len(found.Code), len(found.Tables), len(found.Pictures), len(found.Text))
		})
	}
}

func sameList(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("%s: %d were found, want %d; they differ at %d: %.300q, want %.300q", what, len(got), len(want), i, got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))])
			return
		}
	}
}

// contentsOf reads Markdown by goldmark.
func contentsOf(t *testing.T, markdown string) (c contents) {
	t.Helper()
	var page bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough), goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := md.Convert([]byte(markdown), &page); err != nil {
		t.Fatal(err)
	}
	root, err := xhtml.Parse(&page)
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != xhtml.ElementNode {
			continue
		}
		attr := map[string]string{}
		for _, a := range n.Attr {
			attr[a.Key] = a.Val
		}
		switch n.Data {
		case "h1", "h2", "h3", "h4", "h5", "h6":
			if text := tight(textOf(n)); text != "" {
				c.Headings = append(c.Headings, n.Data+" "+text)
			}
		case "a":
			c.Links = append(c.Links, tight(textOf(n))+" "+unescapedAddress(attr["href"]))
		case "pre":
			c.Code = append(c.Code, strings.TrimRight(textOf(n), " \n\t"))
		case "img":
			c.Pictures = append(c.Pictures, tight(attr["alt"])+" "+unescapedAddress(attr["src"]))
		case "table":
			c.Tables = append(c.Tables, nil)
		case "tr":
			var cells []string
			for cell := range n.ChildNodes() {
				if cell.Type == xhtml.ElementNode {
					cells = append(cells, tight(textOf(cell)))
				}
			}
			if row := strings.Join(cells, " | "); strings.Trim(row, " |") != "" {
				c.Tables[len(c.Tables)-1] = append(c.Tables[len(c.Tables)-1], row)
			}
		}
	}
	c.Text = tight(textOf(root))
	return c
}

// unescapedAddress is an address as it reads: what is escaped in it is up to its writer.
func unescapedAddress(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

func textOf(n *xhtml.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == xhtml.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// tight is a text without the white space in it.
func tight(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u200b' || r == '\u00ad' {
			return -1
		}
		return r
	}, s)
}
