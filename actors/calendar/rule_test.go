package calendar

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"
)

// field is a field of a cron line in the tests: the values that it has.
type field struct {
	text string
	in   func(int) bool
	star bool
}

func drawField(t *rapid.T, name string, min, max int) field {
	n := func(what string, from int) int { return rapid.IntRange(from, max).Draw(t, name+" "+what) }
	switch rapid.IntRange(0, 4).Draw(t, name) {
	case 0:
		return field{"*", func(int) bool { return true }, true}
	case 1:
		step := rapid.IntRange(2, 20).Draw(t, name+" step")
		return field{fmt.Sprintf("*/%d", step), func(v int) bool { return (v-min)%step == 0 }, false}
	case 2:
		from := n("from", min)
		to := n("to", from)
		return field{fmt.Sprintf("%d-%d", from, to), func(v int) bool { return v >= from && v <= to }, false}
	case 3:
		a, b := n("first", min), n("second", min)
		return field{fmt.Sprintf("%d,%d", a, b), func(v int) bool { return v == a || v == b }, false}
	}
	v := n("value", min)
	return field{fmt.Sprint(v), func(x int) bool { return x == v }, false}
}

// changes are places and weeks in which the clock is put forward or back, by an hour, by
// half an hour, at midnight, and by a day.
var changes = []struct {
	zone string
	from time.Time
}{
	{"Europe/Berlin", day(2026, 3, 27)}, {"Europe/Berlin", day(2026, 10, 23)},
	{"America/New_York", day(2026, 3, 6)}, {"America/New_York", day(2026, 10, 30)},
	{"Australia/Lord_Howe", day(2026, 4, 3)}, {"Australia/Lord_Howe", day(2026, 10, 2)},
	{"America/Sao_Paulo", day(2018, 11, 2)}, {"America/Sao_Paulo", day(2018, 2, 16)},
	{"Africa/Casablanca", day(2026, 2, 13)}, {"Africa/Casablanca", day(2026, 3, 20)},
	{"Asia/Kolkata", day(2026, 3, 27)}, {"Pacific/Apia", day(2011, 12, 28)}, {"UTC", day(2026, 3, 27)},
}

func day(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC) }

// TestRuleAgainstReference: the times of a cron line over changes of the clock are those
// that a search through all minutes finds.
func TestRuleAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SampledFrom(changes).Draw(t, "change")
		zone, err := Zone(in.zone)
		if err != nil {
			t.Fatal(err)
		}
		minute, hour := drawField(t, "minute", 0, 59), drawField(t, "hour", 0, 23)
		dom, dow := drawField(t, "dom", 1, 31), drawField(t, "dow", 0, 6)
		line := strings.Join([]string{minute.text, hour.text, dom.text, "*", dow.text}, " ")
		r, err := Cron(line, zone)
		if err != nil {
			t.Fatal(err)
		}
		fits := func(w time.Time) bool {
			days := dom.in(w.Day()) || dow.in(int(w.Weekday()))
			if dom.star || dow.star {
				days = dom.in(w.Day()) && dow.in(int(w.Weekday()))
			}
			return days && minute.in(w.Minute()) && hour.in(w.Hour())
		}
		from, to := in.from, in.from.Add(4*24*time.Hour)
		var want []time.Time
		if hour.star {
			for u := from; u.Before(to); u = u.Add(time.Minute) {
				if fits(u.In(zone)) {
					want = append(want, u)
				}
			}
		} else {
			// Each time on the clock counts when the clock has first come to it.
			latest := onClock(from.Add(-26 * time.Hour).In(zone)).Add(-time.Minute)
			for u := from.Add(-26 * time.Hour); u.Before(to); u = u.Add(time.Minute) {
				due := false
				for shows := onClock(u.In(zone)); latest.Before(shows); {
					latest = latest.Add(time.Minute)
					due = due || fits(latest)
				}
				if due && !u.Before(from) {
					want = append(want, u)
				}
			}
		}
		var got []time.Time
		for at := r.Next(from.Add(-time.Nanosecond)); !at.IsZero() && at.Before(to); at = r.Next(at) {
			got = append(got, at)
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%q in %s from %v:\n%v, want\n%v", line, in.zone, from, got, want)
		}
		// From any time on, the next one is the first of them that is later.
		any := from.Add(time.Duration(rapid.Int64Range(0, int64(4*24*time.Hour)).Draw(t, "any")))
		if i := slices.IndexFunc(want, func(w time.Time) bool { return w.After(any) }); i >= 0 && !r.Next(any).Equal(want[i]) {
			t.Fatalf("%q in %s after %v: %v, want %v", line, in.zone, any, r.Next(any), want[i])
		}
	})
}

// TestRuleIsTheLibrarys: where the clock does not change, the times are the library's.
func TestRuleIsTheLibrarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fields := []string{drawField(t, "minute", 0, 59).text, drawField(t, "hour", 0, 23).text, drawField(t, "dom", 1, 28).text,
			drawField(t, "month", 1, 12).text, drawField(t, "dow", 0, 6).text}
		line := strings.Join(fields, " ")
		zone := rapid.SampledFrom([]string{"UTC", "Asia/Kolkata", "Asia/Tokyo", "America/Phoenix"}).Draw(t, "zone")
		z, _ := Zone(zone)
		r, err := Cron(line, z)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := cron.ParseStandard("CRON_TZ=" + zone + " " + line)
		if err != nil {
			t.Fatal(err)
		}
		at := day(2026, 1, 1).Add(time.Duration(rapid.Int64Range(0, int64(365*24*time.Hour)).Draw(t, "at")))
		for range 20 {
			ours, want := r.Next(at), theirs.Next(at)
			if !ours.Equal(want) {
				t.Fatalf("%q in %s after %v: %v, the library says %v", line, zone, at, ours, want)
			}
			at = ours
		}
	})
}

// TestSummerTime: the examples of the documents.
//
// Promise: At a change to or from summer time, each time has one run
// (docs/schedules.md#summer-time).
func TestSummerTime(t *testing.T) {
	berlin, err := Zone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line string
		from time.Time
		want string
	}{
		{"30 2 * * *", day(2026, 3, 28), "28 02:30+01, 29 03:00+02, 30 02:30+02"},
		{"*/10 2 * * *", day(2026, 3, 29), "29 03:00+02, 30 02:00+02, 30 02:10+02"},
		{"30 2 * * *", day(2026, 10, 24), "24 02:30+02, 25 02:30+02, 26 02:30+01"},
		{"30 * * * *", day(2026, 10, 25), "25 02:30+02, 25 02:30+01, 25 03:30+01"},
		{"30 * * * *", day(2026, 3, 29), "29 01:30+01, 29 03:30+02, 29 04:30+02"},
		{"@daily", day(2026, 3, 28), "29 00:00+01, 30 00:00+02, 31 00:00+02"},
	} {
		r, err := Cron(c.line, berlin)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for at := c.from; len(got) < 3; {
			at = r.Next(at)
			got = append(got, at.In(berlin).Format("2 15:04-07"))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%q: %s, want %s", c.line, text, c.want)
		}
	}
}

func TestRuleFaults(t *testing.T) {
	for line, text := range map[string]string{
		"":                       "has 0 fields",
		"* * * *":                "has 4 fields",
		"0 0 9 * * *":            "has 6 fields",
		"60 * * * *":             "above maximum",
		"0 24 * * *":             "above maximum",
		"0 9 * * mo":             "failed to parse",
		"0 9 31 2 *":             "does not come",
		"@every 1h":              "use every",
		"@noon":                  "@daily",
		"TZ=UTC 0 9 * * *":       "use timeZone",
		"CRON_TZ=UTC":            "use timeZone",
		"0 9,, * * *":            "empty part",
		", 9 * * *":              "empty part",
		"0 9 * * 1/0":            "step",
		"0 18446744073709551616": "2 fields",
	} {
		if _, err := Cron(line, time.UTC); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v, want %q", line, err, text)
		}
	}
	for _, zone := range []string{"", "Local", "Mars/Olympus", "../etc/passwd"} {
		if _, err := Zone(zone); err == nil {
			t.Errorf("%q is a time zone", zone)
		}
	}
}

// TestShortest: how often a rule is due is found also where its times are uneven.
func TestShortest(t *testing.T) {
	for line, want := range map[string]time.Duration{
		"* * * * *": time.Minute, "0,1 9 1 * *": time.Minute, "*/15 * * * *": 15 * time.Minute, "0 9 * * *": 24 * time.Hour,
		"50 9 * * *": 24 * time.Hour, "55,5 * * * *": 10 * time.Minute,
	} {
		r, err := Cron(line, time.UTC)
		if err != nil || r.Shortest(day(2026, 1, 1)) != want {
			t.Errorf("%q: %v, %v, want %v", line, r.Shortest(day(2026, 1, 1)), err, want)
		}
	}
}

// TestJitter: it is spread over all that is allowed, and the same each time.
func TestJitter(t *testing.T) {
	seen := [10]int{}
	for i := range 1000 {
		at := day(2026, 1, 1).Add(time.Duration(i) * time.Hour)
		j := Jitter("s1", at, 10*time.Minute)
		if j < 0 || j >= 10*time.Minute || j != Jitter("s1", at, 10*time.Minute) {
			t.Fatalf("%v: %v", at, j)
		}
		seen[j/time.Minute]++
	}
	if slices.Min(seen[:]) < 50 {
		t.Errorf("uneven: %v", seen)
	}
	if Jitter("s1", day(2026, 1, 1), 0) != 0 {
		t.Error("a jitter without one")
	}
}
