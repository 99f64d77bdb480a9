package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// TestReadsSeeTheNextFrame: what a browser does in the frame after a click is there when
// the next action reads. A dialog tells only then that it was closed.
func TestReadsSeeTheNextFrame(t *testing.T) {
	t.Parallel()
	at := serve(t, `<button id="open" onclick="document.querySelector('dialog').showModal()">open</button>
		<dialog><form method="dialog"><button id="done">done</button></form></dialog><p></p>
		<script>
			let n = 0;
			document.querySelector('dialog').onclose = () => { document.querySelector('p').textContent = ++n; };
		</script>`)
	in, _ := launch(t)
	list := `{"open":"` + at + `"}`
	var want []string
	for n := range 8 {
		list += `,{"click":"#open"},{"click":"#done"},{"getText":"p","options":{"push":"seen"}}`
		want = append(want, fmt.Sprint(n+1))
	}
	o := play(t, in, `{"actions":[`+list+`,{"getSavedData":"seen"}]}`, TaskEnv{})
	var got struct{ Seen []string }
	if err := json.Unmarshal(o.Data, &got); err != nil || !slices.Equal(got.Seen, want) {
		t.Errorf("%s %s, want %v", o.Data, failuresOf(o), want)
	}
}
