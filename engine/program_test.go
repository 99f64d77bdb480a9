package engine

import (
	"encoding/json"
	"flag"
	mathrand "math/rand/v2"
	"reflect"
	"testing"
)

var programs = flag.Int("programs", 2500, "how many random lists TestProgramsDoWhatTheModelSays plays")

// TestProgramsDoWhatTheModelSays plays random lists of blocks, values and failures,
// and compares how they end, what fails where, what they give and what they leave
// saved with what a small interpreter says.
func TestProgramsDoWhatTheModelSays(t *testing.T) {
	in := newInstance(t)
	ran := map[string]int{}
	for n := range *programs {
		g := &programMaker{rng: mathrand.New(mathrand.NewPCG(uint64(n), 21))}
		list := g.list(0, 2+g.rng.IntN(4))
		goesOn := g.rng.IntN(3) > 0
		body, err := json.Marshal(map[string]any{"config": map[string]any{"continueOnError": goesOn}, "actions": list})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{saved: map[string]json.RawMessage{}, goesOn: goesOn, ran: ran}
		data, how := m.list(list, "")
		cache := NewCache()
		o := play(t, in, string(body), TaskEnv{Cache: cache})
		var failed []modelFailure
		for _, f := range o.Failures {
			at := f.Iterations
			if at == nil && f.Iteration != nil {
				at = []int{*f.Iteration}
			}
			failed = append(failed, modelFailure{f.Code, f.Path, at, f.Tolerated})
		}
		end := EndCompleted
		if how.fails() {
			end = EndStopped
		}
		var left map[string]any
		b, err := cache.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(b, &left)
		}
		if err != nil {
			t.Fatal(err)
		}
		if why, ok := left["why"].(map[string]any); ok {
			why["error"] = "" // its text is not the model's business
		}
		if m.returned != nil {
			data = m.returned
		}
		if o.Failed != m.counted() {
			t.Fatalf("list %d has failed with %q, the model says %q:\n%s", n, o.Failed, m.counted(), body)
		}
		if o.End != end || !reflect.DeepEqual(failed, m.failures) || end == EndCompleted && !sameJSON(o.Data, data) || !reflect.DeepEqual(left, m.left()) {
			t.Fatalf("list %d ends as %s with %s, failures %v and %v saved;\nthe model says %s with %s, failures %v and %v saved:\n%s",
				n, o.End, o.Data, failed, left, end, data, m.failures, m.left(), body)
		}
	}
	for _, name := range []string{"set", "getText", "getSavedData", "if", "while", "until", "retry", "try", "break", "continue", "return", "assert", "loop", "forEach", "caught"} {
		if ran[name] < *programs/100 {
			t.Errorf("%s ran %d times in %d lists", name, ran[name], *programs)
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// programMaker makes random lists.
type programMaker struct {
	rng            *mathrand.Rand
	inLoop, inThat bool // break can stand here; in a loop of the specification
}

type anAction = map[string]any

func (g *programMaker) of(all ...string) string { return all[g.rng.IntN(len(all))] }

func (g *programMaker) list(depth, n int) (all []any) {
	all = []any{}
	for range n {
		all = append(all, g.action(depth))
	}
	return all
}

func (g *programMaker) action(depth int) anAction {
	a := g.plain()
	if depth < 4 && g.rng.IntN(3) > 0 {
		a = g.block(depth)
	}
	if options := g.options(a); len(options) > 0 {
		a["options"] = options
	}
	return a
}

// options are those that change what becomes of a failure, and where results go.
func (g *programMaker) options(a anAction) anAction {
	o := anAction{}
	if g.rng.IntN(4) == 0 {
		o["continueOnError"] = g.rng.IntN(2) == 0
	}
	if a["getSavedData"] != nil && g.rng.IntN(2) == 0 || g.rng.IntN(12) == 0 {
		o[g.of("save", "push")] = g.of("x", "p")
	}
	return o
}

func (g *programMaker) plain() anAction {
	switch g.rng.IntN(12) {
	case 0, 1:
		return anAction{"getText": "${none}"}
	case 2, 3:
		return anAction{"getSavedData": g.of("a", "b", "x", "p")}
	case 4:
		return anAction{"assert": g.condition(0)}
	case 5, 6:
		if g.inLoop {
			return anAction{g.of("break", "continue"): true}
		}
	case 7:
		if g.rng.IntN(3) == 0 {
			return anAction{"return": g.value()}
		}
	}
	return anAction{"set": anAction{g.of("a", "b"): g.value()}}
}

func (g *programMaker) value() any {
	switch key := g.of("a", "b", "x", "p"); g.rng.IntN(8) {
	case 0:
		return "${" + key + "}"
	case 1:
		return "(${a})"
	case 2:
		return []any{"${b}", 1}
	case 3:
		return anAction{"$length": "${" + key + "}"}
	case 4:
		return "${why.code}"
	default:
		return g.rng.IntN(4)
	}
}

func (g *programMaker) condition(depth int) any {
	if depth < 2 {
		switch g.rng.IntN(6) {
		case 0:
			return anAction{"all": []any{g.condition(depth + 1), g.condition(depth + 1)}}
		case 1:
			return anAction{"any": []any{g.condition(depth + 1), g.condition(depth + 1)}}
		case 2:
			return anAction{"not": g.condition(depth + 1)}
		case 3:
			return anAction{"failure": []any{g.of("==", "!="), g.of("invalid_value", "assertion_failed", "")}}
		}
	}
	return anAction{"cached": g.of("a", "b", "x", "p"), "operator": g.of("==", "!=", "<", ">=", "empty", "notEmpty", "contains"), "value": g.rng.IntN(4)}
}

func (g *programMaker) block(depth int) anAction {
	inLoop, inThat := g.inLoop, g.inThat
	defer func() { g.inLoop, g.inThat = inLoop, inThat }()
	n := g.rng.IntN(4)
	switch g.rng.IntN(8) {
	case 5:
		g.inLoop = true
		of, things := "values", any([]any{g.value(), g.rng.IntN(4), "${a}"})
		switch g.rng.IntN(3) {
		case 0:
			of, things = "range", []any{g.rng.IntN(4), g.rng.IntN(4), g.rng.IntN(2)*3 - 1}
		case 1:
			things = "${" + g.of("a", "b", "x", "p") + "}"
		}
		return anAction{"forEach": anAction{of: things, "as": g.of("a", "b"), "max": 1 + g.rng.IntN(4), "do": g.list(depth+1, n)}}
	case 0, 1:
		return anAction{"if": anAction{"condition": g.condition(0), "then": g.list(depth+1, n), "else": g.list(depth+1, 1)}}
	case 2:
		return anAction{"retry": anAction{"times": 1 + g.rng.IntN(3), "do": g.list(depth+1, n)}}
	case 3:
		return anAction{"try": anAction{"do": g.list(depth+1, n), "catch": g.list(depth+1, g.rng.IntN(3)), "as": "why"}}
	case 4:
		if !g.inThat {
			g.inLoop, g.inThat = false, true
			return anAction{"loop": anAction{"repeat": 1 + g.rng.IntN(3), "do": g.list(depth+1, n)}}
		}
	}
	g.inLoop = true
	return anAction{g.of("while", "until"): anAction{"condition": g.condition(0), "max": 1 + g.rng.IntN(4), "do": g.list(depth+1, n)}}
}
