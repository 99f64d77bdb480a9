package engine

import (
	"cmp"
	"fmt"
	"sort"
	"strings"
)

// groups is the order of the headings in the reference.
var groups = []string{
	"Navigation", "Interaction", "Data extraction", "Finding elements", "Waiting", "Scrolling", "Screenshot",
	"File upload", "Cookies", "Advanced", "Control flow", "Data cache",
}

// Reference is the reference of all actions as Markdown, made from their
// definitions.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Actions\n\n" +
		"<!-- Generated from the actions' definitions by `make generate`. -->\n\n" +
		"A task is a list of actions that run one after the other. Each is an object with one action's name, its value, and `options` beside it where they are wanted:\n\n" +
		"```json\n{\"fill\":[\"#q\",\"hello\"],\"options\":{\"timeout\":2000}}\n```\n\n")
	b.WriteString("## Options of every action\n\n| option | value | meaning |\n|---|---|---|\n")
	for _, o := range commonOpts {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", o.Name, cell(o.Shape.words), cell(o.Doc))
	}
	b.WriteString("\nActions that give no value of their own have the result `{\"success\":true}`.\n\n## Contents\n\n")
	byGroup := map[string][]*definition{}
	for _, d := range registry {
		byGroup[d.group] = append(byGroup[d.group], d)
	}
	for _, g := range groups {
		sort.Slice(byGroup[g], func(i, j int) bool { return byGroup[g][i].name < byGroup[g][j].name })
		names := make([]string, len(byGroup[g]))
		for i, d := range byGroup[g] {
			names[i] = fmt.Sprintf("[`%s`](#%s)", d.name, strings.ToLower(d.name))
		}
		fmt.Fprintf(&b, "- %s: %s\n", g, strings.Join(names, " "))
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n", g)
		for _, d := range byGroup[g] {
			d.write(&b)
		}
	}
	return b.String()
}

func (d *definition) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", d.name, d.doc)
	fmt.Fprintf(b, "- Value: %s\n", d.value.words)
	result := d.result
	if result == "" {
		result = "`{\"success\":true}`"
	} else if strings.HasPrefix(result, "{") {
		result = "`" + result + "`"
	}
	fmt.Fprintf(b, "- Result: %s\n", result)
	switch d.not {
	case NotInLoop:
		b.WriteString("- Not in a loop, nor in an `if` in a loop.\n")
	case NotInLoop | NotInBranch:
		b.WriteString("- Not in a loop, nor in `then` or `else`.\n")
	}
	if d.unbounded {
		b.WriteString("- Bounded by the task's time, not by the action timeout.\n")
	}
	if len(d.opts) > 0 {
		b.WriteString("\n| option | value | meaning |\n|---|---|---|\n")
		for _, o := range d.opts {
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", o.Name, cell(o.Shape.words), cell(o.Doc))
		}
	}
	fmt.Fprintf(b, "\nOn `%s%s`:\n\n```json\n%s\n```\n", demoShop, cmp.Or(d.page, "/"), d.example)
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

// demoShop is where the examples play: a web site that the service brings along.
const demoShop = "http://demo.troupe.test"
