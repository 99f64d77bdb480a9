package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// TestSelectorsReadRootsAsOneTree: CSS finds in random trees with shadow roots what it finds
// in the same trees without them. What the browser itself finds there is right.
func TestSelectorsReadRootsAsOneTree(t *testing.T) {
	t.Parallel()
	const page = `const build = (deep) => {
		const put = (to, [n, tag, classes, open, children]) => {
			const el = to.appendChild(document.createElement(tag)); el.className = classes; el.dataset.n = n
			const into = deep && open ? el.attachShadow({mode: 'open'}) : el
			for (const c of children) put(into, c)
		}
		document.body.replaceChildren(); put(document.body, tree) }
	const tree = %s, all = %s
	build(false); const found = all.map((s) => [...document.querySelectorAll(s)].map((el) => el.dataset.n).filter((n) => n))
	build(true); return found`
	for seed := range 12 {
		if !need.Nth(seed, 4) {
			continue
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(seed), 47))
			tree, _ := json.Marshal(randomTree(r, new(int), 5))
			var selectors []string
			for range 40 {
				selectors = append(selectors, randomSelector(r, 2))
			}
			all, _ := json.Marshal(selectors)
			script, _ := json.Marshal(fmt.Sprintf(page, tree, all))
			actions := []string{fmt.Sprintf(`{"evaluate":%s,"options":{"save":"want"}}`, strings.ReplaceAll(string(script), "$", "$$"))}
			for _, s := range selectors {
				s, _ := json.Marshal(s)
				actions = append(actions, fmt.Sprintf(`{"extractAll":[%s,{"n":["$this","data-n"]}],"options":{"push":"got","timeout":1}}`, s))
			}
			got, _ := answer(t, `{"actions":[`+strings.Join(append(actions, `{"getSavedData":"got"}`), ",")+`]}`, given{})
			want, _ := answer(t, `{"actions":[`+actions[0]+`]}`, given{})
			if got["failures"] != nil {
				t.Fatal(got["failures"])
			}
			wanted := want["data"].([]any)
			some := 0
			for i, found := range got["data"].(map[string]any)["got"].([]any) {
				ns := []any{}
				for _, f := range found.([]any) {
					if n := f.(map[string]any)["n"]; n != nil && n != "" {
						ns = append(ns, n)
					}
				}
				if !slices.Equal(ns, wanted[i].([]any)) {
					t.Errorf("%s finds %v, want %v, in\n%s", selectors[i], ns, wanted[i], tree)
				}
				some += len(ns)
			}
			if some == 0 {
				t.Error("no selector has found anything")
			}
		})
	}
}

// randomTree is [number, tag, classes, whether what is in it is in a shadow root, children].
func randomTree(r *rand.Rand, n *int, depth int) []any {
	*n++
	node := []any{fmt.Sprint(*n), pick(r, "div", "section", "p"), pick(r, "", "a", "b", "a b", "c"), r.IntN(3) == 0}
	children := []any{}
	if depth > 0 {
		for range 1 + r.IntN(3) {
			children = append(children, randomTree(r, n, depth-1))
		}
	}
	return append(node, children)
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// randomSelector is a list of selectors with combinators, and others in :is, :not and :has.
func randomSelector(r *rand.Rand, depth int) string {
	s := randomComplex(r, depth)
	if r.IntN(4) == 0 {
		s += ", " + randomComplex(r, depth)
	}
	return s
}

func randomComplex(r *rand.Rand, depth int) string {
	s := randomCompound(r, depth)
	for range r.IntN(3) {
		s += pick(r, " ", " > ", ">", " + ", " ~ ", " ", " > ") + randomCompound(r, depth)
	}
	return s
}

func randomCompound(r *rand.Rand, depth int) string {
	s := pick(r, "div", "section", "p", "*", ".a", ".b", "div.a", ".c", `[class~="b"]`, "p:first-child")
	if depth == 0 || r.IntN(3) > 0 {
		return s
	}
	switch r.IntN(4) {
	case 0:
		return s + ":is(" + randomSelector(r, depth-1) + ")"
	case 1:
		return s + ":not(" + randomSelector(r, depth-1) + ")"
	case 2:
		return s + ":where(" + randomComplex(r, 0) + "):not(.c)"
	default: // :has may not be in :has
		return s + ":has(" + pick(r, "", "> ", "+ ", "~ ") + randomComplex(r, 0) + ")"
	}
}
