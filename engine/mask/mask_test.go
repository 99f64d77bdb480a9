package mask

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"
)

// The secret has everything in it that is spelled in another way somewhere.
const hidden = `p&s <w>"ö/+%1`

// TestMasking: what is spelled otherwise is masked too, and nothing else is.
func TestMasking(t *testing.T) {
	m := New([]string{"1234", "12345678", `a"b\c`})
	for in, want := range map[string]string{
		`"x1234y"`: `"x***y"`, `"12345678"`: `"***"`, `51234`: `"5***"`, `-123`: `-123`, `{"a1234":[1,{"b":"1234"}]}`: `{"a***":[1,{"b":"***"}]}`,
		`"a\"b\\c"`: `"***"`, `"{\"k\":\"a\\\"b\\\\c\"}"`: `"{\"k\":\"***\"}"`, `null`: `null`, `true`: `true`, `{"z":1,"a":"<&>"}`: `{"z":1,"a":"<&>"}`,
		`1e400`: `1e400`, `"\u0031234"`: `"***"`, `nonsense`: `"***"`,
	} {
		if got := string(m.JSON(json.RawMessage(in))); got != want {
			t.Errorf("%s is masked as %s, want %s", in, got, want)
		}
	}
	// In Base64 it may begin at each of three places, and nothing of it is left but
	// what a character shares with its neighbours.
	b := New([]string{"??>hunter2 of ada~~~"})
	for _, before := range []string{"", "a", "ab", "abc", "ada:"} {
		for _, after := range []string{"", "!", "!!", ":x"} {
			for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
				whole := e.EncodeToString([]byte(before + "??>hunter2 of ada~~~" + after))
				if got := b.Text("Basic " + whole).String(); len(got) > len("Basic ***")+len(before)+len(after)+6 || !strings.Contains(got, Mark) {
					t.Errorf("%s is masked as %s", whole, got)
				}
			}
		}
	}
	twice := New([]string{hidden})
	for _, s := range []string{
		"/login?next=" + url.QueryEscape("/?p="+url.QueryEscape(hidden)), "/?" + url.QueryEscape(`{"p":`+quoted(hidden)+`}`),
		html.EscapeString(quoted(hidden)), html.EscapeString(html.EscapeString(hidden)), quoted(quoted(hidden)), quoted("<b>" + html.EscapeString(hidden) + "</b>"),
	} {
		if got := twice.Text(s).String(); !strings.Contains(got, Mark) || strings.Contains(got, "w") {
			t.Errorf("%s is masked as %s", s, got)
		}
	}
	var none *Masker
	if got := none.Text("x").String(); got != "x" || string(none.JSON(json.RawMessage("nonsense"))) != "nonsense" {
		t.Error("without secrets something is masked")
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
