package calendar

import (
	"strings"
	"testing"
	"time"
)

// TestWords: names, in any case and length, and 7 are the numbers that they stand for.
func TestWords(t *testing.T) {
	for line, same := range map[string]string{
		"0 9 * * 7":             "0 9 * * 0",
		"0 9 * * sun":           "0 9 * * 0",
		"0 9 * * Sunday":        "0 9 * * 0",
		"0 9 * * MON-FRI":       "0 9 * * 1-5",
		"0 9 * * monday-Friday": "0 9 * * 1-5",
		"0 9 * * 5-7":           "0 9 * * 5,6,0",
		"0 9 * * fri-sun":       "0 9 * * 5,6,0",
		"0 9 * * 0-7":           "0 9 * * 0-6",
		"0 9 * * 1-7/2":         "0 9 * * 1,3,5,0",
		"0 9 * * 7-2":           "0 9 * * 0-2",
		"0 9 * * 7-7":           "0 9 * * 0",
		"0 9 * * 6,7":           "0 9 * * 0,6",
		"0 9 * * tues,Thurs":    "0 9 * * 2,4",
		"0 9 * * sat/1":         "0 9 * * 6",
		"0 9 1 jan,JUL *":       "0 9 1 1,7 *",
		"0 9 1 January-march *": "0 9 1 1-3 *",
		"0 9 1 sept *":          "0 9 1 9 *",
		"0 9 1 apr-dec/3 *":     "0 9 1 4,7,10 *",
		"0 9 1 2/3 *":           "0 9 1 2,5,8,11 *",
		"@Daily":                "0 0 * * *",
		"@WEEKLY":               "0 0 * * 0",
		"0\t9  *\t* 7":          "0 9 * * 0",
		"0 9 ? * 7":             "0 9 * * 0",
		"0 9 13 * fri,7":        "0 9 13 * 5,0",
	} {
		a, err := Cron(line, time.UTC)
		b, no := Cron(same, time.UTC)
		if err != nil || no != nil {
			t.Errorf("%q: %v, %v", line, err, no)
			continue
		}
		for x, y, n := day(2026, 1, 1), day(2026, 1, 1), 0; n < 60; n++ {
			if x, y = a.Next(x), b.Next(y); !x.Equal(y) {
				t.Errorf("%q is due at %v, and %q at %v", line, x, same, y)
				break
			}
		}
	}
	for line, text := range map[string]string{
		"0 9 * * 8": "8", "0 9 * * 5-8": "8", "0 9 * * fry": "fry", "0 9 * * mo": "mo", "0 9 * mon *": "mon", "0 9 * * jan": "jan",
		"0 9 * 13 *": "13", "0 9 * * 5-1": "beyond", "0 9 * * mon-": "", "0 9 * * -5": "", "0 9 * * mon/0": "step", "0 9 * * 7/x": "", "mon 9 * * *": "mon", "0 9 * 7-1 *": "beyond",
		"0 9 * * 7#1": "", "0 9 L * *": "L", "0 9 * * 1-2-3": "",
	} {
		if _, err := Cron(line, time.UTC); err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "0-7") {
			t.Errorf("%q: %v, want %q", line, err, text)
		}
	}
}
