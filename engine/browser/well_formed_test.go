package browser

import (
	"encoding/json"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// TestWellFormed: half a pair becomes U+FFFD wherever it stands; all else stays byte for
// byte, and numbers keep their digits.
func TestWellFormed(t *testing.T) {
	for in, want := range map[string]string{
		`"\ud83d"`:                              `"�"`,
		`"a\ud83db"`:                            `"a�b"`,
		`"\ude00\ud83d"`:                        `"��"`,
		`"\ud83d\ud83d\ude00"`:                  `"�😀"`,
		`"\ud83d\n"`:                            `"�\n"`,
		`"\uD83D\u0041"`:                        `"�A"`,
		`{"\ud83d":1}`:                          `{"�":1}`,
		`{"\ud83d":1,"\ud83e":2,"�":3}`:         `{"�":1,"��":2,"���":3}`,
		`[{"a":{"\udc00":["\ud800"]}},1e400]`:   `[{"a":{"�":["�"]}},1e400]`,
		`[12345678901234567890.10,"\udfff",-0]`: `[12345678901234567890.10,"�",-0]`,
		`"\ud83d\ude00"`:                        `"\ud83d\ude00"`,
		`"\\ud83d"`:                             `"\\ud83d"`,
		`"\\\ud83d"`:                            `"\\�"`,
		`"😀"`:                                   `"😀"`,
		`{"a":"\u00e4\/"}`:                      `{"a":"\u00e4\/"}`,
		`"\ud83d`:                               `"\ud83d`, // which is no JSON
		``:                                      ``,
	} {
		if got := string(WellFormed([]byte(in))); got != want {
			t.Errorf("%s becomes %s, not %s", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOfN(rapid.SampledFrom([]string{`a`, `\ud83d`, `\ude00`, `\\`, `\"`, `\n`, `ä`, `😀`, `\u0041`, `\uDBFF`}), 0, 12)
		text := func(label string) string {
			s := `"`
			for _, u := range units.Draw(t, label) {
				s += u
			}
			return s + `"`
		}
		in := `{` + text("name") + `:[` + text("one") + `,` + text("two") + `,1.50]}`
		out := WellFormed([]byte(in))
		var loose, strict any
		if err := json.Unmarshal([]byte(in), &loose); err != nil {
			t.Fatal(err)
		}
		if err := jsonv2.Unmarshal(out, &strict, jsontext.AllowInvalidUTF8(false)); err != nil {
			t.Fatalf("%s became %s: %v", in, out, err)
		}
		a, _ := json.Marshal(loose)
		b, _ := json.Marshal(strict)
		if string(a) != string(b) {
			t.Fatalf("%s means %s, and became %s", in, a, b)
		}
	})
}
