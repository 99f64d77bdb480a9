package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestTasksWithoutItems: what reads an item where there is none is refused, with the place
// and what would be right, unless a value may be there under that name.
func TestTasksWithoutItems(t *testing.T) {
	const saves = `{"getText":"h1","options":{"save":"item"}}`
	for name, c := range map[string]struct {
		body string
		want string // the beginning of the only fault; empty: none
	}{
		"in an address":             {`{"actions":[{"open":"http://a.example/${item.id}"}]}`, "/actions/0: ${item.id} reads the item of a batch"},
		"in a selector":             {`{"actions":[{"click":"#r-${item.id}"}]}`, "/actions/0: ${item.id}"},
		"in a block":                {`{"actions":[{"try":{"do":[{"fill":["#q","${item.a.b}"]}]}}]}`, "/actions/0/try/do/0: ${item.a.b}"},
		"written in another way":    {`{"actions":[{"set":{"n":"${\u0069tem.n}"}}]}`, "/actions/0: ${item.n}"},
		"in a queue":                {`{"queue":true,"actions":[{"set":{"n":"${item.n}"}}]}`, "/actions/0: ${item.n}"},
		"saved before":              {`{"actions":[` + saves + `,{"set":{"n":"${item.n}"}}]}`, ""},
		"saved by set":              {`{"actions":[{"set":{"item":{"n":1}}},{"set":{"n":"${item.n}"}}]}`, ""},
		"the value of a loop":       {`{"actions":[{"forEach":{"values":[{"n":1}],"do":[{"set":{"n":"${item.n}"}}]}}]}`, ""},
		"in a session":              {`{"session":{"id":"sess_00000000000000000000000000000000"},"actions":[{"set":{"n":"${item.n}"}}]}`, ""},
		"in a script":               {"{\"actions\":[{\"evaluate\":\"return [1].map((item) => `${item.n}`)\"}]}", ""},
		"two dollar signs":          {`{"actions":[{"set":{"n":"$${item.n}"}}]}`, ""},
		"asked whether it is there": {`{"actions":[{"if":{"condition":{"cached":"item.n","operator":"empty"},"then":[]}}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.body), nil)
			invalid, _ := err.(*Invalid)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (invalid == nil || len(invalid.Faults) != 1 || !strings.HasPrefix(invalid.Faults[0].String(), c.want)):
				t.Errorf("%v, want %s", err, c.want)
			}
			if c.want == "" {
				return
			}
			if _, err := ParseScheduled([]byte(c.body), nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("a schedule: %v", err)
			}
			tpl, err := ParseTemplate([]byte(c.body), nil)
			if err != nil {
				t.Fatalf("a batch: %v", err)
			}
			b, err := json.Marshal(tpl.Task.WithItem([]byte(`{"id":1}`)))
			if err == nil {
				err = json.Unmarshal(b, new(Task))
			}
			if err != nil {
				t.Errorf("read again: %v", err)
			}
		})
	}
	_, err := Parse(fmt.Appendf(nil, `{"actions":[{"clik":"a"},{"set":{"n":"${item.n}"}}]}`), nil)
	if err == nil || !strings.Contains(err.Error(), "clik") || !strings.Contains(err.Error(), "${item.n}") {
		t.Errorf("beside another fault: %v", err)
	}
}
