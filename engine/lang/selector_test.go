package lang

import "testing"

func TestSelectorsAreOfFourKinds(t *testing.T) {
	c := cacheOf(t, `{"id":"7","x":"//b","dollar":"$k"}`)
	for _, tc := range []struct {
		in   string
		want Target
	}{
		{"#a", Target{Kind: "css", Sel: "#a", As: "#a"}},
		{"a[href$='x']", Target{Kind: "css", Sel: "a[href$='x']", As: "a[href$='x']"}},
		{"a[href$$='x']", Target{Kind: "css", Sel: "a[href$='x']", As: "a[href$='x']"}},
		{"#row-${id} > b", Target{Kind: "css", Sel: "#row-7 > b", As: "#row-7 > b"}},
		{".a", Target{Kind: "css", Sel: ".a", As: ".a"}},
		{"(a)", Target{Kind: "css", Sel: "(a)", As: "(a)"}},
		{"//a", Target{Kind: "xpath", Sel: "//a", As: "//a"}},
		{"/html/body", Target{Kind: "xpath", Sel: "/html/body", As: "/html/body"}},
		{"(//a)[2]", Target{Kind: "xpath", Sel: "(//a)[2]", As: "(//a)[2]"}},
		{"./a", Target{Kind: "xpath", Sel: "./a", As: "./a"}},
		{".//a", Target{Kind: "xpath", Sel: ".//a", As: ".//a"}},
		{"../a", Target{Kind: "xpath", Sel: "../a", As: "../a"}},
		{"(.//a)[1]", Target{Kind: "xpath", Sel: "(.//a)[1]", As: "(.//a)[1]"}},
		{"${x}", Target{Kind: "xpath", Sel: "//b", As: "//b"}},
		{"$k", Target{Ref: "k", As: "$k"}},
		{"$this", Target{Ref: "this", As: "$this"}},
		{"$k.1-x_y", Target{Ref: "k.1-x_y", As: "$k.1-x_y"}},
		{"$this a", Target{Ref: "this", Kind: "css", Sel: "a", As: "$this a"}},
		{"$this   a  b", Target{Ref: "this", Kind: "css", Sel: "a  b", As: "$this a  b"}},
		{"$this > a", Target{Ref: "this", Kind: "css", Sel: "> a", As: "$this > a"}},
		{"$k //a", Target{Ref: "k", Kind: "xpath", Sel: "//a", As: "$k //a"}},
		{"$k #${id}", Target{Ref: "k", Kind: "css", Sel: "#7", As: "$k #7"}},
		{"$k\n.a", Target{Ref: "k", Kind: "css", Sel: ".a", As: "$k .a"}},
		{"$$k", Target{Kind: "css", Sel: "$k", As: "$k"}},
		{"$1", Target{Kind: "css", Sel: "$1", As: "$1"}},
		{"$", Target{Kind: "css", Sel: "$", As: "$"}},
		{"$k.a > b", Target{Ref: "k.a", Kind: "css", Sel: "> b", As: "$k.a > b"}},
		{"${dollar}", Target{Kind: "css", Sel: "$k", As: "$k"}}, // what was put in is no reference
	} {
		got, err := parseSelector(tc.in).Target(c)
		if err != nil || got != tc.want {
			t.Errorf("%q = %+v, %v; want %+v", tc.in, got, err, tc.want)
		}
	}
}

func TestAnEmptySelectorIsAProblem(t *testing.T) {
	c := cacheOf(t, `{"empty":""}`)
	for _, in := range []string{"${empty}", "${none}", "$k ${none}"} {
		if got, err := parseSelector(in).Target(c); err == nil {
			t.Errorf("%q = %+v, want a problem", in, got)
		}
	}
	if got, err := parseSelector("$k ${empty}").Target(c); err != nil || got.Sel != nil || got.Ref != "k" {
		t.Errorf("a reference with nothing below it = %+v, %v", got, err)
	}
}
