package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// TestSchemasHaveBounds: neither a large schema nor a slow pattern takes what others need.
func TestSchemasHaveBounds(t *testing.T) {
	need.NoRace(t)
	var many strings.Builder
	for i := range maxSchemaParts {
		fmt.Fprintf(&many, `,"p%d":{"type":"string","x-select":"a"}`, i)
	}
	deep := strings.Repeat(`{"type":"array","x-select":"a","items":`, maxSchemaDepth+1) + `{"type":"string"}` + strings.Repeat("}", maxSchemaDepth+1)
	for _, schema := range []string{`{"type":"object","properties":{` + many.String()[1:] + `}}`, deep} {
		if _, err := Parse([]byte(`{"actions":[{"extract":`+schema+`}]}`), nil); err == nil || !strings.Contains(err.Error(), "want at most 500 schemas in one, 12 deep") {
			t.Errorf("%.300v", err)
		}
	}
	began := time.Now()
	url := serve(t, `<script>for (let i = 0; i < 100; i++) document.write('<p>' + 'a'.repeat(50000))</script>`)
	o := play(t, newInstance(t), `{"actions":[{"open":"`+url+`"},{"extract":{"type":"array","x-select":"p","items":{"type":"string","pattern":"(a?){900}b$"}},"options":{"timeout":200000}}],"timeout":240000}`, TaskEnv{})
	if len(o.Failures) != 1 || o.Failures[0].Code != CodeInvalidValue || time.Since(began) > wait.Hang {
		t.Errorf("%+v after %v", o.Failures, time.Since(began))
	}
}
