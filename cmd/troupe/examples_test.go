package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"troupe/http/answer"
)

// TestExamples: each example of the help is a command line that can be read, and is about the
// command that shows it.
func TestExamples(t *testing.T) {
	shown := map[string]bool{}
	parser, err := newParser(&environment{})
	if err != nil {
		t.Fatal(err)
	}
	_ = kong.Visit(parser.Model.Node, func(v kong.Visitable, next kong.Next) error {
		n, ok := v.(*kong.Node)
		if app, is := v.(*kong.Application); is {
			n, ok = app.Node, true
		}
		if ok && strings.Contains(n.Detail, "Examples:") {
			shown[commandName(n)] = true
		}
		if ok && n.Parent == parser.Model.Node && !n.Hidden && n.Group == nil {
			t.Errorf("%s is in no group of the help", n.Name)
		}
		return next(nil)
	})
	for name, all := range examples {
		if !shown[name] {
			t.Errorf("there is no command %q", name)
		}
		for _, e := range all {
			line := strings.TrimSuffix(strings.TrimPrefix(e.line, ". <("), ")")
			line, _, _ = strings.Cut(line, " < ")
			var args []string
			for i, part := range strings.Split(line, "'") {
				if i%2 == 1 {
					args = append(args, part)
				} else {
					args = append(args, strings.Fields(part)...)
				}
			}
			parser, err := newParser(&environment{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.Parse(args[1:]); err != nil || args[0] != "troupe" || !strings.HasPrefix(strings.Join(args[1:], " "), name) {
				t.Errorf("%q of %q: %v", e.line, name, err)
			}
		}
	}
}

// TestItemsOfTables: a CSV file is items with the names of its first line.
func TestItemsOfTables(t *testing.T) {
	for text, want := range map[string]string{
		"id,name\n1,Ada\n2,\"B, \"\"Bob\"\"\"\n": `{"id":"1","name":"Ada"}` + "\n" + `{"id":"2","name":"B, \"Bob\""}` + "\n",
		"\ufeffid;name\r\n1;a,b\r\n":             `{"id":"1","name":"a,b"}` + "\n",
		"id\tname\n1\t<ü>\n":                     `{"id":"1","name":"\u003cü\u003e"}` + "\n",
		"id\n":                                   "",
		"id,name\n1\n":                           "! wrong number of fields",
		"":                                       "! first line names the fields",
		"id,,name\n":                             "! the field 2 of its first line has no name",
		"id, id\n":                               "! is twice",
		"id\n\"a\n":                              "! line 2",
	} {
		got := readAllItems(t, text)
		if rest, fails := strings.CutPrefix(want, "! "); fails && (!strings.HasPrefix(got, "! ") || !strings.Contains(got, rest)) || !fails && got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

func readAllItems(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "items.CSV")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := openItems(name)
	if err != nil {
		return "! " + err.Error()
	}
	defer in.Close()
	b, err := io.ReadAll(in)
	if err != nil {
		return "! " + err.Error()
	}
	return string(b)
}

// TestBarOfABatch: what has failed is shown apart, and the bar never overflows.
func TestBarOfABatch(t *testing.T) {
	p := &batchBar{}
	for _, tc := range []struct {
		items, complete, failed int
		want                    string
	}{{10, 0, 0, "[..........]"}, {10, 5, 0, "[#####.....]"}, {10, 9, 1, "[##########]"}, {0, 0, 0, "[..........]"}, {3, 4, 0, "[##########]"}} {
		if got := p.bar(&answer.Batch{Items: tc.items, Complete: tc.complete, Failed: tc.failed}, 10, "#", "."); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
	p.paint.on = true
	if got := p.bar(&answer.Batch{Items: 10, Complete: 4, Failed: 1}, 10, "#", "."); got != "[\x1b[32m####\x1b[0m\x1b[31m#\x1b[0m\x1b[2m.....\x1b[0m]" {
		t.Errorf("in colour: %q", got)
	}
}
