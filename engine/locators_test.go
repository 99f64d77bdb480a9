package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"troupe/engine/lang"
)

// pushed plays actions that push lists of {"n"}, and gives these.
func pushed(t *testing.T, actions []string) (out [][]string) {
	t.Helper()
	got, _ := answer(t, `{"actions":[`+strings.Join(actions, ",")+`,{"getSavedData":"got"}]}`, given{})
	if got["failures"] != nil || got["data"] == nil {
		t.Fatal(got)
	}
	for _, list := range got["data"].(map[string]any)["got"].([]any) {
		ns := []string{}
		for _, f := range list.([]any) {
			n, _ := f.(map[string]any)["n"].(string)
			ns = append(ns, n)
		}
		out = append(out, ns)
	}
	return out
}

// TestExpressionsOfSelectors: a regular expression in a selector matches what it matches
// elsewhere in the service.
func TestExpressionsOfSelectors(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(47, 2))
	texts := []string{"", "a", "ab", "ba", "aab b", "Ab-aB", "a_b 12", "äÄ b", "😀a", "a b", "ba ab aa"}
	for range 20 {
		texts = append(texts, strings.Join(strings.Fields(strings.Repeat(pick(r, "a", "b", "ab", "-")+pick(r, "", " ", "1"), 1+r.IntN(4))), " "))
	}
	var page strings.Builder
	page.WriteString(`<!doctype html><meta charset=utf-8><title>T</title>`)
	for i, text := range texts {
		fmt.Fprintf(&page, `<p data-n=%d>%s</p>`, i, text)
	}
	s := script{pages: map[string][]byte{"/page.html": []byte(page.String())}}
	base, _ := s.server(t)
	actions := []string{fmt.Sprintf(`{"open":"%s/page.html"}`, base)}
	type try struct{ expression, flags string }
	var tries []try
	for len(tries) < 60 {
		e := randomExpression(r, 3)
		if _, err := lang.CompileExpression(e, ""); err == nil {
			tries = append(tries, try{e, pick(r, "", "i", "s", "im")})
		}
	}
	for _, c := range tries {
		e, _ := json.Marshal(strings.ReplaceAll(c.expression, "$", "$$"))
		actions = append(actions, fmt.Sprintf(`{"extractAll":[{"selector":"p","hasText":{"regex":%s,"flags":%q}},{"n":["$this","data-n"]}],"options":{"push":"got","timeout":1}}`, e, c.flags))
	}
	for i, got := range pushed(t, actions) {
		flags := ""
		if tries[i].flags != "" {
			flags = "(?" + tries[i].flags + ")"
		}
		re := regexp.MustCompile(flags + tries[i].expression)
		want := []string{}
		for n, text := range texts {
			if re.MatchString(text) && text != "" {
				want = append(want, fmt.Sprint(n))
			}
		}
		got = slices.DeleteFunc(got, func(n string) bool { return n == "0" }) // it is empty, and counts where nothing else does
		if !slices.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", re, got, want)
		}
	}
}

func randomExpression(r *rand.Rand, depth int) string {
	if depth == 0 {
		return pick(r, "a", "b", ".", `\b`, `\B`, "^", "$", `\w`, `\s`, `\d`, "[^a]", "[a-c1]", "ä", `\pL`, "aa", "-", `[^\x00-\x7f]`)
	}
	x := func() string { return randomExpression(r, depth-1) }
	return pick(r, x()+x(), x()+x()+x(), "("+x()+"|"+x()+")", "(?:"+x()+")*", "(?:"+x()+")+?", "(?:"+x()+"){1,3}", "("+x()+")?"+x())
}
