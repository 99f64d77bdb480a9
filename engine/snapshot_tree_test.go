package engine

import (
	"encoding/json"
	"testing"
)

// TestTreesAreReadAsThePageWritesThem: texts keep the marks that a tree is written with.
func TestTreesAreReadAsThePageWritesThem(t *testing.T) {
	p := new(pageTree)
	said, err := json.Marshal(map[string]string{"tree": "|0.link^na~1b~2c~0d~01^schecked level=2^e7^p^i^u^b1,-2,3,4|1'x~1y|1?quiet|0'last|0.iframe^x3^o1.5,2"})
	if err != nil {
		t.Fatal(err)
	}
	if err := readTree(said, p); err != nil {
		t.Fatal(err)
	}
	if len(p.Tree) != 3 || p.Tree.lines() != 5 || p.Tree[1].text != "last" {
		t.Fatalf("the tree is %+v", p.Tree)
	}
	n := p.Tree[0].node
	if n.Role != "link" || n.Name != "a|b^c~d~1" || n.States != "checked level=2" || n.Ref != 7 || !n.Pointer || !n.Acts || n.URL == nil || *n.URL != "" || n.Placeholder != nil || len(n.Box) != 4 || n.Box[1] != -2 {
		t.Errorf("the link is %+v", n)
	}
	if len(n.Children) != 2 || n.Children[0].text != "x|y" || n.Children[0].quiet || n.Children[1].text != "quiet" || !n.Children[1].quiet {
		t.Errorf("in the link is %+v", n.Children)
	}
	if f := p.Tree[2].node; f.Frame != 3 || len(f.Origin) != 2 || f.Origin[0] != 1.5 {
		t.Errorf("the frame is %+v", f)
	}
}

// FuzzTree: whatever comes from the page's process in place of a tree, it is read or
// refused, and no text is longer than what came.
func FuzzTree(f *testing.F) {
	for _, s := range []string{"", "|0.a", "|0'", "|1.a", "|", "||", "|0", "|99999999999999999999.a", "|0.a^", "|0.a^^e|1.b|3'x", "0.a", "|0.a^e-1^bx,y^o,", "|0!x", "|-1.a", "|0'~|0'~9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tree, err := readTreeLines(s)
		if err != nil {
			return
		}
		w := &lineWriter{refs: &references{}, maxDepth: -1, maxText: 1000, maxName: 100}
		w.nodes(tree, 0, -1)
		if n := treeNodes(tree).lines(); n > len(s) {
			t.Errorf("%q has %d lines", s, n)
		}
	})
}
