package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"troupe/engine"
)

// TestProgressIsPlain: a page's words do nothing to the terminal.
func TestProgressIsPlain(t *testing.T) {
	var b bytes.Buffer
	p := &progress{out: &b, began: time.Now()}
	p.step(engine.StepReport{Path: "0", Action: "evaluate", Error: "a\x1b[2J\nb\u009bc\x7f" + strings.Repeat("ü", 1000)})
	line := b.String()
	if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\x1b\n\u009b\x7f") || len([]rune(line)) > 260 || !strings.HasSuffix(line, "ü…\n") {
		t.Errorf("%q", line)
	}
}
