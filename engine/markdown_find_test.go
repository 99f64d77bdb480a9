package engine

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSectionsAreTheWhole: no line of a text is lost or told twice where it is divided.
func TestSectionsAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom([]string{"# A", "## B b", "#no", "", "text", "> quote", "```", "````", "# in code?", "- item", "  more"})).Draw(t, "lines")
		var got []string
		for _, s := range sectionsOf(strings.Join(lines, "\n")) {
			if s.heading != "" {
				got = append(got, s.heading)
			}
			for _, b := range s.blocks {
				got = append(got, strings.Split(b, "\n")...)
			}
		}
		some := func(all []string) string {
			return strings.Join(strings.FieldsFunc(strings.Join(all, "\n"), func(r rune) bool { return r == '\n' }), "\n")
		}
		if some(got) != some(lines) {
			t.Fatalf("%q of %q", got, lines)
		}
	})
}
