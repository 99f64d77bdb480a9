package engine

import (
	"cmp"
	"fmt"
	"sort"
	"strings"

	"troupe/engine/lang"
)

// groups is the order of the headings in the reference.
var groups = []string{
	"Navigation", "Tabs and history", "Interaction", "Data extraction", "Finding elements", "Waiting", "Scrolling", "Screenshot",
	"File upload", "Downloads", "Cookies", "Advanced", "Control flow", "Data cache",
}

// Reference is the reference of all actions as Markdown, made from their
// definitions: an index, and a page for each by its name. Met are the failures
// that an action is known to have, by name.
func Reference(met map[string][]Met) (index string, pages map[string]string) {
	var b strings.Builder
	b.WriteString("# Actions\n\n" +
		"<!-- Generated from the actions' definitions by `make generate`. -->\n\n" +
		"A task is a list of actions that run one after the other. Each action is an object with one action name and its value, and optionally `options`:\n\n" +
		"```json\n{\"fill\":[\"#q\",\"hello\"],\"options\":{\"timeout\":2000}}\n```\n\n" +
		"Each action has a page with its value, options, failures and an example. The examples run in the demo shop that comes with Troupe, and a test runs all of them.\n\n")
	b.WriteString("## Options of every action\n\n| option | value | meaning |\n|---|---|---|\n")
	for _, o := range commonOpts {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", o.Name, cell(o.Shape.Words), cell(o.Doc))
	}
	b.WriteString("\nTimes are in milliseconds. Actions without a value of their own return `{\"success\":true}`.\n")
	writeConditions(&b)
	writeFunctions(&b)
	byGroup := map[string][]*definition{}
	for _, d := range registry {
		byGroup[d.group] = append(byGroup[d.group], d)
	}
	pages = map[string]string{}
	for _, g := range groups {
		sort.Slice(byGroup[g], func(i, j int) bool { return byGroup[g][i].name < byGroup[g][j].name })
		fmt.Fprintf(&b, "\n## %s\n\n| action | value | |\n|---|---|---|\n", g)
		for _, d := range byGroup[g] {
			fmt.Fprintf(&b, "| [`%s`](actions/%s.md) | %s | %s |\n", d.name, d.name, cell(d.value.Words), cell(firstSentence(d.doc)))
			pages[d.name] = d.reference(met[d.name])
		}
	}
	return b.String(), pages
}

// writeConditions writes the table of conditions.
func writeConditions(b *strings.Builder) {
	b.WriteString("\n## Conditions\n\n`if`, `while`, `until` and `assert` take the same conditions:\n\n| condition | is true if |\n|---|---|\n")
	for _, f := range lang.ConditionForms() {
		words := f.Words
		if f.Field != "" {
			words = "`" + words + "`"
		}
		fmt.Fprintf(b, "| %s | %s |\n", cell(words), cell(f.Holds))
	}
	b.WriteString("\nOperators: `" + strings.Join(lang.Operators, "`, `") + "`. `empty` and `notEmpty` take no value. If both sides read as numbers, they are compared as numbers, else as texts. " +
		"`contains` also finds an element of an array. `matches` is an RE2 expression, or `/re/flags`. Missing values are empty, and not equal to anything.\n\n" +
		"A condition looks once and never waits. Values can hold `${key}`. `cached` and `${key}` also read what lies in a saved value: `product.title` is a field, `list.0` an element. " +
		fmt.Sprintf("A condition has at most %d parts.\n", lang.MaxConditionParts))
}

// writeFunctions writes the table of functions.
func writeFunctions(b *strings.Builder) {
	b.WriteString("\n## Functions\n\nIn the values of `set` and `return`, a function is an object with one field: `{\"$trim\": \"${title}\"}`. Its arguments are values too, with functions in them.\n\n| function | arguments | gives |\n|---|---|---|\n")
	for _, f := range lang.FunctionWords() {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f[0], cell(f[1]), cell(f[2]))
	}
	b.WriteString("\nA pattern can be `/re/flags`. An argument of the wrong kind is a failed action, `invalid_value`. To begin a field's name with a dollar sign, write two: `{\"$$trim\": 1}` is an object.\n")
}

// Met is a failure that the test cases of an action show, with its text; empty if
// the texts differ.
type Met struct {
	Code Code
	Text string
}

// reference is the page of one action.
func (d *definition) reference(met []Met) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n<!-- Generated from the action's definition by `make generate`. -->\n\n[All actions](../actions.md#%s) · %s\n\n%s\n\n",
		d.name, strings.ReplaceAll(strings.ToLower(d.group), " ", "-"), d.group, d.doc)
	fmt.Fprintf(&b, "- Value: %s\n", d.value.Words)
	for _, o := range d.beside {
		fmt.Fprintf(&b, "- Beside it, `%s`: %s\n", o.Name, o.Doc)
	}
	result := d.result
	if result == "" {
		result = "`{\"success\":true}`"
	} else if strings.HasPrefix(result, "{") {
		result = "`" + result + "`"
	}
	fmt.Fprintf(&b, "- Result: %s\n", result)
	if d.finds {
		b.WriteString("- `save` saves the element; use it as `$key`.\n")
	}
	switch d.not {
	case NotInLoop:
		b.WriteString("- Not allowed in a `loop`, nor in anything in a `loop`. `while`, `until` and `forEach` can hold it.\n")
	case NotInLoop | NotInBranch:
		b.WriteString("- Not allowed in a `loop`, nor in `then` or `else`, nor in anything in these. `while`, `until` and `forEach` can hold it.\n")
	}
	if strings.Contains(d.value.Schema, lang.SelectorShape.Schema) {
		b.WriteString("- Selector: CSS, XPath, `$key`, or an object such as `{\"role\":\"button\",\"name\":\"Save\"}`: see [Pointing at elements](../pointing.md).\n")
	}
	if strings.Contains(d.value.Schema, lang.ConditionRef) {
		b.WriteString("- Condition: see the [table of conditions](../actions.md#conditions).\n")
	}
	if d.instant {
		b.WriteString("- Takes no time, and has no `timeout`.\n")
	} else if d.unbounded {
		b.WriteString("- Limited by the task's time, not by the action timeout.\n")
	} else {
		fmt.Fprintf(&b, "- Time: `timeout` in `options`, else `config.actionTimeout` (default: %d ms).\n", Millis(DefaultActionTimeout))
	}
	fmt.Fprintf(&b, "\n## Example\n\nOn `http://demo.troupe.test%s`:\n\n```json\n%s\n```\n", cmp.Or(d.page, "/"), d.example)
	b.WriteString("\n## Options\n\n| option | value | meaning |\n|---|---|---|\n")
	own := map[string]bool{}
	for _, o := range d.opts {
		own[o.Name] = true
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", o.Name, cell(o.Shape.Words), cell(o.Doc))
	}
	for _, o := range commonOpts {
		if !own[o.Name] {
			fmt.Fprintf(&b, "| `%s` | %s | [of every action](../actions.md#options-of-every-action) |\n", o.Name, cell(o.Shape.Words))
		}
	}
	b.WriteString("\n## Failures\n\nAs for every action ([codes](../errors.md)): `timeout` if its time is over, `browser_crashed`, and `invalid_value` if the value of `${key}` makes no sense.")
	if len(met) > 0 {
		b.WriteString(" Its test cases show:\n\n| code | such as |\n|---|---|\n")
		for _, m := range met {
			text := m.Text
			if text != "" {
				text = "`" + cell(strings.ReplaceAll(text, "`", "'")) + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", m.Code, text)
		}
	} else {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n## Source\n\nCode: [engine/%s](../../engine/%s). Test cases: [engine/testdata/%s.txtar](../../engine/testdata/%s.txtar).\n", d.file, d.file, d.name, d.name)
	return b.String()
}

// firstSentence ends where the next one begins.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i > 0 {
		return s[:i+1]
	}
	return s
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

// demoShop is where the examples play: a web site that the service brings along.
const demoShop = "http://demo.troupe.test"
