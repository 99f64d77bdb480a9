package main

import (
	"bytes"
	"fmt"
	"io"
	stdlog "log"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rs/zerolog"
)

type logFlags struct {
	Level  string `default:"info" help:"debug, info, warn or error."`
	Format string `default:"auto" enum:"auto,json,console" help:"json, console, or auto: console on a terminal, else json."`
}

// console reports whether a person reads the log.
func (f logFlags) console(w io.Writer) bool {
	return f.Format == "console" || f.Format == "auto" && terminal(w)
}

// open makes the log.
func (f logFlags) open(w io.Writer) (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(f.Level)
	if err != nil || level < zerolog.DebugLevel || level > zerolog.ErrorLevel || f.Level == "" {
		return zerolog.Nop(), fmt.Errorf("--log-level is %q: want debug, info, warn or error", f.Level)
	}
	if f.console(w) {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: os.Getenv("NO_COLOR") != "" || !terminal(w), FormatPrepare: disarm}
	}
	zerolog.TimeFieldFormat = time.RFC3339Nano
	l := zerolog.New(w).Level(level).With().Timestamp().Logger()
	// Go's own packages write there, net/http with bytes that a page's server sent.
	stdlog.SetFlags(0)
	stdlog.SetOutput(fromGo{l})
	return l, nil
}

// fromGo takes what Go's own packages log.
type fromGo struct{ log zerolog.Logger }

func (g fromGo) Write(p []byte) (int, error) {
	g.log.Debug().Str("from", "go").Msg(string(bytes.TrimSpace(p)))
	return len(p), nil
}

// disarm takes out of a line what a terminal would obey, or what would look like
// another line: some texts come from outside.
func disarm(line map[string]any) error {
	for k, v := range line {
		line[k] = disarmed(v)
	}
	return nil
}

func disarmed(v any) any {
	switch v := v.(type) {
	case string:
		if strings.ContainsFunc(v, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return strings.Trim(strconv.Quote(v), `"`)
		}
	case []any:
		for i := range v {
			v[i] = disarmed(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = disarmed(v[k])
		}
	}
	return v
}
