package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// manualCommand writes a page of the manual for each command, from the same flags that the
// command line is read by. make release puts them into archives and packages.
type manualCommand struct {
	Dir string `arg:"" help:"Folder for the pages."`
}

func (c manualCommand) Run(line *kong.Context) error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the manual: %w", err)
	}
	root := line.Model.Node
	pages := append([]*kong.Node{root}, root.Leaves(true)...)
	for _, n := range pages {
		if err := os.WriteFile(filepath.Join(c.Dir, pageName(n)+".1"), []byte(page(n, pages)), 0o644); err != nil {
			return fmt.Errorf("write a page of the manual: %w", err)
		}
	}
	return nil
}

// pageName is troupe-token-create for troupe token create.
func pageName(n *kong.Node) string {
	if n.Parent == nil {
		return n.Name
	}
	return pageName(n.Parent) + "-" + n.Name
}

// page is a page of the manual in the language of man.
func page(n *kong.Node, all []*kong.Node) string {
	var b strings.Builder
	line := func(macro string, args ...string) {
		b.WriteString(macro)
		for _, a := range args {
			b.WriteString(` "` + strings.ReplaceAll(escaped(a), `"`, `\(dq`) + `"`)
		}
		b.WriteString("\n")
	}
	text := func(s string) {
		for l := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
			if l = escaped(strings.TrimSpace(l)); strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
				l = `\&` + l
			}
			b.WriteString(l + "\n")
		}
	}
	command := strings.ReplaceAll(pageName(n), "-", " ")
	line(".TH", strings.ToUpper(pageName(n)), "1", "", "troupe "+version, "Troupe")
	line(".SH", "NAME")
	text(pageName(n) + ` - ` + strings.TrimSuffix(n.Help, "."))
	line(".SH", "SYNOPSIS")
	if n.Parent == nil {
		text(command + " COMMAND [flags]")
	} else {
		text("troupe " + n.Summary())
	}
	if all := examples[commandName(n)]; len(all) > 0 {
		line(".SH", "EXAMPLES")
		for _, e := range all {
			line(".TP")
			text(e.does + ":")
			text(e.line)
		}
	}
	if len(n.Positional) > 0 {
		line(".SH", "ARGUMENTS")
		for _, p := range n.Positional {
			line(".TP")
			text(p.Summary())
			text(p.Help)
		}
	}
	if n.Parent == nil {
		line(".SH", "COMMANDS")
		group := ""
		for _, c := range all[1:] {
			if g := c.ClosestGroup(); g != nil && g.Title != group {
				group = g.Title
				line(".SS", strings.TrimSuffix(group, ":"))
			}
			line(".TP")
			text(strings.ReplaceAll(pageName(c), "-", " "))
			text(c.Help)
		}
	}
	line(".SH", "OPTIONS")
	for _, f := range flagsOf(n) {
		line(".TP")
		name := "--" + f.Name
		switch {
		case f.Tag.Negatable != "":
			name = "--[no-]" + f.Name
		case !f.IsBool() && !f.IsCounter():
			name += "=" + f.FormatPlaceHolder()
		}
		if f.Short != 0 {
			name = "-" + string(f.Short) + ", " + name
		}
		text(name)
		help := f.Help
		if len(f.Envs) > 0 {
			help += "\nVariable: " + strings.Join(f.Envs, ", ") + "."
		}
		text(help)
	}
	line(".SH", "EXIT STATUS")
	for _, e := range [][2]string{{"0", "It is done."}, {"1", "It was tried and failed."}, {"2", "It could not be tried: a flag, a variable or a file is wrong."}, {"3", "The data cannot be used as it is."}, {"130", "Ctrl-C has stopped it."}} {
		line(".TP")
		text(e[0])
		text(e[1])
	}
	line(".SH", "SEE ALSO")
	if n.Parent == nil {
		text("The documents at /docs/ of a running service.")
	} else {
		text("troupe(1)")
	}
	return b.String()
}

// escaped is a text in which nothing is a command of man's.
func escaped(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
}
