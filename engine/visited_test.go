package engine

import (
	"strings"
	"testing"
)

// TestWhereATaskHasBeen: an outcome says what was opened first and which page was there last, with
// its title and status, and how many steps have ended. A secret in an address is masked.
func TestWhereATaskHasBeen(t *testing.T) {
	in := newInstance(t)
	site := serve(t, `<title>Lamps</title><p>a</p>`)
	st := TaskEnv{Secrets: []Secret{{Name: "key", Value: "hunter-two"}}}
	if out := play(t, in, `{"actions":[{"set":{"a":1}}]}`, st); out.Visited() != nil || out.Done != 1 {
		t.Errorf("without a page: %+v, %d steps", out.Visited(), out.Done)
	}
	out := play(t, in, `{"config":{"trace":true},"actions":[{"open":"`+site+`/?k=hunter-two"},{"getText":"#gone","options":{"timeout":1}},{"open":"`+site+`/last"},{"getText":"p"}]}`, st)
	v := out.Visited()
	if v == nil || strings.Contains(v.First, "hunter") || !strings.HasPrefix(v.First, site+"/?k=") || v.URL != site+"/last" || v.Title != "Lamps" || v.Status != 200 || out.Done != 4 {
		t.Errorf("%+v, %d steps", v, out.Done)
	}
}
