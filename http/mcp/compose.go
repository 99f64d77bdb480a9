package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"troupe/engine"
)

// parameter is a parameter of a flow that is saved.
type parameter struct {
	name   string
	value  string // that stands for it in the steps
	typed  string // its type
	secret bool
}

var (
	secretName    = regexp.MustCompile(`\$\{secret:([^}]+)\}`)
	parameterName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
)

// compose makes a flow of steps: values become parameters, secrets become parameters
// that take secrets, and references become selectors that last. Missed are the
// parameters whose value stands nowhere.
func compose(steps []KeptStep, description string, values map[string]json.RawMessage) (flow json.RawMessage, params []parameter, missed []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p := parameter{name: name, typed: "string"}
		if !parameterName.MatchString(name) {
			return nil, nil, nil, wrongArgument(`The argument "parameters": %q cannot be the name of a parameter: want letters, digits, _ and -`, name)
		}
		if json.Unmarshal(values[name], &p.value) != nil {
			p.value, p.typed = string(values[name]), "any"
		}
		if p.value == "" {
			return nil, nil, nil, wrongArgument(`The argument "parameters": %q has no value: want the value that the actions have now`, name)
		}
		params = append(params, p)
	}
	// Longer values first: one can stand in another.
	slices.SortStableFunc(params, func(a, b parameter) int { return len(b.value) - len(a.value) })
	used := map[string]bool{}
	actions := make([]json.RawMessage, 0, len(steps))
	for i, s := range steps {
		action, err := durable(s)
		if err != nil {
			return nil, nil, nil, wrongArgument("Action %d of the session cannot be saved: %v. Save only those after it with last, or do it again by role and name", i, err)
		}
		for _, m := range secretName.FindAllSubmatch(action, -1) {
			if name := string(m[1]); !slices.ContainsFunc(params, func(p parameter) bool { return p.name == name }) {
				params = append(params, parameter{name: name, secret: true})
			}
		}
		if action, err = replace(action, params, used); err != nil {
			return nil, nil, nil, fmt.Errorf("put parameters into a step: %w", err)
		}
		actions = append(actions, action)
	}
	declared := map[string]any{}
	for _, p := range params {
		switch {
		case p.secret:
			declared[p.name] = map[string]any{"secret": true, "required": true}
		case used[p.name]:
			declared[p.name] = map[string]any{"type": p.typed, "required": true}
		default:
			missed = append(missed, p.name)
		}
	}
	params = slices.DeleteFunc(params, func(p parameter) bool { return declared[p.name] == nil })
	flow, err = marshal(struct {
		Description string            `json:"description,omitempty"`
		Parameters  map[string]any    `json:"parameters,omitempty"`
		Actions     []json.RawMessage `json:"actions"`
	}{description, declared, actions})
	return flow, params, missed, err
}

// replace puts parameters into the texts of an action. Names of fields and options stay,
// and so does the order of everything.
func replace(action json.RawMessage, params []parameter, used map[string]bool) (json.RawMessage, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(action))
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	for {
		kind, n := dec.StackIndex(dec.StackDepth())
		isName := kind == '{' && n%2 == 0
		tok, err := dec.ReadToken()
		if err != nil {
			break
		}
		switch k := tok.Kind(); {
		case isName:
			if tok.String() != "options" {
				break
			}
			if err := enc.WriteToken(tok); err != nil {
				return nil, err
			}
			value, err := dec.ReadValue()
			if err != nil {
				return nil, err
			}
			if err := enc.WriteValue(value); err != nil {
				return nil, err
			}
			continue
		case k == '"':
			if text, changed := put(tok.String(), params, used); changed {
				tok = jsontext.String(text)
			}
		}
		if err := enc.WriteToken(tok); err != nil {
			return nil, err
		}
		if dec.StackDepth() == 0 {
			break
		}
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// put puts parameters into a text, where their values stand as words of their own: the 17
// of a port 41771 is another one. What was put in is not looked at again, and neither is
// what is to be put in already.
func put(text string, params []parameter, used map[string]bool) (string, bool) {
	var out strings.Builder
	changed := false
	for i := 0; i < len(text); {
		if strings.HasPrefix(text[i:], "${") {
			if end := strings.IndexByte(text[i:], '}'); end > 0 {
				out.WriteString(text[i : i+end+1])
				i += end + 1
				continue
			}
		}
		if at := slices.IndexFunc(params, func(p parameter) bool { return !p.secret && standsAt(text, i, p.value) }); at >= 0 {
			out.WriteString("${" + params[at].name + "}")
			used[params[at].name], changed = true, true
			i += len(params[at].value)
			continue
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		out.WriteString(text[i : i+n])
		i += n
	}
	return out.String(), changed
}

// standsAt reports whether a value stands at a place of a text, and not within a word or a number.
func standsAt(text string, i int, value string) bool {
	if value == "" || !strings.HasPrefix(text[i:], value) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i+len(value):])
	first, _ := utf8.DecodeRuneInString(value)
	last, _ := utf8.DecodeLastRuneInString(value)
	return (!joins(before, first) || escapeBefore.MatchString(text[max(0, i-len("%20")):i])) && !joins(last, after)
}

// escapeBefore is a character of an address that is written by its number.
var escapeBefore = regexp.MustCompile(`%[0-9A-Fa-f]{2}$`)

// joins reports whether two characters that stand together are of one word or number.
// Some languages have no spaces between words.
func joins(a, b rune) bool { return ofWord(a) && ofWord(b) }

func ofWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// durable is an action without references, which end with their session.
func durable(s KeptStep) (json.RawMessage, error) {
	selectors := map[string]engine.DurableSelector{}
	if len(s.Selectors) > 0 {
		if err := json.Unmarshal(s.Selectors, &selectors); err != nil {
			return nil, err
		}
	}
	return engine.Durable(s.Action, selectors)
}
