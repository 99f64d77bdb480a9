package lang

import (
	"fmt"
	"strings"
)

// DidYouMean names the nearest of the known words, when one is near, as the end
// of a sentence that has refused the word.
func DidYouMean(word string, known []string) string {
	// Of a short word one wrong letter leaves enough to be sure, of a longer one two.
	best, at := "", min(3, 1+(len(word)+1)/3)
	if len(word) > 100 {
		return ""
	}
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k), at); d < at {
			best, at = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance counts the letters to change, add, drop or swap between two words, up to
// a limit: a caller that compares very many long words wants to know only which are near.
func distance(a, b string, limit int) int {
	if len(a) > 64 || len(b) > 64 || len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	var before, last, row [65]int // of a[:i-2], a[:i-1] and a[:i]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := range row {
			row[j] = limit // beyond the limit, as all is that is so far from the diagonal
		}
		from, to := max(1, i-limit), min(len(b), i+limit)
		if from == 1 {
			row[0] = i
		}
		least := row[from-1]
		for j := from; j <= to; j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit { // a swap reaches back by two rows, and costs one
			return limit
		}
		before, last = last, row
	}
	return min(last[len(b)], limit)
}
