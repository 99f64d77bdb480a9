package engine

import (
	"encoding/json"
	"errors"
	"testing"
)

func cacheOf(t *testing.T, values string) *Cache {
	t.Helper()
	c := NewCache()
	if err := json.Unmarshal([]byte(values), c); err != nil {
		t.Fatal(err)
	}
	return c
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
		got, err := parseText(tc.in).Expand(c)
		if err != nil || got != tc.want {
			t.Errorf("%q = %q, %v; want %q", tc.in, got, err, tc.want)
		}
		if got, _ := parseText(tc.in).ExpandScript(c); got != tc.want {
			t.Errorf("as a script %q = %q; want %q", tc.in, got, tc.want)
		}
	}
}

func TestATextWithoutItsValueFailsAndAScriptStays(t *testing.T) {
	c := cacheOf(t, `{"a":"A"}`)
	for _, in := range []string{"${none}", "x ${a} ${none}", "$${a} ${none.x}"} {
		_, err := parseText(in).Expand(c)
		var p *Problem
		if !errors.As(err, &p) || p.Code != CodeInvalidValue {
			t.Errorf("%q: %v, want an invalid value", in, err)
		}
	}
	if got, _ := parseText("`${none} ${a} $$`").ExpandScript(c); got != "`${none} A $`" {
		t.Errorf("script = %q", got)
	}
}

func TestTextsKnowTheirKeys(t *testing.T) {
	for in, want := range map[string]string{"": "", "$$": "", "$${a}": "", "${a}": "a", "${b}${b}": "b"} {
		keys := map[string]bool{}
		text := parseText(in)
		text.keys(keys)
		if len(keys) > 1 || want != "" && !keys[want] || want == "" && len(keys) > 0 {
			t.Errorf("keys of %q are %v", in, keys)
		}
		if text.Fixed() != (want == "") {
			t.Errorf("%q is fixed: %v", in, text.Fixed())
		}
	}
}

func TestSelectorsAreOfFourKinds(t *testing.T) {
	c := cacheOf(t, `{"id":"7","x":"//b","dollar":"$k"}`)
	for _, tc := range []struct {
		in   string
		want target
	}{
		{"#a", target{Kind: "css", Sel: "#a", As: "#a"}},
		{"a[href$='x']", target{Kind: "css", Sel: "a[href$='x']", As: "a[href$='x']"}},
		{"a[href$$='x']", target{Kind: "css", Sel: "a[href$='x']", As: "a[href$='x']"}},
		{"#row-${id} > b", target{Kind: "css", Sel: "#row-7 > b", As: "#row-7 > b"}},
		{".a", target{Kind: "css", Sel: ".a", As: ".a"}},
		{"(a)", target{Kind: "css", Sel: "(a)", As: "(a)"}},
		{"//a", target{Kind: "xpath", Sel: "//a", As: "//a"}},
		{"/html/body", target{Kind: "xpath", Sel: "/html/body", As: "/html/body"}},
		{"(//a)[2]", target{Kind: "xpath", Sel: "(//a)[2]", As: "(//a)[2]"}},
		{"./a", target{Kind: "xpath", Sel: "./a", As: "./a"}},
		{".//a", target{Kind: "xpath", Sel: ".//a", As: ".//a"}},
		{"../a", target{Kind: "xpath", Sel: "../a", As: "../a"}},
		{"(.//a)[1]", target{Kind: "xpath", Sel: "(.//a)[1]", As: "(.//a)[1]"}},
		{"${x}", target{Kind: "xpath", Sel: "//b", As: "//b"}},
		{"$k", target{Ref: "k", As: "$k"}},
		{"$this", target{Ref: "this", As: "$this"}},
		{"$k.1-x_y", target{Ref: "k.1-x_y", As: "$k.1-x_y"}},
		{"$this a", target{Ref: "this", Kind: "css", Sel: "a", As: "$this a"}},
		{"$this   a  b", target{Ref: "this", Kind: "css", Sel: "a  b", As: "$this a  b"}},
		{"$this > a", target{Ref: "this", Kind: "css", Sel: "> a", As: "$this > a"}},
		{"$k //a", target{Ref: "k", Kind: "xpath", Sel: "//a", As: "$k //a"}},
		{"$k #${id}", target{Ref: "k", Kind: "css", Sel: "#7", As: "$k #7"}},
		{"$k\n.a", target{Ref: "k", Kind: "css", Sel: ".a", As: "$k .a"}},
		{"$$k", target{Kind: "css", Sel: "$k", As: "$k"}},
		{"$1", target{Kind: "css", Sel: "$1", As: "$1"}},
		{"$", target{Kind: "css", Sel: "$", As: "$"}},
		{"$k.a > b", target{Ref: "k.a", Kind: "css", Sel: "> b", As: "$k.a > b"}},
		{"${dollar}", target{Kind: "css", Sel: "$k", As: "$k"}}, // what was put in is no reference
	} {
		got, err := parseSelector(tc.in).target(c)
		if err != nil || got != tc.want {
			t.Errorf("%q = %+v, %v; want %+v", tc.in, got, err, tc.want)
		}
	}
}

func TestAnEmptySelectorIsAProblem(t *testing.T) {
	c := cacheOf(t, `{"empty":""}`)
	for _, in := range []string{"${empty}", "${none}", "$k ${none}"} {
		if got, err := parseSelector(in).target(c); err == nil {
			t.Errorf("%q = %+v, want a problem", in, got)
		}
	}
	if got, err := parseSelector("$k ${empty}").target(c); err != nil || got.Sel != "" || got.Ref != "k" {
		t.Errorf("a reference with nothing below it = %+v, %v", got, err)
	}
}

func TestDidYouMeanNamesWhatIsNear(t *testing.T) {
	names := ActionNames()
	for word, want := range map[string]string{
		"clik": "click", "Click": "click", "CLICK": "click", "cilck": "click", "klick": "click", "clicks": "click",
		"gettext": "getText", "get_text": "getText", "getTxt": "getText", "screenshoot": "screenshot", "waitForElment": "waitForElement",
		"opn": "open", "lop": "loop", "iff": "if", "evalute": "evaluate", "setCookie": "setCookies", "byPassChalenge": "byPassChallenge",
		"": "", "xyz": "", "somethingElse": "", "q": "", "navigate": "",
	} {
		got := DidYouMean(word, names)
		if want == "" && got != "" || want != "" && got != `; did you mean "`+want+`"?` {
			t.Errorf("%q: %s, want %q", word, got, want)
		}
	}
}

func TestDistanceIsAMetric(t *testing.T) {
	words := []string{"", "a", "ab", "ba", "abc", "cab", "open", "opne", "click"}
	for _, a := range words {
		for _, b := range words {
			d := distance(a, b, 100)
			if (d == 0) != (a == b) || d != distance(b, a, 100) || d > max(len(a), len(b)) {
				t.Errorf("distance(%q, %q) = %d", a, b, d)
			}
		}
	}
	if d := distance("opne", "open", 3); d != 1 {
		t.Errorf("a swap counts %d", d)
	}
}
