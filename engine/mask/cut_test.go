package mask

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCutsHideSecrets: wherever a text is cut, by us behind the mask or by
// somebody else before it, in whatever spelling, no more than three characters of
// a secret in a row are left.
func TestCutsHideSecrets(t *testing.T) {
	t.Parallel()
	const letters = `abcdeABC0123 +/"\&<>%=-_.~…–äöü漢😀`
	rnd := rand.New(rand.NewPCG(7, 11))
	some := func(n int) string {
		var b strings.Builder
		all := []rune(letters)
		for range n {
			b.WriteRune(all[rnd.IntN(len(all))])
		}
		return b.String()
	}
	for range 500 {
		var secrets []string
		for range 1 + rnd.IntN(3) {
			secrets = append(secrets, some(4+rnd.IntN(60)))
		}
		m := New(secrets)
		secret := secrets[rnd.IntN(len(secrets))]
		said := Spellings(secret)
		// What stands around it has nothing of it, so that what is left is of it.
		spelled, before, after := said[rnd.IntN(len(said))], strings.Repeat("#", rnd.IntN(80)), strings.Repeat("#", rnd.IntN(80))
		if len(spelled) < Least {
			continue
		}
		text := before + spelled + after
		units := []rune(text)
		n := rnd.IntN(len(units) + 1)
		k := n + rnd.IntN(len(units)+1-n)
		inJSON, err := json.Marshal(string(units[:n]) + ellipsis)
		if err != nil {
			t.Fatal(err)
		}
		for how, got := range map[string]string{
			"by Short":                 m.Text(text).Short(n).String(),
			"before the mask":          m.Text(string(units[:n]) + ellipsis).String(),
			"before it, in a sentence": m.Text(`{k: "` + string(units[:n]) + ellipsis + `", l: 1}`).String(),
			"without an ellipsis":      m.Cut(string(units[:n])).String(),
			"in the middle":            m.Text(string(units[:n]) + ellipsis + string(units[k:])).String(),
			"at its beginning":         m.Text(ellipsis + string(units[k:]) + "#").String(),
			"within a character":       m.Text(string(units[:n]) + half + ellipsis + half + string(units[k:])).String(),
			"in JSON":                  decoded(m.JSON(inJSON)),
			"twice":                    m.Text(m.Text(string(units[:n])+ellipsis).Short(max(1, n-2)).String() + "#").String(),
		} {
			if left := longest(got, spelled); utf8.RuneCountInString(left) > 3 {
				t.Fatalf("cut %s, %q of the secret %q in %q is left: %q", how, left, spelled, text, got)
			}
		}
	}
}

func decoded(b []byte) (s string) {
	_ = json.Unmarshal(b, &s) // a string is always JSON
	return s
}

// longest is the longest text that stands in both and is none of those that are
// written for a cut or a secret.
func longest(text, secret string) (found string) {
	all := []rune(secret)
	for i := range all {
		for j := i + 1; j <= len(all); j++ {
			part := string(all[i:j])
			if strings.Trim(part, `…*#"`+half) == "" {
				continue
			}
			if !strings.Contains(text, part) {
				break
			}
			if utf8.RuneCountInString(part) > utf8.RuneCountInString(found) {
				found = part
			}
		}
	}
	return found
}

// TestOverlapsAreMasked: of two secrets of which one begins in the other, nothing
// is left.
func TestOverlapsAreMasked(t *testing.T) {
	t.Parallel()
	m := New([]string{"xxabcd", "abcdefghijk", "jklm"})
	for in, want := range map[string]string{
		"-xxabcdefghijklm-": "-***-", "xxabcdxxabcd": "******", "-abcdefg…": "-***…", "…cdefghijk-": "…***-", "…hijk-…": "…***-…", "abc… ijk": "abc… ijk",
		"…hijklm": "…***", "abcdefghi…hijk": "***…***",
	} {
		if got := m.Text(in).String(); got != want {
			t.Errorf("%s is masked as %s, want %s", in, got, want)
		}
	}
}
