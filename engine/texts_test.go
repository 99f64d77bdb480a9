package engine

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"troupe/testkit/need"
)

var (
	textSeed  = flag.Uint64("text-seed", 1, "the first seed of the random pages whose text is read in all ways")
	textPages = flag.Uint64("text-pages", 0, "how many random pages are read")
)

// textRule is one row of the table in docs/texts.md: a piece of a page, and what each reader
// makes of it. A reader without a text has that of visible text.
type textRule struct {
	name, html                         string
	visible, markdown, snapshot, inner string
	block                              bool // it may not be in a paragraph or a span
}

// textRules are the rules by which texts are read. In a piece, @ is where others may be put
// into it, and each word is another one in each place of a random page. What all readers have
// the same is mixed with others there.
var textRules = []textRule{
	{name: "Text", html: `<b>one @</b>`, visible: "one"},
	{name: "Text", html: `<span>one </span><i>two@</i>`, visible: "one two"},
	{name: "Text", html: `<b>one</b><i>two@</i>`, visible: "onetwo"},
	{name: "Text", html: "one\n\t<i>two @</i>", visible: "one two"},
	{name: "Blocks and line breaks", html: `one<br>two@`, visible: "one two"},
	{name: "Blocks and line breaks", html: `one<br style="display:none">two@`, visible: "onetwo"},
	{name: "Blocks and line breaks", html: `<div>one@</div>two<div>three</div>`, visible: "one two three", block: true},
	{name: "Blocks and line breaks", html: `<p>one@</p><ul><li>two<li>three@</ul>`, visible: "one two three", block: true},
	{name: "Blocks and line breaks", html: `<span style="display:flex"><span>one@</span><span>two</span></span>`, visible: "one two", block: true},
	{name: "Blocks and line breaks", html: `<table><tr><th>one<th>two<tr><td>three@<td>four</table>`, visible: "one two three four", block: true},
	{name: "Blocks and line breaks", html: `<span style="display:contents">one<i>two@</i></span>`, visible: "onetwo"},
	{name: "Boxes in a line", html: `<span style="display:inline-block">one@</span><span style="display:inline-block">two</span>`, visible: "one two", inner: "onetwo"},
	{name: "Boxes in a line", html: `one<span style="display:inline-block">two@</span>three`, visible: "one two three", inner: "onetwothree"},
	{name: "Boxes in a line", html: `<a href="/" style="display:inline-block">one</a><a style="display:inline-flex">two</a>three<b style="display:inline-block"></b>four@`, visible: "one two threefour", inner: "onetwothreefour"},
	{name: "Boxes in a line", html: `<b><span style="display:inline-block">W</span><span style="display:inline-block">o</span></b>`, visible: "Wo", snapshot: "W o"},
	{name: "Spaces", html: `<span>one</span>&nbsp;<span>two@</span>`, visible: "one two"},
	{name: "Spaces", html: `<span>one&nbsp;</span><span>two</span><span>&nbsp;three@</span>`, visible: "one two three"},
	{name: "Spaces", html: `<span>one&#8195;</span><span>two</span>&#8201;<span>three@</span>`, visible: "one two three"},
	{name: "Spaces", html: `<span>one&nbsp; </span><span> &nbsp;two@</span>`, visible: "one two"},
	{name: "Spaces", html: `<span style="white-space:pre">one </span><span>two@</span>`, visible: "one two"},
	{name: "Characters that nobody sees", html: `o&shy;ne t&#8203;wo&#65279; t&#8288;hr&#8206;ee &#8296;four&#8297;@`, visible: "one two three four", inner: "o\u00adne t\u200bwo\ufeff t\u2060hr\u200eee \u2068four\u2069"},
	{name: "Characters that nobody sees", html: `<span>one</span>&#8203;<span>two</span>&shy;<span>three@</span>`, visible: "onetwothree", inner: "one\u200btwo\u00adthree"},
	{name: "Upper and lower case", html: `<span style="text-transform:uppercase">one @</span><span style="text-transform:capitalize">two-three</span>`, visible: "ONE Two-Three", snapshot: "one two-three", inner: "ONE Two-Three"},
	{name: "What is hidden", html: `one<i hidden>no@</i><i style="visibility:hidden">no</i><script>no</script><template>no</template><style>no{}</style>`, visible: "one"},
	{name: "What is hidden", html: `<span style="visibility:hidden">no<i style="visibility:visible">one@</i></span>`, visible: "one"},
	{name: "What is hidden", html: `<details><summary>one</summary>no<i>no</i></details>@`, visible: "one", block: true},
	{name: "Drawn so that nobody sees it", html: `one<i style="opacity:0">no</i><b style="opacity:0">no<i>no</i></b>@`, visible: "one", inner: "onenonono"},
	{name: "Drawn so that nobody sees it", html: `one<i style="position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)">no@</i><i style="position:absolute;left:-9999px">no</i>`, visible: "one", inner: "one no no"},
	{name: "Drawn so that nobody sees it", html: `<div>one@</div><div style="height:0;overflow:hidden">no</div><div style="text-indent:-9999px">no</div><div style="font-size:0">no</div>`, visible: "one", inner: "one no no no", block: true},
	{name: "Shadow roots", html: `<div><template shadowrootmode="open"><b>one</b> <slot></slot> <i>three</i></template>two@</div>`, visible: "one two three", inner: "two", block: true},
	{name: "Drawn so that nobody sees it", html: `one<span style="font-size:0">no</span><span style="opacity:0">no</span>@<a style="display:inline-block;text-indent:-9999px;width:9px">no</a>`, visible: "one", inner: "onenonono"},
	{name: "Content of style sheets", html: `<span class=words>two@</span>`, visible: "one-two-three", inner: "two"},
	{name: "Content of style sheets", html: `<span class=spaced>two@</span>`, visible: "one two three", inner: "two"},
	{name: "Content of style sheets", html: `<span class=box>two@</span>`, visible: "one two three", inner: "two"},
	{name: "Content of style sheets", html: `<span class=asks data-w="one">two@</span>`, visible: "one:two", inner: "two"},
	{name: "Content of style sheets", html: `<span class=tip>one@</span><span class=gone>two</span><span class=away>three</span>`, visible: "onetwothree"},
	{name: "Content of style sheets", html: `<li class=words>two@</li>`, visible: "one-two-three", inner: "two", block: true},
	{name: "Content of style sheets", html: `<table><tr><th class=words>two<th>four<tr><td class=asks data-w="five">six@<td>seven</table>`, visible: "one-two-three four five:six seven", inner: "two four six seven", block: true},
	{name: "Pictures of a font", html: `<span class=icon>one@</span><i class="icon words"></i>`, visible: "oneone--three", inner: "one"},
	{name: "Alternative text of content", html: `<span class=alt>two@</span><span class=drawn>three</span><span class=picture>five</span>`, visible: "one two three fourfive", inner: "twothreefive"},
	{name: "Quotation marks", html: `<q>one@</q>`, visible: `"one"`, snapshot: "one", inner: "one"},
	{name: "Quotation marks", html: `<q lang=fr style='quotes:"«" "»"'>one@</q>`, visible: `«one»`, snapshot: "one", inner: "one"},
	{name: "Content of style sheets in code", html: `<code class=words>two</code>`, visible: "one-two-three", markdown: "two", inner: "two"},
	{name: "Alternative text of pictures", html: `one <img alt="two" src="data:,"> <svg width=9 height=9 aria-label=three></svg>`, visible: "one", markdown: "one two three", snapshot: "one two three"},
	{name: "Fields", html: `one<input value=two><button>three</button><input type=submit value=four><textarea>five</textarea><input type=password value=six>`, visible: "one two three four five", snapshot: "one two three four five ••••", inner: "onethree"},
	{name: "Frames", html: `<div>one</div><iframe srcdoc="two" width=90 height=50></iframe>`, visible: "one", markdown: "one two", snapshot: "one two", block: true},
}

const textStyle = `<!doctype html><meta charset=utf-8><style>
.words::before{content:"one-"} .words::after{content:"-three"}
.spaced::before{content:"one "} .spaced::after{content:"\a0three"}
.box::before{content:"one";display:inline-block} .box::after{content:"three";position:absolute}
.asks::before{content:attr(data-w) ":"}
.tip::after{content:"no";opacity:0} .gone::after{content:"no";display:none} .away::before{content:"no";position:absolute;left:-9999px} .away::after{content:"no";visibility:hidden}
.icon::before{content:"\e900"} .icon::after{content:"\f0c9\200b"} .icon.words::before{content:"\e900one-"} .icon.words::after{content:"-three\e901"}
.alt::before{content:"\2605" / "one "} .alt::after{content:"no" / ""}
.drawn::before{content:" "} .drawn::after{content:url("data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7") / " four"}
.picture::before{content:url("data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")}
</style><body>`

// readText are the words that each reader finds in an element of a page.
type readText struct{ visible, markdown, snapshot, inner string }

// readAll reads parts of a page, each a section, in all ways.
func readAll(t *testing.T, sections []string) []readText {
	t.Helper()
	var page strings.Builder
	page.WriteString(textStyle)
	for i, s := range sections {
		fmt.Fprintf(&page, "<section id=r%d style='overflow:hidden;position:relative'>%s</section>\n", i, s)
	}
	actions := []string{`{"open":"` + serve(t, page.String()) + `"}`}
	for i := range sections {
		for _, a := range []string{`"getText":"#r%d","options":{"visible":true,"push":"k"}`, `"getMarkdown":{"selector":"#r%d","links":false},"options":{"push":"k"}`, `"snapshot":{"within":"#r%d"},"options":{"push":"k"}`, `"evaluate":"return r%d.innerText","options":{"push":"k"}`} {
			actions = append(actions, "{"+fmt.Sprintf(a, i)+"}")
		}
	}
	actions = append(actions, `{"getSavedData":"k"}`)
	o := play(t, newInstance(t), `{"actions":[`+strings.Join(actions, ",")+`],"config":{"actionTimeout":60000},"timeout":120000}`, TaskEnv{})
	var got struct{ K []json.RawMessage }
	if len(o.Failures) > 0 || json.Unmarshal(o.Data, &got) != nil || len(got.K) != 4*len(sections) {
		t.Fatalf("%+v %.300s", o.Failures, o.Data)
	}
	out := make([]readText, len(sections))
	for i := range out {
		of := got.K[4*i:]
		var md struct{ Markdown string }
		var snap struct{ Snapshot string }
		for k, into := range []any{&out[i].visible, &md, &snap, &out[i].inner} {
			if err := json.Unmarshal(of[k], into); err != nil {
				t.Fatal(err, string(of[k]))
			}
		}
		out[i].markdown, out[i].snapshot = wordsOfMarkdown(md.Markdown), wordsOfSnapshot(snap.Snapshot)
		out[i].visible, out[i].inner = words(out[i].visible), words(out[i].inner)
	}
	return out
}

func words(s string) string { return strings.Join(strings.Fields(s), " ") }

var (
	markdownBlocks = regexp.MustCompile(`(?m)^(> |#+ |- )+|\|( --- \|)+|<br>|\|`)
	markdownSigns  = regexp.MustCompile("!\\[|\\]\\([^)]*\\)|[*~`\\\\]")
)

func wordsOfMarkdown(s string) string {
	return words(markdownSigns.ReplaceAllString(markdownBlocks.ReplaceAllString(s, " "), ""))
}

var (
	tableCell     = regexp.MustCompile(`^\s*- '?(cell|gridcell|columnheader|rowheader) `)
	snapshotHead  = regexp.MustCompile(`^\s*- '?[a-z]+`)
	snapshotState = regexp.MustCompile(`\[[a-z]+(=[^\]]*)?\]`)
)

// wordsOfSnapshot are the texts and names of a snapshot. A cell of a table with something
// below it says that again in its name.
func wordsOfSnapshot(s string) string {
	var out []string
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n'")
		if strings.Contains(line, "- /") {
			continue
		}
		if strings.HasSuffix(line, ":") && tableCell.MatchString(line) {
			continue
		}
		line = snapshotState.ReplaceAllString(snapshotHead.ReplaceAllString(line, ""), "")
		name, text, _ := strings.Cut(strings.TrimSpace(line), `: `)
		out = append(out, strings.Trim(strings.TrimSuffix(name, ":"), `" `), strings.Trim(text, `"`))
	}
	return words(strings.Join(out, " "))
}

// parted reports whether the lines of a snapshot have the words of a text: where that parts two,
// so does the snapshot. An element of its own is also a line where the text has no space.
func parted(snapshot, text string) bool {
	i := 0
	for _, c := range snapshot {
		if c == ' ' && (i >= len(text) || text[i] != ' ') {
			continue
		}
		if i >= len(text) || !strings.HasPrefix(text[i:], string(c)) {
			return false
		}
		i += len(string(c))
	}
	return i == len(text)
}

// TestTextsAreReadAlike: each row of the table is what the readers make of it, and the
// document has the same rows.
func TestTextsAreReadAlike(t *testing.T) {
	doc, err := os.ReadFile("../docs/texts.md")
	if err != nil {
		t.Fatal(err)
	}
	var sections []string
	rows := map[string]bool{}
	for _, r := range textRules {
		rows[r.name] = true
		sections = append(sections, strings.ReplaceAll(r.html, "@", ""))
	}
	for name := range rows {
		if !strings.Contains(string(doc), "\n| "+name+" |") {
			t.Errorf("docs/texts.md has no row %q", name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\| ([A-Z][^|]*) \|`).FindAllStringSubmatch(string(doc), -1) {
		if m[1] != "Rule" && !rows[m[1]] {
			t.Errorf("docs/texts.md has a row %q, which nothing here holds", m[1])
		}
	}
	for i, got := range readAll(t, sections) {
		r, or := textRules[i], func(a, b string) string {
			if a == "" {
				return b
			}
			return a
		}
		want := readText{r.visible, or(r.markdown, r.visible), or(r.snapshot, r.visible), or(r.inner, r.visible)}
		if got.visible != want.visible {
			t.Errorf("visible text of %s\nis   %+q\nwant %+q", r.html, got.visible, want.visible)
		}
		if got.markdown != want.markdown {
			t.Errorf("Markdown of %s\nis   %+q\nwant %+q", r.html, got.markdown, want.markdown)
		}
		if r.snapshot != "" && got.snapshot != want.snapshot || !parted(got.snapshot, want.snapshot) {
			t.Errorf("a snapshot of %s\nis   %+q\nwant %+q", r.html, got.snapshot, want.snapshot)
		}
		if got.inner != want.inner {
			t.Errorf("innerText of %s\nis   %+q\nwant %+q", r.html, got.inner, want.inner)
		}
	}
}

var textWord = regexp.MustCompile(`>[^<]*|^[^<]*`)

// randomText is a piece of a page, made of rules that all readers have in common: plain ones
// are those of innerText, too.
type randomText struct {
	*rand.Rand
	plain bool
	words int
}

func (p *randomText) piece(depth int, block bool) string {
	var b strings.Builder
	for range 1 + p.IntN(3) {
		r := textRules[p.IntN(len(textRules))]
		if r.markdown+r.snapshot != "" || p.plain && r.inner != "" || r.block && !block {
			continue
		}
		html := textWord.ReplaceAllStringFunc(r.html, func(t string) string {
			return regexp.MustCompile(`\b(one|two|three|four|five|six|seven)\b`).ReplaceAllStringFunc(t, func(string) string {
				p.words++
				return fmt.Sprintf("w%d", p.words)
			})
		})
		for strings.Contains(html, "@") {
			inner := ""
			if depth > 0 && p.IntN(2) == 0 {
				inner = p.piece(depth-1, false)
			}
			html = strings.Replace(html, "@", inner, 1)
		}
		b.WriteString(html + []string{"", "", " ", "\n"}[p.IntN(4)])
	}
	return b.String()
}

// TestRandomTextsAreReadAlike: the three readers find the same words, parted in the same
// places, on pages that nobody has written, and so does innerText where the rules are its own.
func TestRandomTextsAreReadAlike(t *testing.T) {
	t.Parallel()
	pages := *textPages
	if pages == 0 {
		pages = 60
		if need.AllAsked() {
			pages = 300
		}
	}
	for from := *textSeed; from < *textSeed+pages; from += 60 {
		var sections []string
		for seed := from; seed < min(from+60, *textSeed+pages); seed++ {
			p := &randomText{Rand: rand.New(rand.NewPCG(seed, 1)), plain: seed%2 == 0}
			sections = append(sections, p.piece(3, true))
		}
		for i, got := range readAll(t, sections) {
			plain := (from+uint64(i))%2 == 0
			if got.visible != got.markdown || !parted(got.snapshot, got.visible) || plain && got.visible != got.inner {
				t.Errorf("seed %d: the readers differ:\nvisible   %+q\nMarkdown  %+q\nsnapshot  %+q\ninnerText %+q\n%s", from+uint64(i), got.visible, got.markdown, got.snapshot, got.inner, sections[i])
			}
		}
	}
}
