package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"troupe/http/answer"
)

// batchBar shows the progress of a batch in one line.
type batchBar struct {
	out   io.Writer
	on    bool
	live  bool // a terminal: it has a width, and takes the line back
	paint paint
	width int
}

func newBatchBar(out io.Writer, when string) *batchBar {
	live := terminal(out)
	return &batchBar{out: out, on: when == "always" || when == "auto" && live, live: live, paint: paintFor(out)}
}

// The cells of a bar, and the width of a terminal that does not say it.
const (
	fewestCells = 10
	mostCells   = 50
	usualWidth  = 80
)

func (p *batchBar) show(b *answer.Batch) {
	if !p.on {
		return
	}
	ended := b.Complete + b.Failed
	text := fmt.Sprintf(" %d/%d  %d failed  %.0f/min", ended, b.Items, b.Failed, b.Rate)
	if b.TimeLeft > 0 {
		text += "  " + roughly(b.TimeLeft) + " left"
	}
	if b.Status == "paused" {
		text += "  paused"
	}
	if !p.live {
		line := p.bar(b, 30, "#", ".") + text
		fmt.Fprintf(p.out, "\r%-*s", p.width, line)
		p.width = len(line)
		return
	}
	room := columns(p.out)
	if room == 0 {
		room = usualWidth
	}
	if most := max(room-fewestCells-3, 0); utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most])
	}
	cells := min(max(room-utf8.RuneCountInString(text)-3, fewestCells), mostCells)
	fmt.Fprintf(p.out, "\r%s%s\x1b[K", p.bar(b, cells, "█", "░"), text)
	p.width = room
}

// bar draws so many cells: what is complete, what has failed, and the rest.
func (p *batchBar) bar(b *answer.Batch, cells int, full, empty string) string {
	all := max(b.Items, 1)
	ended := min(cells*(b.Complete+b.Failed)/all, cells)
	failed := min((cells*b.Failed+all-1)/all, ended)
	return "[" + p.paint.green(strings.Repeat(full, ended-failed)) + p.paint.red(strings.Repeat(full, failed)) + p.paint.faint(strings.Repeat(empty, cells-ended)) + "]"
}

func (p *batchBar) end() {
	if p.on && p.width > 0 {
		fmt.Fprintln(p.out)
	}
}
