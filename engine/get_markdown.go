package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

const (
	// maxMarkdown bounds the Markdown of a page, in characters: 16 MiB in UTF-8 at most.
	maxMarkdown = 4 << 20
	// maxReadFrames bounds the frames of other origins that are read for it.
	maxReadFrames = 100
)

// reading is what of a page is read as Markdown, and how.
type reading struct {
	part                  string // main or all
	element               *lang.Selector
	links, images, tables bool
	seen                  bool // only what a person reads
	maxLength, offset     int
	find                  *lang.Text
}

func (v reading) Keys(to map[string]bool) {
	if v.element != nil {
		v.element.Keys(to)
	}
	if v.find != nil {
		v.find.Keys(to)
	}
}

var _ = define(Action[reading]{
	Name: "getMarkdown", Group: "Data extraction",
	Doc: "Returns the page as Markdown, as a person sees it: headings, links with absolute addresses, lists, tables, code with its language, and pictures. Hidden text is left out. `seen` also leaves out text in the color of its background or cut off, and what is `aria-hidden` or in closed details. " +
		"Frames that can be seen are read where they stand, whichever site they are from, and so are shadow roots. Formulas of KaTeX, MathJax and MathML become their source in TeX, between `$`, or `$$` on a line of their own.\n\n" +
		"`part` is `main` (the default) or `all`. The main part is the element `main`, or the only article. Where a page has neither, the navigation, header, footer and asides are left out. With `selector`, only that element is read. " +
		"`links`, `images` and `tables` are true unless you turn them off: links become their text, pictures their alternative text, and tables are left out.\n\n" +
		"A long text comes in pieces: `maxLength` is how many characters you want, and `next` in the result is the `offset` of the next piece. A piece ends with a line if it can. `truncated` says that the page has more than 4,194,304 characters.\n\n" +
		"`find` gives only the sections that have the most of some words, at most five: the heading, and the paragraphs with the words that are not in the heading. `…` stands for paragraphs that were left out.",
	Value: lang.Shape[reading]{
		Words: "{} or what to read",
		Schema: `{"type":"object","properties":{"part":{"enum":["main","all"]},"selector":` + lang.SelectorShape.Schema + `,"links":{"type":"boolean"},"images":{"type":"boolean"},"tables":{"type":"boolean"},"seen":{"type":"boolean"},` +
			`"maxLength":{"type":"integer","minimum":1,"maximum":4194304},"offset":{"type":"integer","minimum":0,"maximum":4194304},"find":{"type":"string","minLength":1}},"additionalProperties":false}`,
		Read: func(d *lang.Decoder, n *lang.Node) reading {
			v := reading{part: "main", links: true, images: true, tables: true, maxLength: maxMarkdown}
			var part *lang.Node
			flag := func(name string, to *bool) lang.Member {
				return lang.Field(name, func(f *lang.Node) { *to = lang.BoolShape.Read(d, f) })
			}
			d.ReadObject(n, "what to read",
				lang.Field("part", func(f *lang.Node) { part, v.part = f, lang.EnumShape("a part", "main", "all").Read(d, f) }),
				lang.Field("selector", func(f *lang.Node) { sel := lang.SelectorShape.Read(d, f); v.element = &sel }),
				flag("links", &v.links), flag("images", &v.images), flag("tables", &v.tables), flag("seen", &v.seen),
				lang.Field("maxLength", func(f *lang.Node) { v.maxLength = lang.IntShape("a number of characters", 1, maxMarkdown).Read(d, f) }),
				lang.Field("find", func(f *lang.Node) { t := lang.NonEmptyShape("text").Read(d, f); v.find = &t }),
				lang.Field("offset", func(f *lang.Node) { v.offset = lang.IntShape("a number of characters", 0, maxMarkdown).Read(d, f) }),
			)
			if part != nil && v.element != nil {
				d.Fault(part, "want part or selector, not both")
			}
			return v
		},
	},
	Result:  "`{url, title, part, markdown, offset, length, next}`; `length` is of the whole text, and `next` is there if there is more",
	Example: `{"getMarkdown":{"maxLength":2000}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v reading) (Result, error) {
		arg := map[string]any{"part": v.part, "links": v.links, "images": v.images, "tables": v.tables, "seen": v.seen, "room": maxMarkdown}
		c := Call{Fn: "markdown", Arg: arg}
		if v.element != nil {
			var err error
			if c, err = r.page.find(c.Fn, *v.element, arg); err != nil {
				return nil, err
			}
		}
		b, err := r.page.call(ctx, s, c)
		if err != nil {
			return nil, err
		}
		var p page
		if err := json.Unmarshal(b, &p); err != nil {
			return nil, fmt.Errorf("reading the page's answer to %s: %w", c.Fn, err)
		}
		if p.Lacks {
			// Only the page's own scripts know the source of some formulas.
			c.Arg["tex"] = r.sourcesOfFormulas(ctx)
			if b, err = r.page.call(ctx, s, c); err != nil {
				return nil, err
			}
			p = page{}
			if err := json.Unmarshal(b, &p); err != nil {
				return nil, fmt.Errorf("reading the page's answer to %s: %w", c.Fn, err)
			}
		}
		r.readFrames(ctx, &p, arg)
		if v.find != nil {
			words, err := v.find.Expand(r.cache)
			if err != nil {
				return nil, err
			}
			p.Text = foundSections(p.Text, words)
		}
		return json.Marshal(pieceOf(p, v.offset, v.maxLength))
	},
})

// page is a document as Markdown, as the page script gives it. Where it has a frame of
// another origin, its text has the frame's number between two characters of code 0.
type page struct {
	URL    string `json:"url"`
	Title  string `json:"title"`
	Part   string `json:"part"`
	Text   string `json:"text"`
	Frames []int  `json:"frames"`
	Cut    bool   `json:"cut"`
	Lacks  bool   `json:"lacks"` // the source of formulas
}

// askFormulas gives the sources in TeX that MathJax 3 keeps to itself, in the order of the
// formulas in the document.
const askFormulas = `const all = [...document.querySelectorAll('mjx-container')].slice(0, 20000), list = all.map(() => '');
for (const f of window.MathJax?.startup?.document?.math ?? []) {
  const at = all.indexOf(f.typesetRoot);
  if (at >= 0 && f.inputJax?.name === 'TeX') list[at] = String(f.math);
}
return list;`

// sourcesOfFormulas is empty where the page does not say them.
func (r *Run) sourcesOfFormulas(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	list := []string{}
	b, err := r.page.at.Evaluate(ctx, askFormulas, nil, false)
	if err != nil || json.Unmarshal(b, &list) != nil {
		return []string{}
	}
	return list
}

// piece is a part of a page's Markdown.
type piece struct {
	URL       string `json:"url"`
	Title     string `json:"title"`
	Part      string `json:"part"`
	Markdown  string `json:"markdown"`
	Offset    int    `json:"offset"`
	Length    int    `json:"length"`
	Next      int    `json:"next,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// readFrames puts the frames of other origins into the text around them.
func (r *Run) readFrames(ctx context.Context, p *page, arg map[string]any) {
	inner := map[string]any{"part": "all", "links": arg["links"], "images": arg["images"], "tables": arg["tables"], "seen": arg["seen"], "ms": Millis(grace)}
	room, count, unread, foreign := maxMarkdown-len(p.Text), 0, 0, 0
	var fill func(at *browser.PageScript, p *page)
	fill = func(at *browser.PageScript, p *page) {
		for _, n := range p.Frames {
			var q page
			if count++; count <= maxReadFrames && room > 0 && ctx.Err() == nil {
				inner["room"] = room
				reply, frame, err := at.CallWithin(ctx, n, "markdown", inner)
				if browser.IsForeign(err) {
					q = page{Text: leftOutFrame}
					foreign++
				} else if err != nil || reply.Code != "" || json.Unmarshal(reply.Value, &q) != nil {
					q = page{}
					unread++
				} else {
					room -= len(q.Text)
					fill(frame, &q)
				}
			} else {
				p.Cut = true
			}
			p.Text = spliced(p.Text, "\x00"+strconv.Itoa(n)+"\x00", q.Text)
			p.Cut = p.Cut || q.Cut
		}
	}
	fill(r.page.at, p)
	r.leftOut(foreign)
	if unread > 0 {
		r.warn("%d %s of another site did not answer, and what they show is not in the text", unread, map[bool]string{true: "frame", false: "frames"}[unread == 1])
	}
}

// leftOutFrame stands for a frame whose site is not one of the task's.
const leftOutFrame = "(A frame is left out: its site is not one of the task's.)"

// spliced puts a text into the place of a mark that stands in a line of its own, with
// the same start of the line. Without a text the mark's block goes.
func spliced(text, mark, in string) string {
	at := strings.Index(text, mark)
	if at < 0 {
		return text
	}
	begin, end := strings.LastIndexByte(text[:at], '\n')+1, at+len(mark)
	if lead := text[begin:at]; in == "" && strings.TrimLeft(lead, " >") == "" {
		blank := "\n" + strings.TrimRight(lead, " ")
		if after, ok := strings.CutPrefix(text[end:], blank+"\n"); ok {
			return text[:begin] + after
		}
		return strings.TrimSuffix(strings.TrimSuffix(text[:begin], "\n"), blank) + text[end:]
	}
	lead := []rune(text[begin:at])
	for i, c := range lead {
		if c != ' ' && c != '>' {
			lead[i] = ' ' // under the mark of a list
		}
	}
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\n", "\n"+string(lead)), "\n"+string(lead)+"\n", "\n"+strings.TrimRight(string(lead), " ")+"\n")
	return text[:at] + in + text[end:]
}

// pieceOf cuts a piece out of a page's text. It ends with a line where one ends in its
// last fifth.
func pieceOf(p page, offset, most int) piece {
	out := piece{URL: p.URL, Title: p.Title, Part: p.Part, Offset: offset, Length: utf8.RuneCountInString(p.Text), Truncated: p.Cut}
	rest := p.Text[byteAt(p.Text, offset):]
	end := byteAt(rest, most)
	if end < len(rest) {
		if line := strings.LastIndexByte(rest[:end], '\n') + 1; line > 0 && utf8.RuneCountInString(rest[line:end])*5 <= most {
			end = line
		}
		out.Next = offset + utf8.RuneCountInString(rest[:end])
	}
	out.Markdown = rest[:end]
	return out
}

// byteAt is where the character with an index begins, or the end of the text.
func byteAt(s string, index int) int {
	if index >= len(s) {
		return len(s)
	}
	for at := range s {
		if index == 0 {
			return at
		}
		index--
	}
	return len(s)
}
