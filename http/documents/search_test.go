package documents_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"troupe"
	"troupe/http/documents"
)

// where is a hit as page#heading.
func where(h documents.Hit) string {
	if h.ID == "" {
		return h.Page.Path
	}
	return h.Page.Path + "#" + h.ID
}

// said is an excerpt with what was found in brackets.
func said(h documents.Hit) string {
	var b strings.Builder
	for _, p := range h.Excerpt {
		if p.Found {
			b.WriteString("[" + p.Text + "]")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// TestSearch searches in a document of its own, among all others.
func TestSearch(t *testing.T) {
	t.Parallel()
	l := read(t, with(t, map[string]string{"docs/new.md": `# Xylophones

The Quagga sleeps. <!-- hiddenmark -->

## Feeding quaggas

They eat ` + "`hayword`" + `, and *zebrafish* on **Sundays**.

| what | when |
|---|---|
| cellone | celltwo |

` + "```json\n{\"codeword\": \"<b>\"}\n```" + `

### Nests

Far from any cellone. ` + strings.Repeat("Long text. ", 60) + `Quokka ` + strings.Repeat("more text. ", 60) + `
`}))
	for _, c := range []struct {
		name, query string
		want        string // places in their order
		all         bool
		excerpt     string // in the first
	}{
		{"a word in a heading comes first", "quagga", "new#feeding-quaggas new", true, ""},
		{"large and small letters are the same", "xYlOpHoNeS", "new new#feeding-quaggas new#nests", true, ""},
		{"part of a word", "zebraf", "new#feeding-quaggas", true, "[zebraf]ish"},
		{"all words, from a heading and a text", "nests quokka", "new#nests", true, "text. [Quokka] more"},
		{"the same word twice is one", "quokka quokka", "new#nests", true, ""},
		{"a cell does not run into the next", "cellonecelltwo", "", false, ""},
		{"what is typed as code", "codeword", "new#feeding-quaggas", true, `{"[codeword]": "<b>"}`},
		{"what stands in no part together: those with the most", "hayword zebrafish qqzzy", "new#feeding-quaggas", false, "[hayword], and [zebrafish]"},
		{"what is no text of the document", "hiddenmark", "", false, ""},
		{"nothing has it", "qqzzyx", "", false, ""},
		{"spaces alone", "  \t ", "", false, ""},
		{"letters that grow when they are small", "İİİİ", "", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			hits, all := l.Search(c.query, 10)
			var got []string
			for _, h := range hits {
				got = append(got, where(h))
			}
			if s := strings.Join(got, " "); s != c.want || c.want != "" && all != c.all {
				t.Fatalf("%q is at %q (all words: %v), want %q (%v)", c.query, s, all, c.want, c.all)
			}
			if c.excerpt != "" && !strings.Contains(said(hits[0]), c.excerpt) {
				t.Errorf("the excerpt is %q, want %q in it", said(hits[0]), c.excerpt)
			}
		})
	}
}

// TestSearchFindsItsWay: what somebody new looks for stands first.
func TestSearchFindsItsWay(t *testing.T) {
	t.Parallel()
	l := read(t, troupe.Documents)
	for query, want := range map[string]string{
		"click": "actions/click", "uploadFile": "actions/uploadFile", "deployment": "deployment", "troupe doctor": "operations",
	} {
		hits, _ := l.Search(query, 5)
		if len(hits) == 0 || hits[0].Page.Path != want {
			t.Errorf("%q is first found at %+v, want %s", query, hits, want)
		}
	}
	for _, query := range []string{"the", "e", "a e i o u", strings.Repeat("a ", 500)} {
		hits, _ := l.Search(query, 5)
		if len(hits) != 5 {
			t.Errorf("%.20q gives %d places, want 5", query, len(hits))
		}
		for _, h := range hits {
			if s := said(h); len(s) > 400 || !utf8.ValidString(s) {
				t.Errorf("%.20q: the excerpt of %s is %q", query, where(h), s)
			}
			if l.Page(h.Page.Path) != h.Page || h.ID != "" && !strings.Contains(string(h.Page.HTML), ` id="`+h.ID+`"`) {
				t.Errorf("%.20q leads to %s, which is not there", query, where(h))
			}
		}
	}
	if _, err := documents.Read(with(t, map[string]string{"docs/search.md": "# Search\n"}), base); err == nil {
		t.Error("a document stands in the place of the search")
	}
}
