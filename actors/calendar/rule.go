package calendar

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"
	_ "time/tzdata" // machines without a database of time zones have the same ones

	"github.com/robfig/cron/v3"
)

// Rule says when a schedule is due.
type Rule struct {
	fields *cron.SpecSchedule // of a cron line, on a clock without changes; nil: an interval
	hourly bool               // the line is for each hour
	zone   *time.Location
	every  time.Duration
	anchor time.Time
}

// everyHour is in the field of a cron line that begins with a star without a step.
const everyHour = 1 << 63

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// descriptors are the names that stand for a cron line.
const descriptors = "@hourly, @daily, @midnight, @weekly, @monthly, @yearly or @annually"

// ErrNever: a cron line names days that do not come.
var ErrNever = errors.New("names a day that does not come: no time in five years fits")

// Zone finds a time zone by its name in the IANA database.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, errors.New(`want a name such as "Europe/Berlin" or "UTC"`)
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("there is no time zone %q: want a name such as %q", name, "Europe/Berlin")
	}
	return z, nil
}

// Cron reads a cron line.
func Cron(line string, zone *time.Location) (Rule, error) {
	line = strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, "@every"):
		return Rule{}, errors.New("@every is no cron line here: use every, in milliseconds")
	case strings.Contains(line, "TZ="):
		return Rule{}, errors.New("a cron line has no time zone: use timeZone")
	case strings.HasPrefix(line, "@"):
	default:
		n := len(strings.Fields(line))
		if n != 5 {
			return Rule{}, fmt.Errorf(`has %d fields: want 5 (minute, hour, day of the month, month, day of the week), such as "0 9 * * 1-5", or %s`, n, descriptors)
		}
		for _, f := range strings.Fields(line) {
			if strings.Trim(f, ",") != f || strings.Contains(f, ",,") {
				return Rule{}, fmt.Errorf("%q has an empty part: want numbers, ranges and steps with a comma between them", f)
			}
		}
	}
	parsed, err := parser.Parse(plain(line))
	if err != nil {
		return Rule{}, fmt.Errorf("%w: want minute (0-59), hour (0-23), day of the month (1-31), month (1-12 or names such as jan), day of the week (0-7 or names such as mon, 0 and 7 are Sunday), or %s", err, descriptors)
	}
	s, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return Rule{}, errors.New("want five fields, or " + descriptors)
	}
	r := Rule{zone: zone}
	inUTC := *s
	inUTC.Location = time.UTC
	r.fields = &inUTC
	r.hourly = s.Hour&everyHour != 0
	if r.Next(time.Now()).IsZero() {
		return Rule{}, ErrNever
	}
	return r, nil
}

// Every is due at equal distances, at one time among others.
func Every(d time.Duration, at time.Time) Rule { return Rule{every: d, anchor: at} }

// Next is the first time after another one; zero: there is none.
//
// A line for certain hours is due once for each time that it names. Where the clock is
// put forward over the time, that is the moment of the change; several such times are
// one. Where the clock is put back and shows the time twice, it is the first of them. A
// line for every hour goes by the hours that pass.
func (r Rule) Next(after time.Time) time.Time {
	switch {
	case r.every > 0:
		n := after.Sub(r.anchor) / r.every
		if after.Before(r.anchor.Add(n * r.every)) { // the division rounds up before the anchor
			n--
		}
		return r.anchor.Add((n + 1) * r.every)
	case r.fields == nil:
		return time.Time{}
	case r.hourly:
		return r.nextHourly(after)
	}
	for wall := onClock(after.In(r.zone)); ; { // where it was put back, it passes the times that were before
		wall = r.fields.Next(wall)
		if wall.IsZero() {
			return wall
		}
		if at := firstAt(wall, r.zone); at.After(after) {
			return at
		}
	}
}

// nextHourly is Next of a line for each hour: what the clock shows at a time decides,
// however often it shows that. The library's own search in a zone does not end where the
// clock is put forward at midnight, so it searches on a clock without changes.
func (r Rule) nextHourly(after time.Time) time.Time {
	t := after.In(r.zone)
	for wall := onClock(t); ; wall = onClock(t).Add(-time.Second) {
		_, offset := t.Zone()
		_, to := t.ZoneBounds()
		next := r.fields.Next(wall)
		if next.IsZero() {
			return next
		}
		if at := next.Add(-time.Duration(offset) * time.Second); to.IsZero() || at.Before(to) {
			return at
		}
		t = to.In(r.zone)
	}
}

// onClock is what a clock shows, as a time in UTC.
func onClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// firstAt is when a clock in a zone first shows a time, or the moment of the change that
// goes over it.
func firstAt(wall time.Time, zone *time.Location) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, zone)
	from, to := t.ZoneBounds()
	shows := onClock(t)
	switch {
	case shows.After(wall): // the clock was put forward over it
		return from.UTC()
	case shows.Before(wall):
		return to.UTC()
	}
	if !from.IsZero() {
		_, before := from.Add(-time.Nanosecond).In(zone).Zone()
		if earlier := wall.Add(-time.Duration(before) * time.Second); earlier.Before(from) {
			return earlier
		}
	}
	return t.UTC()
}

// Shortest is the shortest distance between two times of the rule, of those in the next
// weeks.
func (r Rule) Shortest(now time.Time) time.Duration {
	if r.every > 0 {
		return r.every
	}
	const looks = 3000
	shortest := time.Duration(0)
	at := r.Next(now)
	for range looks {
		next := r.Next(at)
		if next.IsZero() {
			break
		}
		if d := next.Sub(at); shortest == 0 || d < shortest {
			shortest = d
		}
		if at = next; shortest <= time.Minute {
			break
		}
	}
	return shortest
}

// Jitter is by how much a run of a schedule is later than planned: less than most, and
// the same wherever and whenever it is asked for.
func Jitter(schedule string, planned time.Time, most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", schedule, planned.UnixMilli())
	x := h.Sum64() // its low bits alone hardly differ between two times
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return time.Duration(x % uint64(most)).Truncate(time.Millisecond)
}
