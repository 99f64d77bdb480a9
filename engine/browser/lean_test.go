package browser

import (
	"strings"
	"testing"
)

// TestLean keeps the page script small without changing what it says.
func TestLean(t *testing.T) {
	got := lean("// a comment\n  const a = 'é…'; // kept\n\n    // another\n  b();\n")
	if want := "const a = '\\u00e9\\u2026'; // kept\nb();\n"; got != want {
		t.Errorf("lean gave %q, want %q", got, want)
	}
	for _, r := range install {
		if r >= 0x80 {
			t.Fatalf("the page script has %q, which is not ASCII", r)
		}
	}
	for _, f := range []string{coreJS, findJS, readJS, placeJS, actJS, pageJS, guardJS} {
		for line := range strings.Lines(f) {
			if strings.Count(line, "`")%2 == 1 {
				t.Errorf("a text spans lines, which lean would change: %s", line)
			}
			for _, r := range line {
				if r > 0xffff {
					t.Errorf("%q is beyond the basic plane: %s", r, line)
				}
			}
		}
	}
}
