package engine

import (
	"fmt"
	"testing"
)

// TestNothingStaysDown: buttons and keys that a list holds are let go when it is over,
// however it ends, and the next list of the session holds nothing.
func TestNothingStaysDown(t *testing.T) {
	t.Parallel()
	s := script{pages: map[string][]byte{"/": []byte(`<!doctype html><title>T</title><body style="margin:0;height:500px"><script>window.log = [];
		for (const t of ['mouseup', 'keyup', 'click']) addEventListener(t, (e) => log.push([t, e.button ?? e.key, e.buttons ?? '', e.shiftKey].join()))</script>`)}}
	base, _ := s.server(t)
	for how, last := range map[string]string{"whole": `{"wait":1}`, "stopped": `{"click":"#none","options":{"timeout":50}}`, "cut off": `{"wait":5000}`} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			in := newInstance(t)
			limit := 20000
			if how == "cut off" {
				limit = 3000
			}
			play(t, in, fmt.Sprintf(`{"actions":[{"open":"%s/"},{"mouse":{"down":[20,70]}},{"mouse":{"down":[30,70]},"options":{"button":"right"}},{"keyDown":"Shift"},{"keyDown":"x"},%s],"config":{"continueOnError":false},"timeout":%d}`, base, last, limit), TaskEnv{})
			o := play(t, in, `{"actions":[{"evaluate":"return log"},{"mouse":{"click":[20,70]}},{"evaluate":"return [log.filter((l) => /up/.test(l)), log.at(-1)]"}]}`, TaskEnv{})
			const want = `[["mouseup,0,2,true","mouseup,2,0,true","keyup,X,,true","keyup,Shift,,false","mouseup,0,0,false"],"click,0,0,false"]`
			if string(o.Data) != want {
				t.Errorf("%s, want %s (%v)", o.Data, want, o.Failures)
			}
		})
	}
}
