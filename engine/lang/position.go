package lang

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Position is the line and the column of what a JSON Pointer names in a text, both from 1: of
// the name of a member, or of an element. What is not there is where the nearest thing around
// it begins, and a text that is not JSON has its fault there. Columns count characters.
func Position(text []byte, pointer string) (line, column int) {
	at := min(max(offsetOf(text, pointer), 0), len(text))
	before := text[:at]
	line = 1 + bytes.Count(before, []byte("\n"))
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	return line, 1 + utf8.RuneCount(before)
}

// offsetOf is where in a text a pointer leads.
func offsetOf(text []byte, pointer string) int {
	d, best, depth := jsontext.NewDecoder(bytes.NewReader(text)), 0, -1
	found := false
	for {
		from := int(d.InputOffset())
		_, err := d.ReadToken()
		if errors.Is(err, io.EOF) && d.StackDepth() == 0 && from > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			return best
		}
		if err != nil {
			var s *jsontext.SyntacticError
			if errors.As(err, &s) {
				return int(s.ByteOffset)
			}
			return len(text)
		}
		if found {
			continue // to the end: a later fault of the syntax is the one that was found
		}
		here := string(d.StackPointer())
		if here != pointer && here != "" && !strings.HasPrefix(pointer, here+"/") {
			continue
		}
		if n := strings.Count(here, "/"); n > depth { // the first token there: the name, or the element
			best, depth = beginning(text, from), n
			found = here == pointer && here != ""
		}
	}
}

// beginning is where the token after an offset begins.
func beginning(text []byte, from int) int {
	return from + len(text[from:]) - len(bytes.TrimLeft(text[from:], " \t\r\n,:"))
}
