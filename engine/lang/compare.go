package lang

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Operators lists the operators of conditions.
var Operators = []string{"==", "!=", ">", "<", ">=", "<=", "contains", "notContains", "matches", "empty", "notEmpty"}

// Compare decides a condition. Both sides are compared as numbers when both
// read as numbers, else as strings. Have is JSON, or nil when there is no such
// element, property or key: that is empty, and unequal to everything.
func Compare(have json.RawMessage, operator, want string) (bool, error) {
	if len(have) == 0 || string(have) == "null" {
		switch operator {
		case "!=", "notContains", "empty":
			return true, nil
		}
		return false, nil
	}
	left := asText(have)
	switch operator {
	case "==", "!=":
		equal := left == want
		if a, b, ok := numbers(left, want); ok {
			equal = a == b
		}
		return equal == (operator == "=="), nil
	case ">", "<", ">=", "<=":
		order := strings.Compare(left, want)
		if a, b, ok := numbers(left, want); ok {
			order = 0
			if a < b {
				order = -1
			} else if a > b {
				order = 1
			}
		}
		switch operator {
		case ">":
			return order > 0, nil
		case "<":
			return order < 0, nil
		case ">=":
			return order >= 0, nil
		}
		return order <= 0, nil
	case "contains", "notContains":
		return holds(have, left, want) == (operator == "contains"), nil
	case "matches":
		re, err := readPattern(want)
		if err != nil {
			return false, invalid("%q is no RE2 expression: %v", Short(want, 100), err)
		}
		matched, err := re.match(left, maxEffort)
		if m := slashed.FindStringSubmatch(want); err == nil && !matched && m != nil && !looksLikePath(m[2]) {
			var again URLPattern
			if again, err = ReadURLPattern(want); err == nil { // as waitForResponse reads it
				matched, err = again.Match(left, maxEffort)
			}
		}
		if err != nil {
			return false, invalid("%q cannot be compared: %v", Short(want, 100), err)
		}
		return matched, nil
	case "empty", "notEmpty":
		return isEmpty(have) == (operator == "empty"), nil
	}
	return false, fmt.Errorf("comparing: operator %q is unknown", operator)
}

func numbers(a, b string) (x, y float64, ok bool) {
	x, err1 := strconv.ParseFloat(strings.TrimSpace(a), 64)
	y, err2 := strconv.ParseFloat(strings.TrimSpace(b), 64)
	// NaN and the infinities are words here, and hexadecimal is a name.
	plain := func(s string) bool { return !strings.ContainsAny(s, "nNxX_") }
	return x, y, err1 == nil && err2 == nil && plain(a) && plain(b)
}

// holds reports whether an array has an element, or a string a part.
func holds(have json.RawMessage, left, want string) bool {
	var list []json.RawMessage
	if have[0] == '[' && json.Unmarshal(have, &list) == nil {
		for _, e := range list {
			if equal, _ := Compare(e, "==", want); equal {
				return true
			}
		}
		return false
	}
	return strings.Contains(left, want)
}

func isEmpty(have json.RawMessage) bool {
	switch string(have) {
	case `""`, "[]", "{}", "null":
		return true
	}
	return false
}
