package calendar

import (
	"strconv"
	"strings"
)

// sunday is the other number of Sunday, as in other crons.
const sunday = 7

var (
	days   = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
	months = []string{"", "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
)

// plain writes a line as the library reads it: with numbers for names, whether they are
// written out or not, in any case, and with 7 as Sunday, also at the end of a range.
func plain(line string) string {
	f := strings.Fields(line)
	if strings.HasPrefix(line, "@") {
		return strings.ToLower(line)
	}
	if len(f) != 5 {
		return line
	}
	f[3] = eachPart(f[3], months, 12)
	f[4] = eachPart(f[4], days, 6)
	return strings.Join(f, " ")
}

// eachPart rewrites the parts of a field. A part that is not understood stays as it is: the
// library says what is wrong with it.
func eachPart(field string, names []string, last int) string {
	var all []string
	for _, part := range strings.Split(field, ",") {
		all = append(all, strings.Join(rewrite(part, names, last), ","))
	}
	return strings.Join(all, ",")
}

func rewrite(part string, names []string, last int) []string {
	values, step, stepped := strings.Cut(part, "/")
	from, to, isRange := strings.Cut(values, "-")
	a, ok := number(from, names)
	b := a
	if isRange {
		var is bool
		b, is = number(to, names)
		ok = ok && is
	} else if stepped {
		b = last
	}
	every := 1
	if stepped {
		n, err := strconv.Atoi(step)
		every, ok = n, ok && err == nil && n >= 1
	}
	if !ok {
		return []string{part}
	}
	if last < sunday {
		if a == sunday && b != sunday {
			a = 0
		}
		if _, err := strconv.Atoi(to); isRange && b == 0 && a > 0 && err != nil { // such as fri-sun
			b = sunday
		}
		if b == sunday && a <= b {
			var listed []string
			for v := a; v <= b; v += every {
				listed = append(listed, strconv.Itoa(v%sunday))
			}
			return listed
		}
	}
	text := strconv.Itoa(a)
	if isRange || stepped {
		text += "-" + strconv.Itoa(b)
	}
	if stepped {
		text += "/" + step
	}
	return []string{text}
}

// number reads a number, or a name: whole, or its first letters, three at least.
func number(text string, names []string) (int, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, n >= 0
	}
	text = strings.ToLower(text)
	for i, name := range names {
		if len(text) >= 3 && strings.HasPrefix(name, text) {
			return i, true
		}
	}
	return 0, false
}
