package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestMustNotFailStopsTheTask: a step with continueOnError: false of its own stops the task
// in every block, and before the block's own continueOnError: true. Only try and retry catch
// it. A block that is new has no row here, and fails.
func TestMustNotFailStopsTheTask(t *testing.T) {
	in := newInstance(t)
	site := serve(t, `<p>a</p><p>b</p>`)
	flows := FlowList{{Name: "f", Version: 1, Source: []byte(`{"actions":[{"getText":"${none}","options":{"continueOnError":false}},{"set":{"inner":1}}]}`)}}
	const do = `[{"getText":"${none}","options":{"continueOnError":false}},{"set":{"inner":1}}]`
	rows := map[string]struct {
		blocks  []string // what the block is, without its options
		catches bool
		page    []string // the same, of blocks that look at the page
	}{
		"if":      {blocks: []string{`"if":{"condition":{"cached":"x","operator":"empty"},"then":` + do + `}`, `"if":{"condition":{"cached":"x","operator":"notEmpty"},"then":[],"else":` + do + `}`, `"if":{"condition":{"cached":"x","operator":"empty"},"then":[{"if":{"condition":{"cached":"x","operator":"empty"},"then":` + do + `}}]}`}},
		"loop":    {blocks: []string{`"loop":{"repeat":2,"do":` + do + `}`}, page: []string{`"loop":{"each":"p","do":` + do + `}`, `"loop":{"each":"p","do":[{"getText":"$this"},{"getText":"#none","options":{"continueOnError":false,"timeout":50}},{"getText":"$this","options":{"push":"inner"}}]}`}},
		"forEach": {blocks: []string{`"forEach":{"range":[1,2],"do":` + do + `}`, `"forEach":{"values":[1],"do":` + do + `}`}, page: []string{`"forEach":{"elements":"p","do":` + do + `}`, `"forEach":{"pages":{"next":"#next"},"do":` + do + `}`}},
		"while":   {blocks: []string{`"while":{"condition":{"cached":"x","operator":"empty"},"max":2,"do":` + do + `}`}},
		"until":   {blocks: []string{`"until":{"condition":{"cached":"x","operator":"notEmpty"},"max":2,"do":` + do + `}`}},
		"run":     {blocks: []string{`"run":"f"`}},
		"try":     {blocks: []string{`"try":{"do":` + do + `}`}, catches: true},
		"retry":   {blocks: []string{`"retry":{"times":2,"do":[{"if":{"condition":{"cached":"again","operator":"empty"},"then":[{"set":{"again":1}},{"getText":"${none}","options":{"continueOnError":false}}]}}]}`}, catches: true},
	}
	for name, def := range registry {
		if slices.Contains([]string{"if", "loop"}, name) || strings.Contains(def.value.Schema, `#/$defs/actions`) || name == "run" {
			if len(rows[name].blocks) == 0 {
				t.Errorf("%s holds actions, and has no row", name)
			}
		}
	}
	plays := func(block, where, form, open string, catches bool) {
		t.Helper()
		for _, config := range []string{`{}`, `{"continueOnError":false}`} {
			task, err := ParseWith([]byte(fmt.Sprintf(`{"config":%s,"actions":[%s%s,{"set":{"after":1}}]}`, config, open, fmt.Sprintf(form, block))), nil, flows)
			if err != nil {
				t.Fatalf("%s: %v", block, err)
			}
			cache := NewCache()
			o := in.Play(t.Context(), task, TaskEnv{Cache: cache})
			_, inner := cache.Get("inner")
			_, after := cache.Get("after")
			goesOn := catches || where == "in the do"
			if want := map[bool]End{true: EndCompleted, false: EndStopped}[goesOn]; o.End != want || after != goesOn || inner {
				t.Errorf("%s, with %s: it ends as %s, the next action ran: %v, the one behind it: %v; %v\n%s", where, config, o.End, after, inner, failuresOf(o), block)
			}
			if !goesOn && (o.Failed == "" || len(o.Failures) == 0) {
				t.Errorf("%s, with %s: nothing counts as failed: %v\n%s", where, config, failuresOf(o), block)
			}
		}
	}
	around := map[string]string{
		"alone":       `{%s}`,
		"may fail":    `{%s,"options":{"continueOnError":true}}`,
		"in if":       `{"if":{"condition":{"cached":"x","operator":"empty"},"then":[{%s}]},"options":{"continueOnError":true}}`,
		"in forEach":  `{"forEach":{"range":[1,2],"do":[{%s}]}}`,
		"in catch":    `{"try":{"do":[{"getText":"${none}"}],"catch":[{%s}]}}`,
		"in the do":   `{"try":{"do":[{%s}]}}`,
		"in attempts": `{"retry":{"times":2,"do":[{%s}]}}`,
	}
	for _, row := range rows {
		for where, form := range around {
			for _, block := range row.blocks {
				plays(block, where, form, "", row.catches)
			}
		}
		for _, block := range row.page {
			plays(block, "alone", around["alone"], fmt.Sprintf(`{"open":%q},`, site), row.catches)
		}
	}
	for list, want := range map[string]End{
		`{"retry":{"times":2,"do":` + do + `}}`:                                                                                                                         EndStopped,
		`{"retry":{"times":2,"do":` + do + `},"options":{"continueOnError":true}}`:                                                                                      EndCompleted,
		`{"if":{"condition":{"not":"i"},"then":[{"getText":"${none}","options":{"continueOnError":true}},{"set":{"inner":1}}]}}`:                                        EndCompleted,
		`{"if":{"condition":{"not":"i"},"then":[{"if":{"condition":{"not":"i"},"then":[{"getText":"${none}"}]},"options":{"continueOnError":false}},{"set":{"x":1}}]}}`: EndCompleted,
	} {
		if o := play(t, in, `{"actions":[`+list+`]}`, TaskEnv{}); o.End != want {
			t.Errorf("%s ends as %s, want %s", list, o.End, want)
		}
	}
}
