package lang

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// savedValues are values by their keys, as JSON.
type savedValues map[string]json.RawMessage

func (s savedValues) Get(key string) (json.RawMessage, bool) {
	v, ok := s[key]
	return v, ok
}

func cacheOf(t *testing.T, values string) savedValues {
	t.Helper()
	var s savedValues
	if err := json.Unmarshal([]byte(values), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTextsAreFilledInOnce(t *testing.T) {
	c := cacheOf(t, `{"a":"A","n":5,"f":1.50,"nil":null,"yes":true,"list":[1,"x"],"obj":{"k":"v"},"empty":"","ref":"${a} $$ ${none}","a.b-c_1":"dotted","_":"under","quote":"\"","uni":"ü😀"}`)
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"$", "$"},
		{"$$", "$"},
		{"$$$", "$$"},
		{"$$$$", "$$"},
		{"$ $", "$ $"},
		{"a$", "a$"},
		{"${", "${"},
		{"${}", "${}"},
		{"${a", "${a"},
		{"${ a}", "${ a}"},
		{"${a }", "${a }"},
		{"${1a}", "${1a}"},
		{"${a b}", "${a b}"},
		{"${a}", "A"},
		{"$${a}", "${a}"},
		{"$$${a}", "$A"},
		{"$$$${a}", "$${a}"},
		{"${${a}}", "${A}"},
		{"x${a}y${a}z", "xAyAz"},
		{"${a}${n}", "A5"},
		{"${n}", "5"},
		{"${f}", "1.50"},
		{"${nil}", "null"},
		{"${yes}", "true"},
		{"${list}", `[1,"x"]`},
		{"${obj}", `{"k":"v"}`},
		{"[${empty}]", "[]"},
		{"${ref}", "${a} $$ ${none}"},
		{"${a.b-c_1}", "dotted"},
		{"${_}", "under"},
		{"${quote}", `"`},
		{"${uni}ß", "ü😀ß"},
		{"$a", "$a"},
		{"$5.00", "$5.00"},
		{`a[href$="x"]`, `a[href$="x"]`},
		{`^\d+$`, `^\d+$`},
		{"$file:0", "$file:0"},
		{"a\n$$\n${a}", "a\n$\nA"},
	} {
		got, err := ParseText(tc.in).Expand(c)
		if err != nil || got != tc.want {
			t.Errorf("%q = %q, %v; want %q", tc.in, got, err, tc.want)
		}
		if got, _ := ParseText(tc.in).ExpandScript(c); got != tc.want {
			t.Errorf("as a script %q = %q; want %q", tc.in, got, tc.want)
		}
	}
}

func TestATextWithoutItsValueFailsAndAScriptStays(t *testing.T) {
	c := cacheOf(t, `{"a":"A"}`)
	for _, in := range []string{"${none}", "x ${a} ${none}", "$${a} ${none.x}"} {
		_, err := ParseText(in).Expand(c)
		var v *ValueError
		if !errors.As(err, &v) {
			t.Errorf("%q: %v, want an invalid value", in, err)
		}
	}
	if got, _ := ParseText("`${none} ${a} $$`").ExpandScript(c); got != "`${none} A $`" {
		t.Errorf("script = %q", got)
	}
}

func TestTextsKnowTheirKeys(t *testing.T) {
	for in, want := range map[string]string{"": "", "$$": "", "$${a}": "", "${a}": "a", "${b}${b}": "b"} {
		keys := map[string]bool{}
		text := ParseText(in)
		text.Keys(keys)
		if len(keys) > 1 || want != "" && !keys[want] || want == "" && len(keys) > 0 {
			t.Errorf("keys of %q are %v", in, keys)
		}
		if text.Fixed() != (want == "") {
			t.Errorf("%q is fixed: %v", in, text.Fixed())
		}
	}
}

// TestFilledInTextsHaveABound: a short request cannot make a long text of what it
// has savedValues.
func TestFilledInTextsHaveABound(t *testing.T) {
	t.Parallel()
	c := savedValues{"a": json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}
	text := ParseText(strings.Repeat("${a}", 40))
	if s, err := text.Expand(c); err == nil || !strings.Contains(err.Error(), fmt.Sprint(MaxText)) {
		t.Errorf("it became %d bytes, %v", len(s), err)
	}
	if s, err := text.ExpandScript(c); err == nil {
		t.Errorf("as a script it became %d bytes", len(s))
	}
	if s, err := ParseText("${a}${a}${a}").Expand(c); err != nil || len(s) != 3<<20 {
		t.Errorf("%d bytes, %v", len(s), err)
	}
}
