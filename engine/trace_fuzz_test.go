package engine

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// FuzzTracePage: whatever text of pages, clients and servers stands in a trace,
// it stays text. The page has no element that the builder did not put there,
// nothing in it runs, and nothing is fetched.
func FuzzTracePage(f *testing.F) {
	for _, s := range []string{
		"plain", `</pre><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `javascript:alert(1)`, "{{.Style}}", "<!--", "]]>", "\x00\xff\u2028",
		`</style><style>@import "//x"</style>`, `&lt;script&gt;`, `--><svg onload=alert(1)>`, `1" onclick="alert(1)`, "' style='background:url(//x)",
	} {
		f.Add(s, s, []byte(s), int64(len(s)), true)
	}
	shape := func(text, name string, still []byte, at int64, good bool) (all []string) {
		took := time.Duration(at)
		v := &traceView{
			Style: traceCSS, Task: text, Result: text, Error: text, Took: took, Good: good, Failed: int(at % 3), LeftScenes: int(at % 2),
			Warnings: []Warning{{Path: name, Message: text}},
			Stills:   []traceStill{stillOf(0, still)},
			Scenes: []traceScene{{N: 1, Path: name, Name: text, Iteration: name, Action: brief([]byte(text)), At: took, Took: took, Ended: true, Good: good,
				Result: text, Error: text, Code: name, Notes: []string{text, name}, Depth: int(at%4+4) % 4, Asks: 1, Said: 2}},
			Requests: []traceRequest{{NetworkLine: NetworkLine{At: at, Method: name, URL: text, Kind: name, Status: int(at), Error: text}, Scene: 1, Step: name, Took: text, Bad: good}},
			Messages: []ConsoleLine{{at, name, text, name, int(at)}},
		}
		v.Scenes[0].Before, v.Scenes[0].After = &v.Stills[0], &v.Stills[0]
		v.Stills[0].Scene = 1
		var b bytes.Buffer
		if err := tracePage.Execute(&b, v); err != nil {
			panic(err)
		}
		for z := html.NewTokenizer(&b); ; {
			switch z.Next() {
			case html.ErrorToken:
				return all
			case html.StartTagToken, html.SelfClosingTagToken:
				tag := z.Token()
				all = append(all, tag.Data)
				for _, a := range tag.Attr {
					all = append(all, tag.Data+" "+a.Key)
					switch value := strings.ToLower(strings.TrimSpace(a.Val)); {
					case strings.HasPrefix(a.Key, "on"):
						panic("an attribute runs: " + a.Key)
					case a.Key == "href" || a.Key == "xlink:href":
						if !strings.HasPrefix(value, "#") && !strings.HasPrefix(value, "data:image/jpeg;base64,") {
							panic("a link leads to " + value)
						}
					case a.Key == "src" || a.Key == "srcset" || a.Key == "style" && strings.Contains(value, "url("):
						panic("something is fetched: " + value)
					}
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, text, name string, still []byte, at int64, good bool) {
		at &= 1<<40 - 1
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("%v", p)
			}
		}()
		// The same with harmless text: only that may differ.
		plain := func(s string) string {
			if s == "" {
				return ""
			}
			return "x"
		}
		got, want := shape(text, name, still, at, good), shape(plain(text), plain(name), still, at, good)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%q and %q put elements into the page:\n%q\nwant\n%q", text, name, got, want)
		}
	})
}
