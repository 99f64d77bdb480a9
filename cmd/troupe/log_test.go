package main

import (
	"bytes"
	"errors"
	stdlog "log"
	"strings"
	"testing"
	"unicode"

	"github.com/rs/zerolog"
)

// TestGoLogsAsTheService: what Go's own packages log, some of it bytes that a page's
// server sent, is a line of the service's log, and only at debug level.
func TestGoLogsAsTheService(t *testing.T) {
	w, flags := stdlog.Writer(), stdlog.Flags()
	defer func() { stdlog.SetOutput(w); stdlog.SetFlags(flags) }()
	for level, want := range map[string]int{"info": 0, "debug": 1} {
		var b bytes.Buffer
		if _, err := (logFlags{Level: level, Format: "json"}).open(&b); err != nil {
			t.Fatal(err)
		}
		stdlog.Printf("Unsolicited response received on idle HTTP channel starting with %q", "{}\nERR the service is down")
		if got := b.String(); strings.Count(got, "\n") != want || want > 0 && !strings.HasPrefix(got, `{"level":"debug"`) {
			t.Errorf("at %s: %q", level, got)
		}
	}
}

// TestConsoleObeysNobody: what a text from outside would have a terminal do is
// shown and not done, wherever in a line it is.
func TestConsoleObeysNobody(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	w, flags := stdlog.Writer(), stdlog.Flags()
	defer func() { stdlog.SetOutput(w); stdlog.SetFlags(flags) }()
	const evil = "a\n12:00:00 INF forged\x1b[2J\r\u009b31m\u202e"
	var said strings.Builder
	log, err := logFlags{Level: "debug", Format: "console"}.open(&said)
	if err != nil {
		t.Fatal(err)
	}
	log.Info().Str("field", evil).Err(errors.New(evil)).Strs("list", []string{evil}).Dict("in", zerolog.Dict().Str("it", evil)).Msg("said " + evil)
	text := said.String()
	if strings.Count(text, "\n") != 1 || strings.Count(text, "forged") != 5 {
		t.Errorf("%q", text)
	}
	for _, r := range strings.TrimSuffix(text, "\n") {
		if !unicode.IsPrint(r) {
			t.Errorf("%q is in %q", r, text)
		}
	}
}
