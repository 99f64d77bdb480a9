package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestDeepTreesAreReadOnce: a tree of a page takes as long to read as one that is as
// large, and not deep.
func TestDeepTreesAreReadOnce(t *testing.T) {
	const levels, letters = 900, 1 << 20
	text := strings.Repeat("x", letters)
	tree := func(levels int) string {
		var b strings.Builder
		for n := range levels {
			fmt.Fprintf(&b, "|%d.group", n)
		}
		return fmt.Sprintf(`{"tree":"%s|%d'%s"}`, b.String(), levels, text)
	}
	took := func(levels int) time.Duration {
		least := time.Hour
		for range 5 {
			began := time.Now()
			p := new(pageTree)
			if err := readTree([]byte(tree(levels)), p); err != nil {
				t.Fatal(err)
			}
			for n := range levels {
				if len(p.Tree) != 1 || p.Tree[0].node == nil {
					t.Fatalf("level %d of %d has %d children", n, levels, len(p.Tree))
				}
				p.Tree = p.Tree[0].node.Children
			}
			if len(p.Tree) != 1 || p.Tree[0].text != text {
				t.Fatal("the text is another one")
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	if flat, deep := took(1), took(levels); deep > 20*flat {
		t.Errorf("%v with %d levels, %v with one", deep, levels, flat)
	}
}
