package lang

import (
	"fmt"
	"testing"
)

// TestPosition: each place of a request has its line and column, also what is missing, and the
// place at which a text is no JSON.
func TestPosition(t *testing.T) {
	const task = "{\n  \"actions\": [\n    {\"open\": \"http://a/\"},\n\t{\"fïll\": [\"#a\", \"b\"], \"clik\": {\"a/b\": 1}},\n    5 ]\n}\n"
	for _, tc := range []struct{ text, pointer, want string }{
		{task, "", "1:1"},
		{task, "/actions", "2:3"},
		{task, "/actions/0", "3:5"},
		{task, "/actions/0/open", "3:6"},
		{task, "/actions/1/fïll/1", "4:18"},
		{task, "/actions/1/clik", "4:24"},
		{task, "/actions/1/clik/a~1b", "4:33"},
		{task, "/actions/2", "5:5"},
		{task, "/actions/1/missing", "4:2"},
		{task, "/actions/7/open", "2:3"},
		{task, "/nothing/at/all", "1:1"},
		{"{\"a\":\n [1,\n  x]}", "/a", "3:3"},
		{"{\"a\": 1", "", "1:8"},
		{"{\"a\":1,\n\"a\":2}", "", "2:1"},
		{"", "/a", "1:1"},
		{"{}\n}", "", "2:1"},
	} {
		line, column := Position([]byte(tc.text), tc.pointer)
		if got := fmt.Sprintf("%d:%d", line, column); got != tc.want {
			t.Errorf("%q in %q is at %s, want %s", tc.pointer, tc.text, got, tc.want)
		}
	}
}
