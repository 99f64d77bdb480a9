package engine

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/testkit/need"
)

// TestCacheHasALimit: a task cannot keep more and more.
func TestCacheHasALimit(t *testing.T) {
	need.NoRace(t)
	in := newInstance(t)
	o := play(t, in, `{"timeout":300000,"config":{"continueOnError":true},"actions":[{"loop":{"repeat":6,"do":[{"evaluate":"return 'x'.repeat(15<<20)","options":{"push":"all"}}]}},{"evaluate":"return 1"}]}`, TaskEnv{})
	failsWith(CodeInvalidValue, CodeInvalidValue, CodeInvalidValue)(t, o) // the fifth and the sixth, and all of it as a result
	for _, f := range o.Failures[:2] {
		if !strings.Contains(f.Text, fmt.Sprint(4*MaxResult)) {
			t.Errorf("%s does not name the limit", f.Text)
		}
	}
}

// TestLargeDownloadsAreCancelled: a file without end is neither kept nor
// fetched any further.
func TestLargeDownloadsAreCancelled(t *testing.T) {
	var sent atomic.Int64
	over := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/over":
			select {
			case <-over:
			case <-r.Context().Done():
			}
			return
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a id=a href=/file>get it</a>`)
			return
		}
		defer close(over)
		w.Header().Set("Content-Disposition", `attachment; filename="large.bin"`)
		for b := make([]byte, 1<<20); sent.Load() < 5<<30; sent.Add(int64(len(b))) {
			if _, err := w.Write(b); err != nil {
				return
			}
			time.Sleep(4 * time.Millisecond) // as fast a line as there is; memory is faster than any
		}
	}))
	t.Cleanup(srv.Close)
	files := &kept{}
	o := play(t, newInstance(t), fmt.Sprintf(`{"config":{"trace":true,"continueOnError":true},"timeout":50000,"actions":[{"open":"%s/"},{"click":"#a"},{"evaluate":"await fetch('/over')","options":{"timeout":45000}},{"getText":"#a"}]}`, srv.URL), TaskEnv{SaveFile: files.save})
	if string(o.Data) != `"get it"` {
		t.Errorf("the page is gone: %s %v", o.Data, failuresOf(o))
	}
	var notes []string
	for _, s := range o.Steps {
		notes = append(notes, s.Notes...)
	}
	if !strings.Contains(strings.Join(notes, "\n"), "larger than 100 MiB") {
		t.Errorf("the trace notes %q", notes)
	}
	if n := sent.Load(); n < 100<<20 || n >= 1<<30 {
		t.Errorf("%d MiB were sent", n>>20)
	}
}
