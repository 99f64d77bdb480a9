package browser

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"troupe/engine/mask"
)

// hears takes a line of the console.
func (l *Log) hears(t *Tab, method string, params jsonv2.Value) {
	var m Message
	var at float64
	var text, url string
	switch method {
	case "Runtime.consoleAPICalled":
		var e struct {
			Type      string
			Args      []remote
			Timestamp float64
			Stack     frames `json:"stackTrace"`
		}
		if json.Unmarshal(params, &e) != nil {
			return
		}
		at, m.Level, text = e.Timestamp, e.Type, l.line(e.Args)
		url, m.Line = e.Stack.top()
	case "Runtime.exceptionThrown":
		var e runtime.EventExceptionThrown
		var raw struct{ Timestamp float64 }
		if !decode(params, &e) || json.Unmarshal(params, &raw) != nil || e.ExceptionDetails == nil {
			return
		}
		at, m.Level, text = raw.Timestamp, "error", "Uncaught "+strings.TrimPrefix(exceptionText(l.clean, e.ExceptionDetails).String(), "Uncaught ")
		url, m.Line = e.ExceptionDetails.URL, int(e.ExceptionDetails.LineNumber)+1
	case "Log.entryAdded":
		var e struct {
			Entry struct {
				Level, Text, URL string
				LineNumber       *int
				Timestamp        float64
			}
		}
		if json.Unmarshal(params, &e) != nil {
			return
		}
		at, m.Level, text, url = e.Entry.Timestamp, e.Entry.Level, t.context.explainedText(e.Entry.URL, e.Entry.Text), e.Entry.URL
		if e.Entry.LineNumber != nil {
			m.Line = *e.Entry.LineNumber + 1
		}
	}
	m.At = time.UnixMicro(int64(at * 1000))
	// A tab whose console is switched on tells first what was said before: to
	// the task before this one, or to this log already.
	if m.At.Before(l.began) || method == "Runtime.consoleAPICalled" && at <= l.said[t] && t.replaying.Load() {
		return
	}
	if method == "Runtime.consoleAPICalled" {
		l.said[t] = at
	}
	if len(l.messages) >= maxMessages {
		l.more.Messages++
		return
	}
	m.Text, m.URL = l.clean(text).Short(maxMessageText), l.clean(url).Short(maxAddress)
	l.messages = append(l.messages, m)
}

// frames is where a line of the console comes from.
type frames struct {
	CallFrames []struct {
		URL        string `json:"url"`
		LineNumber int    `json:"lineNumber"`
	} `json:"callFrames"`
}

func (f frames) top() (url string, line int) {
	if len(f.CallFrames) == 0 {
		return "", 0
	}
	return f.CallFrames[0].URL, f.CallFrames[0].LineNumber + 1
}

// remote is a value of the page as the browser describes it.
type remote struct {
	Type, Subtype       string
	Value               json.RawMessage
	UnserializableValue string
	Description         string
	Preview             *struct {
		Overflow   bool
		Properties []struct{ Name, Type, Value string }
	}
}

// line is a line as the browser's own console would show it.
func (l *Log) line(args []remote) string {
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = a.text(l.clean)
	}
	return strings.Join(parts, " ")
}

func (a remote) text(clean func(string) mask.Text) string {
	var s string
	switch {
	case a.Type == "string" && json.Unmarshal(a.Value, &s) == nil:
		return s
	case len(a.Value) > 0:
		return string(a.Value)
	case a.UnserializableValue != "":
		return a.UnserializableValue
	case a.Type == "object" && a.Preview != nil && (a.Subtype == "" || a.Subtype == "array"):
		return a.preview(clean)
	case a.Description != "":
		return a.Description
	}
	return a.Type
}

// preview is an object or an array with its first properties. The browser has
// cut long values in their middle: they are cleaned one by one, before quotes
// spell them otherwise.
func (a remote) preview(clean func(string) mask.Text) string {
	list := a.Subtype == "array"
	var parts []string
	for _, p := range a.Preview.Properties {
		v := clean(p.Value).String()
		if p.Type == "string" {
			v = strconv.Quote(v)
		}
		if !list {
			v = p.Name + ": " + v
		}
		parts = append(parts, v)
	}
	if a.Preview.Overflow {
		parts = append(parts, "…")
	}
	if list {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
