package lang

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// function is one of those that stand in values.
type function struct {
	name      string
	args      string // for people
	holds     string // what it gives, for people
	least     int    // how many arguments it takes
	most      int
	list      bool // one argument may be an array itself: it takes no list of them
	evaluates func(c *call) (json.RawMessage, error)
}

// functions are filled in by init: values stand in functions.
var functions []*function

func init() {
	functions = []*function{
		{"$trim", "text", "the text without white space around it", 1, 1, true, (*call).trim},
		{"$lower", "text", "the text in lower case", 1, 1, true, (*call).lower},
		{"$number", "text or number", "the number that the text reads as; another text is a failure", 1, 1, true, (*call).number},
		{"$replace", "[text, pattern, replacement]", "the text with all matches of an RE2 expression replaced; `$1` is its first group", 3, 3, false, (*call).replace},
		{"$match", "[text, pattern]", "the first group of the first match of an RE2 expression, or the match if it has no group; without a match null", 2, 2, false, (*call).match},
		{"$join", "[array, separator]", "one text of all elements", 2, 2, false, (*call).join},
		{"$length", "text, array or object", "how many characters, elements or fields it has", 1, 1, true, (*call).length},
		{"$now", `"iso" or "ms"`, "the time: as a text in UTC, or in milliseconds since 1970", 1, 1, true, (*call).now},
		{"$absolute", "address, or [address, base]", "the absolute address; the base is that of the current page, or the one given", 1, 2, false, (*call).absolute},
	}
}

// FunctionWords is the table of functions: name, arguments and what each gives.
func FunctionWords() (rows [][3]string) {
	for _, f := range functions {
		rows = append(rows, [3]string{f.name, f.args, f.holds})
	}
	return rows
}

// maxMatches bounds the matches that one $replace replaces.
const maxMatches = 100_000

// readExpression reads an expression, or /expression/flags.
func readExpression(s string) (*pattern, error) {
	if m := slashed.FindStringSubmatch(s); m != nil && !looksLikePath(m[2]) {
		p, err := ReadURLPattern(s)
		return p.re, err
	}
	return readPattern(s)
}

// call is a function with its arguments, while it runs.
type call struct {
	*function
	env   Env
	fixed *pattern // the pattern, where it is known
	args  []json.RawMessage
}

// text is an argument as a text.
func (c *call) text(i int) (string, error) {
	v := c.args[i]
	if len(v) > 0 && (v[0] == '[' || v[0] == '{' || string(v) == "null") {
		return "", invalid("%s wants a text, not %s", c.name, Short(string(v), 100))
	}
	return asText(v), nil
}

func (c *call) trim() (json.RawMessage, error) {
	s, err := c.text(0)
	return quote(strings.TrimSpace(s)), err
}

func (c *call) lower() (json.RawMessage, error) {
	s, err := c.text(0)
	return quote(strings.ToLower(s)), err
}

func (c *call) number() (json.RawMessage, error) {
	s, err := c.text(0)
	if err != nil {
		return nil, err
	}
	n, _, ok := numbers(s, "0")
	if !ok {
		return nil, invalid("$number wants a text that reads as a number, not %q", Short(s, 100))
	}
	return strconv.AppendFloat(nil, n, 'f', -1, 64), nil
}

// expression is the pattern of the call, for a text that it may take so long with.
func (c *call) expression(text string) (*regexp.Regexp, error) {
	p := c.fixed
	if p == nil {
		source, err := c.text(1)
		if err != nil {
			return nil, err
		}
		if err := c.env.Charge(64 * len(source)); err != nil { // to read it again each time
			return nil, err
		}
		if p, err = readExpression(source); err != nil {
			return nil, invalid("%q is no RE2 expression: %v", Short(source, 100), err)
		}
	}
	effort := int64(p.steps) * int64(len(text))
	if err := c.env.Charge(int(min(effort, maxEffort) / 2)); err != nil {
		return nil, err
	}
	re, err := p.compiled(text, maxEffort)
	if err != nil {
		return nil, invalid("%s: %v", c.name, err)
	}
	return re, nil
}

func (c *call) replace() (json.RawMessage, error) {
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	with, err := c.text(2)
	if err != nil {
		return nil, err
	}
	re, err := c.expression(text)
	if err != nil {
		return nil, err
	}
	all := re.FindAllStringSubmatchIndex(text, maxMatches+1)
	if len(all) > maxMatches {
		return nil, invalid("$replace has found more than %d matches, which are the limit", maxMatches)
	}
	var out []byte
	last := 0
	for _, at := range all {
		out = append(out, text[last:at[0]]...)
		out = re.ExpandString(out, with, text, at)
		if last = at[1]; len(out) > MaxText {
			return nil, invalid("the text has more than %d bytes after $replace, which are the limit", MaxText)
		}
	}
	return quote(string(append(out, text[last:]...))), nil
}

func (c *call) match() (json.RawMessage, error) {
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	re, err := c.expression(text)
	if err != nil {
		return nil, err
	}
	found := re.FindStringSubmatchIndex(text)
	if found == nil {
		return json.RawMessage("null"), nil
	}
	if len(found) > 2 {
		found = found[2:]
	}
	if found[0] < 0 {
		return json.RawMessage("null"), nil
	}
	return quote(text[found[0]:found[1]]), nil
}

func (c *call) join() (json.RawMessage, error) {
	var list []json.RawMessage
	if json.Unmarshal(c.args[0], &list) != nil || string(c.args[0]) == "null" {
		return nil, invalid("$join wants an array, not %s", Short(string(c.args[0]), 100))
	}
	between, err := c.text(1)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, v := range list {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(asText(v))
		if b.Len() > MaxText {
			return nil, invalid("the text has more than %d bytes after $join, which are the limit", MaxText)
		}
	}
	return quote(b.String()), nil
}

func (c *call) length() (json.RawMessage, error) {
	n := 0
	switch v := c.args[0]; v[0] {
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(v, &list); err != nil {
			return nil, fmt.Errorf("read an array: %w", err)
		}
		n = len(list)
	case '{':
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(v, &fields); err != nil {
			return nil, fmt.Errorf("read an object: %w", err)
		}
		n = len(fields)
	case '"':
		n = utf8.RuneCountInString(asText(v))
	default:
		return nil, invalid("$length wants a text, an array or an object, not %s", Short(string(v), 100))
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

func (c *call) now() (json.RawMessage, error) {
	now := c.env.Now().UTC()
	if string(c.args[0]) == `"ms"` {
		return strconv.AppendInt(nil, now.UnixMilli(), 10), nil
	}
	return quote(now.Format("2006-01-02T15:04:05.000Z07:00")), nil
}

func (c *call) absolute() (json.RawMessage, error) {
	address, err := c.text(0)
	if err != nil {
		return nil, err
	}
	var base string
	if len(c.args) == 2 {
		base, err = c.text(1)
	} else {
		base, err = c.env.Address()
	}
	if err != nil {
		return nil, err
	}
	from, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return nil, invalid("$absolute wants an address as base, not %q", Short(base, 100))
	}
	to, err := from.Parse(strings.TrimSpace(address))
	if err != nil {
		return nil, invalid("$absolute wants an address, not %q", Short(address, 100))
	}
	if !to.IsAbs() {
		return nil, invalid("$absolute finds no absolute address for %q from %q", Short(address, 100), Short(base, 100))
	}
	return quote(to.String()), nil
}
