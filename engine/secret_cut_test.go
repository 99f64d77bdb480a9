package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"troupe/engine/mask"
)

// pictures are those that a page has in itself.
var pictures = regexp.MustCompile(`data:image/[a-z]+;base64,(?:[A-Za-z0-9+/=]|&#\d+;)*`)

// TestCutTextsHideSecrets: texts of a page are cut by the browser, the page script
// and us, and file names are the page's. Wherever a secret stands across a cut, no
// more than three characters of it in a row get out.
func TestCutTextsHideSecrets(t *testing.T) {
	t.Parallel()
	counted(t)
	const secret, lines = `Zq7Xw9Kv2Mj5/p8Rn4Yb`, "Hb3 Fc6\nGd1 Lk0"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/hang") {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, `<input id=f><textarea id=t></textarea><select id=s></select><div id=box></div><a id=a href="data:,x">a</a>`)
	}))
	t.Cleanup(srv.Close)
	var mu sync.Mutex
	given := map[string]string{}
	var heard []StepReport
	st := TaskEnv{
		Secrets: []Secret{{Name: "one", Value: secret, Origins: []string{srv.URL}}, {Name: "two", Value: lines, Origins: []string{srv.URL}}},
		OnStep:  func(s StepReport) { heard = append(heard, s) },
		SaveFile: func(_ context.Context, f File, r io.Reader) (string, error) {
			b, err := io.ReadAll(r)
			mu.Lock()
			defer mu.Unlock()
			given[fmt.Sprintf("the name of file %d", len(given))] = f.Name
			if f.ContentType != "image/png" {
				given[fmt.Sprintf("file %d, %.40q", len(given), f.Name)] = pictures.ReplaceAllString(string(b), "") // four letters of any text are in a large one by chance
			}
			return "/files/x", err
		},
	}
	said := `const v=f.value, y=n=>'y'.repeat(n);alert(y(188)+v);console.log({k:y(40)+v+y(60), l:y(90)+v, m:v+y(200)});console.log([y(45)+v+y(45)]);
		const o=document.createElement('option');o.text=y(25)+v;s.append(o);box.id=y(80)+v;const c=document.createElement('p');c.className='c1 '+t.value+' c9 c10';document.body.append(c);
		history.replaceState('','','/'+y(165)+v);a.download=y(185)+v+'.txt';fetch('/hang'+y(80)+v).catch(()=>{});return 1`
	o := play(t, newInstance(t), `{"config":{"trace":"full","continueOnError":true,"actionTimeout":600,"onFailure":{"html":true,"console":true,"network":true}},"timeout":30000,"actions":[{"open":"`+srv.URL+`/"},
		{"fill":["#f","${secret:one}"]},{"fill":["#t","${secret:two}"]},{"evaluate":`+quoted(said)+`},
		{"selectOption":["#s","none"],"options":{"by":"text"}},{"check":"div"},{"check":"p"},{"find":"#nope"},{"findByText":"nope"},{"waitForEvent":"networkidle"},
		{"evaluate":"throw new Error('e'.repeat(980)+f.value)"},{"evaluate":"throw new Error(t.value)"},{"click":"a"},{"wait":200},{"evaluate":"a.download=f.value;a.click()"},{"wait":500},{"getText":"p"}]}`, st)
	all, err := json.Marshal([]any{o, heard})
	if err != nil {
		t.Fatal(err)
	}
	given["the outcome and the steps"] = string(all)
	for what, s := range given {
		for _, hide := range []string{secret, lines} {
			for i := range len(hide) - 3 {
				if part := hide[i : i+4]; strings.Contains(s, part) && !strings.Contains(part, "\n") {
					at := strings.Index(s, part)
					t.Errorf("%s: %q of a secret is left: …%s", what, part, s[max(0, at-60):min(len(s), at+60)])
				}
			}
		}
	}
	if n := len(o.Failures); n != 8 {
		t.Errorf("%d failures: %v", n, failuresOf(o))
	}
	names := 0
	for what, s := range given {
		if strings.HasPrefix(what, "the name") && strings.Contains(s, mask.Mark) {
			names++
		}
	}
	if names != 2 {
		t.Errorf("%d downloads have a masked name: %.3000q", names, given)
	}
}
