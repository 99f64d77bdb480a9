package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"troupe/testkit/need"
)

// TestMarkdownHasBounds: pages that are made to become very much text do not.
func TestMarkdownHasBounds(t *testing.T) {
	need.All(t)
	pages := map[string]string{
		"text":   `<script>for (let i = 0; i < 50; i++) document.write('<p>' + 'word '.repeat(20000) + '</p>')</script>`,
		"nested": `<script>document.write('<ul><li>'.repeat(150) + '<p>a</p>'.repeat(20000))</script>`,
		"spans":  `<script>document.write('<table><tr><th>h<tr><td rowspan=900>' + 'x'.repeat(20000) + '<td>1' + '<tr><td>1'.repeat(900) + '</table>')</script>`,
		"wide":   `<script>document.write('<table>' + '<tr><td colspan=1000>a'.repeat(3000) + '</table>')</script>`,
		"frames": `<script>for (let i = 0; i < 300; i++) document.write('<iframe srcdoc=f></iframe>')</script>`,
	}
	for path, html := range pages {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			o := play(t, newInstance(t), `{"actions":[{"open":"`+serve(t, html)+`"},{"getMarkdown":{}}],"config":{"actionTimeout":60000},"timeout":90000}`, TaskEnv{})
			var p piece
			if len(o.Failures) > 0 || json.Unmarshal(o.Data, &p) != nil {
				t.Fatalf("%+v", o.Failures)
			}
			if n := utf8.RuneCountInString(p.Markdown); n > maxMarkdown || n != p.Length {
				t.Errorf("it has %d characters, and says %d", n, p.Length)
			}
			switch path {
			case "text", "spans":
				if !p.Truncated {
					t.Errorf("%d characters are not truncated", p.Length)
				}
			case "nested":
				deepest := 0
				for line := range strings.Lines(p.Markdown) {
					deepest = max(deepest, len(line)-len(strings.TrimLeft(line, " ")))
				}
				if deepest != 2*deepestMarks {
					t.Errorf("the deepest line begins with %d spaces", deepest)
				}
			case "frames":
				if n := strings.Count(p.Markdown, "f"); n != maxReadFrames {
					t.Errorf("%d frames are read", n)
				}
			}
		})
	}
}

// deepestMarks is how many lists and quotes may stand around a line, as in markdown.js.
const deepestMarks = 20

// TestPiecesMakeTheWhole: pieces of any length, one after the other, are the whole text,
// and none cuts a character.
func TestPiecesMakeTheWhole(t *testing.T) {
	p := page{Text: strings.Repeat("Zeile für Zeile, 😀.\n\nNoch eine längere Zeile mit mehr Worten darin\n", 30)}
	for _, most := range []int{1, 2, 7, 50, 333, 100_000} {
		var all strings.Builder
		for next := 0; ; {
			got := pieceOf(p, next, most)
			if n := utf8.RuneCountInString(got.Markdown); n > most || n == 0 || !utf8.ValidString(got.Markdown) {
				t.Fatalf("with %d characters a piece has %d", most, n)
			}
			all.WriteString(got.Markdown)
			if got.Next == 0 {
				break
			}
			next = got.Next
		}
		if all.String() != p.Text {
			t.Errorf("pieces of %d characters are not the whole", most)
		}
	}
}

// TestSpliced: the Markdown of a frame replaces its mark, wherever that is.
func TestSpliced(t *testing.T) {
	const mark = "\x001\x00"
	for _, c := range []struct{ text, in, want string }{
		{"a\n\n" + mark + "\n\nb", "x\n\ny", "a\n\nx\n\ny\n\nb"},
		{"- " + mark, "x\n\ny", "- x\n\n  y"},
		{"> q\n>\n> " + mark, "x\n\ny", "> q\n>\n> x\n>\n> y"},
		{"a\n\n" + mark + "\n\nb", "", "a\n\nb"},
		{"> " + mark + "\n>\n> q", "", "> q"},
		{"a\n\n" + mark, "", "a"},
		{mark, "", ""},
		{"a", "x", "a"},
	} {
		if got := spliced(c.text, mark, c.in); got != c.want {
			t.Errorf("%q in %q gives %q, want %q", c.in, c.text, got, c.want)
		}
	}
}
