package browser

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp/jsonv2"
)

// FuzzReply: whatever comes from the page's process in place of an answer of the
// page script, it is read or refused, and what is read can be sent on as JSON.
func FuzzReply(f *testing.F) {
	for _, s := range []string{
		`{"v":{"x":1,"y":2}}`, `{"c":"element_not_found","e":"Element \"#a\" not found","w":["one"]}`, `{"n":true}`, `{"v":"\ud800"}`,
		`{"v":[[[[]]]],"v":1}`, `[]`, `null`, ``, `{"w":[1]}`, `{"v":1e999}`, "{\"v\":\"\xff\"}",
	} {
		quoted, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(quoted)
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Reply
		if err := readReply(new(pending), jsonv2.Value(b), &r); err != nil {
			return
		}
		if len(r.Value) > 0 && !json.Valid(r.Value) {
			t.Errorf("the value is no JSON: %q", r.Value)
		}
		for _, s := range append(r.Warnings, r.Code, r.Error) {
			if !utf8.ValidString(s) {
				t.Errorf("a text is not UTF-8: %q", s)
			}
		}
		if n := len(r.Value) + len(r.Error) + len(strings.Join(r.Warnings, "")); n > 3*len(b) {
			t.Errorf("%d bytes became %d", len(b), n)
		}
	})
}
