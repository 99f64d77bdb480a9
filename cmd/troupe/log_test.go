package main

import (
	"bytes"
	stdlog "log"
	"strings"
	"testing"
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
