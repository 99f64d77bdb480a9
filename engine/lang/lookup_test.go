package lang

import (
	"encoding/json"
	"strings"
	"testing"
)

type saved map[string]string

func (s saved) Get(key string) (json.RawMessage, bool) {
	v, ok := s[key]
	return json.RawMessage(v), ok
}

func TestLookup(t *testing.T) {
	values := saved{"a": `{"b":{"c":[1,{"d":"x"}],"":3},"b.c":4,"n":null}`, "l": `[ "x", [2, 3] ]`, "a.own": `"mine"`, "a.own.x": `{"y":5}`, "s": `"text"`, "bad": `{"a":`}
	for key, want := range map[string]string{
		"a.b.c": `[1,{"d":"x"}]`, "a.b.c.0": `1`, "a.b.c.1.d": `"x"`, "l.0": `"x"`, "l.1.1": `3`, "a.own": `"mine"`, "a.own.x.y": `5`, "a.n": `null`,
		"l.2": "", "l.-1": "", "l.x": "", "a.none": "", "a.b.c.1.d.e": "", "s.0": "", "none.a": "", "a.b.c.1.d.": "", "bad.a": "", "bad.b": "", "l.00": `"x"`, ".a": "", "a.": "",
	} {
		got, ok := Lookup(values, key)
		if string(got) != want || ok != (want != "") {
			t.Errorf("%s is %q (%v), want %q", key, got, ok, want)
		}
	}
	if got, err := ParseText("${a.b.c.1.d}-${l.1}").Expand(values); got != "x-[2, 3]" || err != nil {
		t.Errorf("filled in, it is %q: %v", got, err)
	}
	large := saved{"l": `["x","` + strings.Repeat("a", MaxText/2) + `"]`}
	if _, err := ParseText(strings.Repeat("${l.0}", 40)).Expand(large); err == nil || !strings.Contains(err.Error(), "looks through more than") {
		t.Errorf("a text that looks through a large value again and again is %v", err)
	}
	const script = "`${a.b} ${s}`"
	if got, _ := ParseText(script).ExpandScript(values); got != "`${a.b} text`" {
		t.Errorf("a script becomes %s: a template literal has dots, too", got)
	}
}
