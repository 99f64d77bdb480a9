package engine

import (
	"errors"
	"strings"
	"testing"
)

// TestWarningsBesideFaults: what is wrong in one place does not hide what cannot be
// meant in another, and leads to no warnings of its own.
func TestWarningsBesideFaults(t *testing.T) {
	const unknown = `{"clik":"a"}`
	for name, c := range map[string]struct {
		request string
		want    []string
	}{
		"misspelt key":                     {`"actions":[` + unknown + `,{"getText":"h1","options":{"save":"title"}},{"fill":["#q","${titel}"]}]`, []string{`/actions/2: ${titel} is used, but nothing saves it; did you mean "title"?`}},
		"in a list with a fault":           {`"actions":[{"loop":{"repeat":2,"do":[` + unknown + `,{"fill":["#q","${x}"]}]}}]`, []string{"/actions/0/loop/do/1: ${x} is used"}},
		"in a loop of neither kind":        {`"actions":[{"loop":{"do":[{"click":"$this"},{"click":"$x"}]}}]`, []string{"/actions/0/loop/do/1: $x is used"}},
		"in a branch":                      {`"actions":[{"if":{"condition":{"selector":"a","operator":"~"},"then":[{"fill":["#q","${x}"]}]}}]`, []string{"/actions/0/if/then/0: ${x} is used"}},
		"$this outside of a loop":          {`"actions":[` + unknown + `,{"click":"$this"}]`, []string{"/actions/1: $this is"}},
		"waits that are too long":          {`"actions":[` + unknown + `,{"wait":70000}],"timeout":60000`, []string{"/actions: the waits alone take 70000 ms"}},
		"a step with a fault":              {`"actions":[{"fill":["#q${x}"]}]`, nil},
		"an unknown action saves":          {`"actions":[{"getTxt":"h1","options":{"save":"title"}},{"fill":["#q","${title}"]}]`, nil},
		"an unknown action saves, element": {`"actions":[{"fnd":"h1","options":{"save":"e"}},{"click":"$e"}]`, nil},
		"an unknown option":                {`"actions":[{"getText":"h1","options":{"save":"title","speed":1}},{"fill":["#q","${title}"]}]`, nil},
		"save beside the action":           {`"actions":[{"getText":"h1","save":"title"},{"fill":["#q","${title}"]}]`, nil},
		"saves below an unknown action":    {`"actions":[{"lop":{"repeat":2,"do":[{"getText":"h1","options":{"push":"all"}}]}},{"getSavedData":["all"]}]`, nil},
		"saved after it was cleared":       {`"actions":[{"clearSavedData":true},{"getText":5,"options":{"save":"title"}},{"fill":["#q","${title}"]}]`, nil},
		"nothing was cleared":              {`"actions":[{"getText":"h1","options":{"save":"title"}},{"clearSavedData":7},{"fill":["#q","${title}"]}]`, nil},
		"a session that cannot be read":    {`"actions":[{"fill":["#q","${title}"]}],"session":{"id":5}`, nil},
		"a time that cannot be read":       {`"actions":[{"wait":70000}],"timeout":"a minute"`, nil},
		"no list":                          {`"actions":5`, nil},
		"another tool's selector":          {`"actions":[` + unknown + `,{"click":"text=a"}]`, []string{`/actions/1/click: "text=a" is not CSS: want {"text": "a"}`}},
		"unknown field":                    {`"action":5,"actions":[{"fill":["#q","${x}"]}]`, []string{"/actions/0: ${x} is used"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte("{"+c.request+"}"), nil)
			var invalid *Invalid
			if !errors.As(err, &invalid) {
				t.Fatalf("it is taken, and should have faults")
			}
			got := invalid.Warnings()
			ok := len(got) == len(c.want)
			for i := 0; ok && i < len(got); i++ {
				ok = strings.HasPrefix(got[i].String(), c.want[i])
			}
			if !ok {
				t.Errorf("the warnings are %v, and should be %q; the faults are %v", got, c.want, invalid.Faults)
			}
		})
	}
	for _, body := range []string{"", "[]", "{", "5", "\xff", `{"actions":[[]]}`} {
		var invalid *Invalid
		if _, err := Parse([]byte(body), nil); !errors.As(err, &invalid) || len(invalid.Warnings()) > 0 {
			t.Errorf("%q gives %v", body, err)
		}
	}
}

// TestFaultySites: a fault elsewhere makes no address look as if its site were not
// allowed, and hides none that is not.
func TestFaultySites(t *testing.T) {
	for body, want := range map[string]int{
		`{"config":{"sites":["a.example"]},"actions":[{"open":"http://a.example/"},{"clik":"#a"}]}`:                                     0,
		`{"config":{"sites":["a.example"]},"actions":[{"open":"http://a.example/"},{"click":5}]}`:                                       0,
		`{"config":{"sites":["a.example","http://b c/"]},"actions":[{"open":"http://b.example/"}]}`:                                     0,
		`{"config":{"sites":["a.example"]},"actions":[{"open":"http://b.example/"},{"openNewTab":"http://a.example/x"},{"clik":"#a"}]}`: 1,
	} {
		_, err := Parse([]byte(body), nil)
		var invalid *Invalid
		if !errors.As(err, &invalid) {
			t.Fatalf("%s: %v", body, err)
		}
		var sites []string
		for _, w := range invalid.Warnings() {
			if strings.Contains(w.Message, "site_not_allowed") {
				sites = append(sites, w.String())
			}
		}
		if len(sites) != want {
			t.Errorf("%s: %q", body, sites)
		}
	}
}
