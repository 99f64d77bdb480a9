package engine

import (
	"fmt"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// TestFailuresThatTheListTolerates: a failure counts unless the list says of the action that
// it may fail. What config says, in so many words or by default, changes nothing of that.
func TestFailuresThatTheListTolerates(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	site := serve(t, `<p>a</p>`)
	const (
		bad   = `{"getText":"${none}"}`                                // invalid_value
		gone  = `{"getText":"#gone","options":{"timeout":1}}`          // element_not_found
		never = `{"waitForResponse":"/never","options":{"timeout":1}}` // timeout, at the end
		may   = `,"options":{"continueOnError":true}}`
		good  = `{"getSavedData":"x"}`
	)
	own := func(action string) string { return strings.TrimSuffix(action, "}") + may }
	for name, c := range map[string]struct {
		list string
		want Code // in a list that goes on
	}{
		"an action":                                     {bad, CodeInvalidValue},
		"the first of two":                              {gone + "," + bad, CodeElementNotFound},
		"a tolerated one before it":                     {own(bad) + "," + gone + "," + bad, CodeElementNotFound},
		"an action that may fail":                       {own(bad), ""},
		"in a branch":                                   {`{"if":{"condition":{"not":"i"},"then":[` + bad + `]}}`, CodeInvalidValue},
		"in a branch that may fail":                     {own(`{"if":{"condition":{"not":"i"},"then":[` + bad + `]}}`), ""},
		"an action of a branch that may fail":           {`{"if":{"condition":{"not":"i"},"then":[` + own(bad) + `]}}`, ""},
		"in a loop":                                     {`{"loop":{"repeat":2,"do":[` + bad + `]}}`, CodeInvalidValue},
		"in a loop that may fail":                       {own(`{"loop":{"repeat":2,"do":[` + bad + `]}}`), ""},
		"after a loop that may fail":                    {own(`{"loop":{"repeat":2,"do":[`+bad+`]}}`) + "," + gone, CodeElementNotFound},
		"in a loop over values":                         {`{"forEach":{"range":[1,2],"do":[` + bad + `]}}`, CodeInvalidValue},
		"a loop over no values":                         {`{"forEach":{"values":"${none}","do":[]}}`, CodeInvalidValue},
		"in while":                                      {`{"while":{"condition":{"cached":"none","operator":"empty"},"max":2,"do":[` + bad + `]}}`, CodeInvalidValue},
		"reads in one call":                             {`{"getText":"p"},{"getText":"#gone","options":{"timeout":1}},{"getText":"p"}`, CodeElementNotFound},
		"reads in one call, one of which may fail":      {`{"getText":"p"},{"getText":"#gone","options":{"timeout":1,"continueOnError":true}},{"getText":"p"}`, ""},
		"reads in a loop that may fail":                 {own(`{"loop":{"each":"p","do":[` + gone + `,{"getText":"$this"}]}}`), ""},
		"in try":                                        {`{"try":{"do":[` + bad + `]}}`, ""},
		"in catch":                                      {`{"try":{"do":[` + bad + `],"catch":[` + gone + `]}}`, CodeElementNotFound},
		"in catch of a try that may fail":               {own(`{"try":{"do":[` + bad + `],"catch":[` + gone + `]}}`), ""},
		"in catch, in try":                              {`{"try":{"do":[{"try":{"do":[` + bad + `],"catch":[` + gone + `]}}]}}`, ""},
		"attempts that fail":                            {`{"retry":{"times":2,"do":[` + bad + `]}}`, CodeInvalidValue},
		"attempts that fail and may":                    {own(`{"retry":{"times":2,"do":[` + bad + `]}}`), ""},
		"attempts that must not fail, in some that may": {own(`{"retry":{"times":2,"do":[{"getText":"${none}","options":{"continueOnError":false}}]}}`), ""},
		"attempts that fail, in try":                    {`{"try":{"do":[{"retry":{"times":2,"do":[` + bad + `]}}]}}`, ""},
		"an attempt that ends well":                     {`{"retry":{"times":2,"do":[{"if":{"condition":{"cached":"again","operator":"empty"},"then":[{"set":{"again":1}},` + bad + `]}}]}}`, ""},
		"a response that does not come":                 {never, CodeTimeout},
		"a response that need not come":                 {`{"waitForResponse":"/never","options":{"timeout":1,"continueOnError":true}}`, ""},
		"a response in try":                             {`{"try":{"do":[` + never + `]}}`, ""},
		"a response in a loop that may fail":            {own(`{"forEach":{"range":[1,1],"do":[` + never + `]}}`), ""},
		"a response of a failed attempt":                {`{"set":{"n":1}},{"retry":{"times":2,"do":[{"forEach":{"range":[1,"${n}"],"do":[` + never + `]}},{"set":{"n":0}},{"getSavedData":"n","options":{"push":"turns"}},{"assert":{"cached":"turns.1","operator":"notEmpty"}}]}}`, ""},
		"a response of the attempt that ends well":      {`{"retry":{"times":2,"do":[` + never + `]}}`, CodeTimeout},
		"an action before a response":                   {never + "," + bad, CodeInvalidValue},
		"an assertion that may fail":                    {`{"assert":{"cached":"none","operator":"==","value":"1"}` + may, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, config := range []string{`{}`, `{"continueOnError":true}`, `{"trace":true}`} {
				o := play(t, in, fmt.Sprintf(`{"config":%s,"actions":[{"open":%q},%s,%s]}`, config, site, c.list, good), TaskEnv{})
				if o.End != EndCompleted || o.Failed != c.want {
					t.Errorf("with %s it ends as %s, failed with %q, want %q: %v", config, o.End, o.Failed, c.want, failuresOf(o))
				}
				for _, f := range o.Failures {
					if !f.Tolerated && c.want == "" {
						t.Errorf("with %s the failure at %s is not tolerated", config, f.Path)
					}
				}
			}
		})
	}
}

// TestTheFailureThatCountsIsKnownWithoutRoom: thousands of tolerated failures before it
// leave no room to report it.
func TestTheFailureThatCountsIsKnownWithoutRoom(t *testing.T) {
	need.NoRace(t)
	var p reports
	for i := range 200_000 {
		p.failed(Failure{Code: CodeTimeout, Path: fmt.Sprint(i), Tolerated: true}, false)
	}
	p.failed(Failure{Code: CodeScriptError, Path: "a"}, false)
	p.failed(Failure{Code: CodeTimeout, Path: "b", Tolerated: true}, false)
	if p.left.Errors == 0 || p.first != CodeScriptError {
		t.Errorf("%d were left out; the first that counts is %q", p.left.Errors, p.first)
	}
}

// TestTheFirstFailureThatCounts: of up to six failures of which any may be tolerated, the
// outcome has the code of the first one that was not.
func TestTheFirstFailureThatCounts(t *testing.T) {
	for n := range 7 {
		for mix := range 1 << n {
			var p reports
			want := Code("")
			for i := range n {
				f := Failure{Code: Code(fmt.Sprint("c", i)), Path: fmt.Sprint(i % 2), Tolerated: mix>>i&1 == 1}
				if want == "" && !f.Tolerated {
					want = f.Code
				}
				p.failed(f, i == n-1)
			}
			if p.first != want {
				t.Errorf("%d failures, tolerated %b: %q, want %q", n, mix, p.first, want)
			}
		}
	}
}
