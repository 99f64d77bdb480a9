package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/engine/lang"
)

// TestLimitsOfTimeAreLowered: a limit above a day is a day, as the documents say of limits
// above the plan's. Zero and less is refused.
func TestLimitsOfTimeAreLowered(t *testing.T) {
	forms := map[string]string{
		"timeout":              `{"timeout":%s,"actions":[{"open":"http://a.example/"}]}`,
		"config.actionTimeout": `{"config":{"actionTimeout":%s},"actions":[{"open":"http://a.example/"}]}`,
	}
	for name, def := range registry {
		if _, has := jsonFields(def.example)["options"]; !has && !def.unbounded && def.name != "break" && def.name != "continue" && jsonFields(def.example)[name] != nil && !strings.Contains(def.example, "$file") {
			forms["options of "+name] = strings.TrimSuffix(def.example, "}") + `,"options":{"timeout":%s}}`
		}
	}
	for name, form := range forms {
		if strings.HasPrefix(name, "options") {
			form = `{"actions":[{"open":"http://a.example/"},` + form + `]}`
		}
		for _, ms := range []string{"86400000", "86400001", "1e9", "1e300"} {
			task, err := Parse([]byte(fmt.Sprintf(form, ms)), nil)
			if err != nil {
				t.Errorf("%s: %s: %v", name, ms, err)
				continue
			}
			got := task.Timeout
			switch {
			case strings.HasPrefix(name, "options"):
				got = task.Steps[1].Options.Timeout
			case name != "timeout":
				got = task.Config.ActionTimeout
			}
			if got != lang.MaxMillis*time.Millisecond {
				t.Errorf("%s: %s is %v", name, ms, got)
			}
		}
		for _, ms := range []string{"0", "-1", "-1e300", `"5"`} {
			var invalid *Invalid
			if _, err := Parse([]byte(fmt.Sprintf(form, ms)), nil); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "milliseconds") {
				t.Errorf("%s: %s: %v", name, ms, err)
			}
		}
	}
}

// TestNothingToDoIsNoFault: lists that programs make can be empty, and waits zero.
func TestNothingToDoIsNoFault(t *testing.T) {
	in := newInstance(t)
	site := serve(t, `<p>a</p><p>b</p><input id=q><button id=b draggable=true>b</button>`)
	flows := FlowList{}
	rows := map[string][]string{
		"if":      {`{"if":{"condition":"p","then":[]}}`, `{"if":{"condition":"#none","then":[],"else":[]}}`},
		"loop":    {`{"loop":{"repeat":3,"do":[]}}`, `{"loop":{"each":"p","do":[]}}`},
		"while":   {`{"while":{"condition":"#none","do":[]}}`, `{"while":{"condition":"p","max":2,"do":[]}}`},
		"until":   {`{"until":{"condition":"p","do":[]}}`},
		"forEach": {`{"forEach":{"elements":"p","do":[]}}`, `{"forEach":{"values":[],"do":[]}}`, `{"forEach":{"range":[1,3],"do":[]}}`, `{"forEach":{"range":[3,1],"do":[]}}`},
		"retry":   {`{"retry":{"times":2,"delay":0,"do":[]}}`},
		"try":     {`{"try":{"do":[],"catch":[]}}`, `{"try":{"do":[{"getText":"${none}"}],"catch":[]}}`},
		"":        {`{"wait":0}`, `{"wait":0.0}`, `{"loop":{"repeat":2,"do":[{"wait":0},{"if":{"condition":"p","then":[]}}]}}`, `{"focus":"#q"},{"type":"a","options":{"delay":0}}`},
	}
	for name, def := range registry {
		if strings.Contains(def.value.Schema, `#/$defs/actions`) && rows[name] == nil {
			t.Errorf("%s holds actions, and has no row", name)
		}
	}
	for _, lists := range rows {
		for _, list := range lists {
			task, err := ParseWith([]byte(fmt.Sprintf(`{"actions":[{"open":%q},%s]}`, site, list)), nil, flows)
			if err != nil {
				t.Errorf("%s: %v", list, err)
				continue
			}
			if o := in.Play(t.Context(), task, TaskEnv{}); o.End != EndCompleted || len(o.Failures) > 0 {
				t.Errorf("%s ends as %s: %v", list, o.End, failuresOf(o))
			}
		}
	}
	for _, list := range []string{`{"wait":-1}`, `{"retry":{"times":2,"delay":-1,"do":[]}}`, `{"if":{"condition":"p"}}`, `{"loop":{"repeat":2}}`} {
		if _, err := Parse([]byte(`{"actions":[`+list+`]}`), nil); err == nil {
			t.Errorf("%s is no fault", list)
		}
	}
}

func jsonFields(s string) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal([]byte(s), &fields)
	return fields
}
