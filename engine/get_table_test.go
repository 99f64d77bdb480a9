package engine

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestTablesHaveBounds: spans do not make a small page into a large answer.
func TestTablesHaveBounds(t *testing.T) {
	for name, html := range map[string]string{
		"wide":   `<script>document.write('<table>' + '<tr><td colspan=1000>a<td>b'.repeat(3000) + '</table>')</script>`,
		"tall":   `<script>document.write('<table><tr><td rowspan=1000>' + 'x'.repeat(100000) + '</td></tr>' + '<tr><td>1'.repeat(999) + '</table>')</script>`,
		"absurd": `<table><tr><td colspan=99999999 rowspan=-3>a<td>b<tr><td>c</table>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := play(t, newInstance(t), `{"actions":[{"open":"`+serve(t, html)+`"},{"getTable":{}}],"config":{"actionTimeout":60000},"timeout":90000}`, TaskEnv{})
			var got struct{ Rows [][]string }
			switch {
			case name == "tall":
				if len(o.Failures) != 1 || !strings.Contains(o.Failures[0].Text, "has more than 16777216 characters with its spans written out") {
					t.Errorf("%+v", o.Failures)
				}
			case len(o.Failures) > 0 || json.Unmarshal(o.Data, &got) != nil:
				t.Errorf("%+v", o.Failures)
			case name == "wide":
				if len(got.Rows) != 501 || len(got.Rows[0]) != 1000 {
					t.Errorf("it has %d rows of %d", len(got.Rows), len(got.Rows[0]))
				}
			case name == "absurd":
				if len(got.Rows) != 2 || strings.Join(got.Rows[0], " ") != "a b" || got.Rows[1][0] != "c" {
					t.Errorf("%q", got.Rows)
				}
			}
		})
	}
}
