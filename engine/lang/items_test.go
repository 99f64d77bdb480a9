package lang

import (
	"fmt"
	"strings"
	"testing"
)

func TestItems(t *testing.T) {
	for in, want := range map[string]string{
		`[]`: `[] 0`, `[1, "a",[2],{"b":3}]`: `[1 "a" [2]] 1`, `{"a":1,"b":[2],"c<":3,"d":4,"e":5}`: `[{"key":"a","value":1} {"key":"b","value":[2]} {"key":"c<","value":3}] 2`, `{}`: `[] 0`,
	} {
		list, left, err := Items([]byte(in), 3)
		if got := fmt.Sprintf("%s %d", list, left); got != want || err != nil {
			t.Errorf("%s gives %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{`"text"`, `5`, `null`, ``, `[1,`, `{"a"`} {
		if list, _, err := Items([]byte(in), 3); err == nil {
			t.Errorf("%s gives %s", in, list)
		}
	}
	// Of very many values only the first take memory.
	many := "[" + strings.Repeat("1,", 4<<20) + "1]"
	if n := testing.AllocsPerRun(1, func() {
		if list, left, err := Items([]byte(many), 100); len(list) != 100 || left != 4<<20+1-100 || err != nil {
			t.Errorf("%d values, %d left: %v", len(list), left, err)
		}
	}); n > 1000 {
		t.Errorf("it allocates %.0f times", n)
	}
}
