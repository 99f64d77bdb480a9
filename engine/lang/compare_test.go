package lang

import (
	"encoding/json"
	"testing"
)

func TestCompare(t *testing.T) {
	const missing = ""
	for _, tc := range []struct {
		have, operator, want string
		yes                  bool
	}{
		// Numbers when both sides read as numbers.
		{`10`, "==", "10.0", true},
		{`"10"`, "==", "1e1", true},
		{`" 7 "`, "==", "7", true},
		{`"10"`, ">", "9", true},
		{`"10"`, "<", "9", false},
		{`-1`, "<", "0", true},
		{`0`, "==", "-0", true},
		{`0.1`, "<=", "0.10", true},
		{`5`, ">=", "5", true},
		{`5`, "!=", "5.0", false},
		// Else strings.
		{`"10a"`, ">", "9", false},
		{`"abc"`, "<", "abd", true},
		{`"a"`, "==", "A", false},
		{`""`, "==", "", true},
		{`""`, "<", "a", true},
		{`"0x10"`, "==", "16", false},
		{`"1_000"`, "==", "1000", false},
		{`"NaN"`, "==", "NaN", true},
		{`"Infinity"`, ">", "5", true}, // a word, and words come after digits
		{`"1,000"`, "==", "1000", false},
		// Other kinds are their JSON.
		{`true`, "==", "true", true},
		{`false`, "!=", "true", true},
		{`[1,2]`, "==", "[1,2]", true},
		{`{"a":1}`, "==", `{"a":1}`, true},
		// Contains: part of a string, element of an array.
		{`"hello"`, "contains", "ell", true},
		{`"hello"`, "contains", "", true},
		{`"hello"`, "notContains", "x", true},
		{`123`, "contains", "2", true},
		{`["a","b"]`, "contains", "b", true},
		{`["ab"]`, "contains", "b", false},
		{`[1,2.0]`, "contains", "2", true},
		{`[]`, "contains", "", false},
		{`[]`, "notContains", "a", true},
		{`[null]`, "contains", "null", false},
		{`"[1,2]"`, "contains", "1,", true},
		// Matches: RE2, anywhere.
		{`"order 66"`, "matches", `\d+`, true},
		{`"order"`, "matches", `^\d`, false},
		{`42`, "matches", `^4`, true},
		{`"a\nb"`, "matches", `(?s)a.b`, true},
		// Empty.
		{`""`, "empty", "", true},
		{`" "`, "empty", "", false},
		{`[]`, "empty", "", true},
		{`{}`, "empty", "", true},
		{`0`, "empty", "", false},
		{`false`, "empty", "", false},
		{`"x"`, "notEmpty", "", true},
		{`""`, "notEmpty", "", false},
		// What is missing, or null, is empty and unequal to everything.
		{missing, "==", "", false},
		{missing, "==", "null", false},
		{missing, "!=", "", true},
		{missing, "<", "1", false},
		{missing, ">=", "0", false},
		{missing, "contains", "", false},
		{missing, "notContains", "a", true},
		{missing, "matches", ".*", false},
		{missing, "empty", "", true},
		{missing, "notEmpty", "", false},
		{`null`, "==", "null", false},
		{`null`, "!=", "null", true},
		{`null`, "empty", "", true},
	} {
		got, err := Compare(json.RawMessage(tc.have), tc.operator, tc.want)
		if err != nil || got != tc.yes {
			t.Errorf("%s %s %q = %v, %v; want %v", tc.have, tc.operator, tc.want, got, err, tc.yes)
		}
	}
}

func TestCompareTellsWhatItCannot(t *testing.T) {
	if _, err := Compare(json.RawMessage(`"a"`), "matches", "("); err == nil {
		t.Error("a bad expression compares")
	}
	if _, err := Compare(json.RawMessage(`"a"`), "~=", "a"); err == nil {
		t.Error("an unknown operator compares")
	}
}

// TestMatchesTakesFlags: what waitForResponse takes for a regular expression,
// matches takes, too, and what was one before still is.
func TestMatchesTakesFlags(t *testing.T) {
	for _, c := range []struct {
		want string
		is   bool
	}{{"/^order \\d+$/i", true}, {"/^order$/i", false}, {"/order/", false}, {"/ORDER/", true}, {"ORDER [0-9]", true}, {"order", false}} {
		got, err := Compare([]byte(`"ORDER 12"`), "matches", c.want)
		if err != nil || got != c.is {
			t.Errorf("matches %s: %t, %v; want %t", c.want, got, err, c.is)
		}
	}
	if got, err := Compare([]byte(`"/api/users/"`), "matches", "/users/"); err != nil || !got {
		t.Errorf("a path in slashes: %t, %v", got, err)
	}
	if _, err := Compare([]byte(`"a"`), "matches", "/(/i"); err == nil {
		t.Error("a broken expression is none")
	}
}
