package mcp

import (
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// reply is the answer of a tool before it is cut to what somebody pays for. What comes
// from pages is only in parts and in pictures.
type reply struct {
	head     string   // in our words
	notes    []string // in our words, after it
	parts    []part   // what comes from pages
	address  string   // of the page
	same     bool     // the caller knows it
	facts    map[string]any
	pictures []sdk.Content
	links    []string // to files
	tokens   int      // zero: the default
	failed   bool

	session, task string // for the log
	named         string // the session that the caller has named: nobody has to tell it
}

// part is a piece of a page, with what to do where it is too long.
type part struct {
	title, text, more string
}

// fact adds something to the structured answer.
func (r *reply) fact(name string, value any) {
	if r.facts == nil {
		r.facts = map[string]any{}
	}
	r.facts[name] = value
}

func (r *reply) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *reply) part(title, text, more string) {
	if text != "" {
		r.parts = append(r.parts, part{title, text, more})
	}
}

// result makes the answer. All its text together is within the budget.
func (r *reply) result() *sdk.CallToolResult {
	if r.tokens == 0 {
		r.tokens = defaultTokens
	}
	room := r.tokens * tokenSize
	res := &sdk.CallToolResult{IsError: r.failed}
	if len(r.facts) > 0 {
		if b, err := marshal(r.facts); err == nil && utf8.RuneCount(b) <= room/4 {
			res.StructuredContent = r.facts
			room -= utf8.RuneCount(b)
		}
	}
	for i, address := range r.links {
		link := &sdk.ResourceLink{URI: address, Name: fmt.Sprintf("file-%d", i+1)}
		if room -= utf8.RuneCountInString(address) + 60; room < minTokens*tokenSize/2 {
			r.note("%d more files are not listed: call look with the task", len(r.links)-i)
			break
		}
		res.Content = append(res.Content, link)
	}
	text := r.text(room)
	res.Content = append([]sdk.Content{&sdk.TextContent{Text: text}}, res.Content...)
	res.Content = append(res.Content, r.pictures...)
	return res
}

// text is what the model reads, in at most so many characters.
func (r *reply) text(room int) string {
	ours := visible(strings.Join(append([]string{r.head}, r.notes...), "\n"))
	if len(r.parts) == 0 {
		return cut(ours, room, "")
	}
	m := newMarks(r.parts)
	if r.same {
		r.address = ""
	}
	begin, end := "\n"+m.begin(r.address)+"\n", m.end()
	ours = cut(ours, room/2, "")
	room -= utf8.RuneCountInString(ours) + utf8.RuneCountInString(begin) + utf8.RuneCountInString(end)
	var b strings.Builder
	b.WriteString(ours + begin)
	texts, sizes := make([]string, len(r.parts)), make([]int, len(r.parts))
	for i, p := range r.parts {
		texts[i] = visible(p.text)
		if p.title != "" {
			texts[i] = p.title + strings.TrimRight(texts[i], "\n")
		}
		sizes[i] = utf8.RuneCountInString(texts[i]) + 1
	}
	for i, most := range shares(sizes, room) {
		if most > 1 {
			b.WriteString(cut(texts[i], most-1, r.parts[i].more) + "\n")
		}
	}
	b.WriteString(end)
	return b.String()
}

// shares divides room among parts: those that need less than their share leave the rest
// to the others.
func shares(sizes []int, room int) []int {
	given, left := make([]int, len(sizes)), len(sizes)
	room = max(room, 0)
	for done := make([]bool, len(sizes)); left > 0; {
		share, small := room/left, false
		for i, n := range sizes {
			if !done[i] && n <= share {
				given[i], done[i], small = n, true, true
				room -= n
				left--
			}
		}
		if !small {
			for i := range sizes {
				if !done[i] {
					given[i] = share
				}
			}
			break
		}
	}
	return given
}

// cut shortens a text to so many characters, and says how much is missing and how to
// get it.
func cut(s string, most int, more string) string {
	n := utf8.RuneCountInString(s)
	if n <= most {
		return s
	}
	if more != "" {
		more = "; " + more
	}
	tail := fmt.Sprintf("\n… [%d of %d characters%s]", most, n, more)
	keep := most - utf8.RuneCountInString(tail)
	if keep < 0 {
		keep, tail = max(most, 0), ""
	}
	r := []rune(s)
	return string(r[:keep]) + tail
}
