package lang

import (
	"math/rand/v2"
	"testing"
)

func TestDistanceIsAMetric(t *testing.T) {
	words := []string{"", "a", "ab", "ba", "abc", "cab", "open", "opne", "click"}
	for _, a := range words {
		for _, b := range words {
			d := distance(a, b, 100)
			if (d == 0) != (a == b) || d != distance(b, a, 100) || d > max(len(a), len(b)) {
				t.Errorf("distance(%q, %q) = %d", a, b, d)
			}
		}
	}
	if d := distance("opne", "open", 3); d != 1 {
		t.Errorf("a swap counts %d", d)
	}
}

// TestDistanceOfNearWords: a bounded distance is the distance, where it is below
// the bound.
func TestDistanceOfNearWords(t *testing.T) {
	t.Parallel()
	whole := func(a, b string) int { // as the textbook has it
		d := make([][]int, len(a)+1)
		for i := range d {
			d[i] = make([]int, len(b)+1)
			for j := range d[i] {
				switch {
				case i == 0 || j == 0:
					d[i][j] = i + j
				default:
					cost := 1
					if a[i-1] == b[j-1] {
						cost = 0
					}
					d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
					if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
						d[i][j] = min(d[i][j], d[i-2][j-2]+1)
					}
				}
			}
		}
		return d[len(a)][len(b)]
	}
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = "abc"[r.IntN(3)]
		}
		return string(b)
	}
	for range 20000 {
		a, b, limit := word(), word(), 1+r.IntN(4)
		if got, want := distance(a, b, limit), min(whole(a, b), limit); got != want {
			t.Fatalf("from %q to %q: %d, want %d", a, b, got, want)
		}
	}
}
