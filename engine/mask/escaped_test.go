package mask

import (
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestEscapesAreMasked: however a browser, a page or a server escapes a secret, nothing
// of it is left, wherever the text is cut.
func TestEscapesAreMasked(t *testing.T) {
	t.Parallel()
	escape := func(s, set, form string) string {
		var b strings.Builder
		for i := range len(s) {
			c := s[i]
			switch {
			case c == ' ' && set == "+":
				b.WriteByte('+')
			case c < ' ' || c > '~' || strings.IndexByte(set, c) >= 0:
				fmt.Fprintf(&b, form, c)
			default:
				b.WriteByte(c)
			}
		}
		return b.String()
	}
	for _, secret := range []string{"My pass/word9", `a&b "c"<d>`, "päß wörd", "p@ss:w?rd#1^{x}", "100% sure", "tab\there", `back\slash 7`, "it's+plus", "漢字 😀"} {
		m := New([]string{secret})
		said := map[string]string{}
		for name, set := range map[string]string{
			"fragment": " \"<>`", "query": " \"#<>", "query of http": " \"#<>'", "path": " \"#<>?`{}", "new path": " \"#<>?^`{}",
			"userinfo": " \"#<>?^`{}/:;=@[\\]|", "component": " \"#<>?^`{}/:;=@[\\]|$&+,%", "form": "+", "all": " abcdefghijklmnopqrstuvwxyzMP/",
		} {
			for _, form := range []string{"%%%02X", "%%%02x"} {
				e := escape(secret, set, form)
				said[name+form] = e
				said[name+form+" in HTML"] = html.EscapeString(e)
			}
		}
		said["in Markdown"] = regexp.MustCompile("[!-/:-@[-`{-~]").ReplaceAllString(secret, `\$0`)
		said["twice"] = url.QueryEscape(url.QueryEscape(secret))
		said["three times"] = url.QueryEscape(url.QueryEscape(url.QueryEscape(secret)))
		said["entities"] = html.EscapeString(html.EscapeString(secret))
		var dec, hex strings.Builder
		for _, c := range secret {
			fmt.Fprintf(&dec, "&#%d;", c)
			fmt.Fprintf(&hex, "&#x%x;", c)
		}
		said["decimal"], said["hexadecimal"] = dec.String(), hex.String()
		var ascii, js, python, everything, old, latin, twoSlashes strings.Builder
		for _, c := range secret {
			units := ""
			for _, u := range utf16.Encode([]rune{c}) {
				units += fmt.Sprintf(`\u%04x`, u)
			}
			everything.WriteString(units)
			twoSlashes.WriteString(strings.ReplaceAll(units, `\`, `\\`))
			old.WriteString(strings.ReplaceAll(units, `\`, "%"))
			switch {
			case c > '~':
				ascii.WriteString(units)
				fmt.Fprintf(&js, `\u{%x}`, c)
				fmt.Fprintf(&python, `\U%08x`, c)
			case c == '"' || c == '\\' || c == '/':
				ascii.WriteString(`\` + string(c))
				fmt.Fprintf(&js, `\x%02x`, c)
				python.WriteRune(c)
			case c == '\t':
				ascii.WriteString(`\t`)
				js.WriteString(`\t`)
				python.WriteString(`\t`)
			default:
				ascii.WriteRune(c)
				js.WriteRune(c)
				python.WriteRune(c)
			}
			switch {
			case c < ' ' || c > 0xff:
				fmt.Fprintf(&latin, "%%26%%23%d%%3B", c)
			case c > '~' || strings.ContainsRune(` "#<>&%+`, c):
				fmt.Fprintf(&latin, "%%%02X", c)
			default:
				latin.WriteRune(c)
			}
		}
		said["JSON in ASCII"], said["script"], said["Python"], said["JSON, all escaped"] = ascii.String(), js.String(), python.String(), everything.String()
		said["JSON in JSON, all escaped"], said["escape()"], said["a form in windows-1252"] = twoSlashes.String(), old.String(), latin.String()
		said["JSON in ASCII in an address"] = url.QueryEscape(ascii.String())
		said["CSS"] = strings.ReplaceAll(regexp.MustCompile("[ -/:-@[-`{-~]").ReplaceAllString(secret, `\$0`), "\t", `\9 `)
		// The address goes on in its fragment with another set.
		if before, after, ok := strings.Cut(secret, "#"); ok {
			said["over the fragment"] = escape(before, " \"#<>", "%%%02X") + "#" + escape(after, " \"<>`", "%%%02X")
		}
		for name, e := range said {
			if got := m.Text("http://a.test/?q=" + e + "&z=1").String(); got != "http://a.test/?q=***&z=1" {
				t.Errorf("%s: %q is masked as %q", name, e, got)
			}
			in, _ := json.Marshal([]string{"x" + e})
			if got := string(m.JSON(in)); got != `["x***"]` {
				t.Errorf("%s: %s is masked as %s", name, in, got)
			}
			for n := range len(e) {
				got := m.Text("#" + e[:n] + ellipsis).String()
				if left := strings.TrimSuffix(strings.TrimPrefix(got, "#"), ellipsis); !strings.Contains(left, Mark) && n > 36+12 {
					t.Errorf("%s, cut: %q of %q is left", name, left, e)
				}
			}
		}
	}
}

// TestMaskedJSONIsAsItWas: where something is masked, the rest of a value is what it was,
// in its order, and each name stays one of its object.
func TestMaskedJSONIsAsItWas(t *testing.T) {
	t.Parallel()
	m := New([]string{"1234", "secret"})
	for in, want := range map[string]string{
		`{ "z" : [ 1 , -2.50 , 1e400 , true , null ] , "a" : "secret" }`: `{"z":[1,-2.50,1e400,true,null],"a":"***"}`,
		`["\u0041\/\ud83d\ude00\n","secret"]`:                            `["A/😀\n","***"]`,
		`{"secret":1,"1234":2,"***":3}`:                                  `{"***":1,"***2":2,"***3":3}`,
		`{"***":1,"a":{"***":1,"secret":2},"secret":[{"secret":3}]}`:     `{"***":1,"a":{"***":1,"***2":2},"***2":[{"***":3}]}`,
		`[12341234,"\"secret\"",{"k:}":"secret"}]`:                       `["******","\"***\"",{"k:}":"***"}]`,
		`{"a"` + strings.Repeat(" ", 200) + `:"secret"}`:                 `{"a":"***"}`,
		`1 "secret"`: `"***"`, `["secret"`: `"***"`, "\"\xff\"": "\"\xff\"", `[]`: `[]`, ` "x" `: ` "x" `,
	} {
		if got := string(m.JSON(json.RawMessage(in))); got != want {
			t.Errorf("%s is masked as %s, want %s", in, got, want)
		}
	}
}

// value is a random JSON value with some secrets in it.
func value(rnd *rand.Rand, depth int) any {
	words := []string{"", "secret", "a secret b", "plain", "é\n\"\\<&>", "%73ecret", "12", "😀 "}
	switch k := rnd.IntN(8); {
	case k < 2 && depth > 0:
		list := []any{}
		for range rnd.IntN(4) {
			list = append(list, value(rnd, depth-1))
		}
		return list
	case k < 4 && depth > 0:
		object := map[string]any{}
		for i := range rnd.IntN(4) {
			object[fmt.Sprint(i, words[rnd.IntN(len(words))])] = value(rnd, depth-1)
		}
		return object
	case k == 4:
		return rnd.IntN(10000)
	case k == 5:
		return []any{nil, true, false, 1.5}[rnd.IntN(4)]
	}
	return words[rnd.IntN(len(words))]
}

// TestMaskingTokensIsMaskingATree: a value is masked as one that is decoded is.
func TestMaskingTokensIsMaskingATree(t *testing.T) {
	t.Parallel()
	m, rnd := New([]string{"secret", "1234"}), rand.New(rand.NewPCG(3, 5))
	var tree func(v any) any
	tree = func(v any) any {
		switch v := v.(type) {
		case string:
			return m.Text(v).String()
		case int:
			if s := fmt.Sprint(v); m.Text(s).String() != s {
				return m.Text(s).String()
			}
		case []any:
			for i := range v {
				v[i] = tree(v[i])
			}
		case map[string]any:
			own := map[string]any{}
			for k, e := range v {
				own[m.Text(k).String()] = tree(e)
			}
			return own
		}
		return v
	}
	for range 5000 {
		v := value(rnd, 4)
		in, _ := json.Marshal(v)
		var got any
		if err := json.Unmarshal(m.JSON(in), &got); err != nil {
			t.Fatal(err)
		}
		out, _ := json.Marshal(got)
		if want, _ := json.Marshal(tree(v)); string(out) != string(want) {
			t.Fatalf("%s is masked as %s, want %s", in, out, want)
		}
	}
}

func BenchmarkMaskJSON(b *testing.B) {
	m := New([]string{"hunter2 & more"})
	in := json.RawMessage(`[` + strings.Repeat(`{"name":"an apple + %41","price":1.25,"tags":["a","b\n"]},`, 14<<20/58) + `"x hunter2 & more"]`)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for range b.N {
		m.JSON(in)
	}
}
