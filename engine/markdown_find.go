package engine

import (
	"strings"
	"unicode"
)

// markdownSection is a heading with what follows it, up to the next heading.
type markdownSection struct {
	heading string
	blocks  []string
}

// sectionsOf divides Markdown at its headings. What looks like one in code is none.
func sectionsOf(text string) (all []markdownSection) {
	now := markdownSection{}
	var block []string
	fence := ""
	flush := func() {
		if len(block) > 0 {
			now.blocks = append(now.blocks, strings.Join(block, "\n"))
			block = nil
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		mark := strings.TrimLeft(line, " >")
		if ticks := mark[:len(mark)-len(strings.TrimLeft(mark, "`"))]; len(ticks) >= 3 && (fence == "" || ticks == fence && mark == fence) {
			if fence == "" {
				fence = ticks
			} else {
				fence = ""
			}
		}
		switch {
		case fence == "" && strings.HasPrefix(line, "#") && strings.HasPrefix(strings.TrimLeft(line, "#"), " "):
			flush()
			if now.heading != "" || len(now.blocks) > 0 {
				all = append(all, now)
			}
			now = markdownSection{heading: line}
		case fence == "" && line == "":
			flush()
		default:
			block = append(block, line)
		}
	}
	flush()
	if now.heading != "" || len(now.blocks) > 0 {
		all = append(all, now)
	}
	return all
}

// Weights of a word in a text: the whole word, or a part of another.
const (
	wholeWord  = 2
	partOfWord = 1
)

// wordIn says how a word stands in a text. Both are in small letters.
func wordIn(text, word string) int {
	found := 0
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return found
		}
		before, after := text[:from+i], text[from+i+len(word):]
		if !endsInWord(before) && !beginsWithWord(after) {
			return wholeWord
		}
		found = partOfWord
		from += i + len(word)
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

func endsInWord(s string) bool {
	r := []rune(s[max(0, len(s)-4):])
	return len(r) > 0 && inWord(r[len(r)-1])
}

func beginsWithWord(s string) bool {
	for _, r := range s {
		return inWord(r)
	}
	return false
}

// maxFoundSections bounds how many sections one search gives.
const maxFoundSections = 5

// foundSections are the sections of a text that have the most of some words, each with
// its heading and the blocks that have words which the heading does not have. Empty: no
// section has any.
func foundSections(text, find string) string {
	words := strings.Fields(strings.ToLower(find))
	var best []string
	most := 0
	for _, s := range sectionsOf(text) {
		head, blocks := strings.ToLower(s.heading), make([]string, len(s.blocks))
		for i, b := range s.blocks {
			blocks[i] = strings.ToLower(b)
		}
		score := 0
		var rest []string // words that the heading does not have
		for _, w := range words {
			in := wordIn(head, w)
			if in == wholeWord {
				in++ // a heading says what a section is about
			} else {
				rest = append(rest, w)
				for _, b := range blocks {
					in = max(in, wordIn(b, w))
				}
			}
			score += in
		}
		if score == 0 || score < most {
			continue
		}
		if score > most {
			most, best = score, nil
		}
		if len(best) < maxFoundSections {
			best = append(best, s.excerpt(blocks, rest))
		}
	}
	return strings.Join(best, "\n\n")
}

// excerpt is the heading of a section and the blocks with some words; without words all
// of it. Where blocks are left out, there is an ellipsis.
func (s markdownSection) excerpt(small, words []string) string {
	var out []string
	if s.heading != "" {
		out = append(out, s.heading)
	}
	left := false
	for i, b := range s.blocks {
		has := len(words) == 0
		for _, w := range words {
			has = has || wordIn(small[i], w) > 0
		}
		if has && left {
			out = append(out, "…")
		}
		if left = !has; has {
			out = append(out, b)
		}
	}
	if left {
		out = append(out, "…")
	}
	return strings.Join(out, "\n\n")
}
