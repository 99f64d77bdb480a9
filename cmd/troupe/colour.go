package main

import "os"

// paint colours texts for a terminal. [NO_COLOR] turns it off.
//
// [NO_COLOR]: https://no-color.org
type paint struct{ on bool }

// paintFor is the paint for an output.
func paintFor(out any) paint {
	return paint{terminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (p paint) with(code, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p paint) bold(text string) string  { return p.with("1", text) }
func (p paint) red(text string) string   { return p.with("31", text) }
func (p paint) green(text string) string { return p.with("32", text) }
func (p paint) faint(text string) string { return p.with("2", text) }
