package attach

import (
	"fmt"
	"slices"
	"strings"
)

// Reference is the table of commands as Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Commands of attached clients\n\n" +
		"<!-- Generated from the table of commands by `make generate`. -->\n\n" +
		"A client that is [attached to a session](attach.md) may send these commands of the Chrome DevTools Protocol, and no others. " +
		"\"Browser\" means the connection itself, without a `sessionId`. \"Page\" means the session of a page, a frame or a worker.\n\n" +
		"## Commands that pass\n\n| domain | at | commands | checks |\n|---|---|---|---|\n")
	for _, d := range commands {
		for _, r := range d.rules {
			names := strings.Fields(r.names)
			slices.Sort(names)
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.name, r.where, "`"+strings.Join(names, "`, `")+"`", strings.ReplaceAll(r.note, "|", "\\|"))
		}
	}
	b.WriteString("\n## Commands that are refused\n\nThe answer to any other command is an error of the protocol. For these the error gives a reason:\n\n| commands | reason | instead |\n|---|---|---|\n")
	for _, f := range refused {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", "`"+strings.Join(strings.Fields(f.names), "`, `")+"`", f.why, strings.ReplaceAll(f.instead, "|", "\\|"))
	}
	return b.String()
}

func (p place) String() string {
	switch p {
	case atRoot:
		return "browser"
	case inPage:
		return "page"
	}
	return "both"
}
