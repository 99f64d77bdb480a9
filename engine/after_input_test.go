package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// TestReadsSeeTheNextFrame: what a page does in the frame after a click or a key is there
// when the next action reads.
func TestReadsSeeTheNextFrame(t *testing.T) {
	t.Parallel()
	at := serve(t, `<button>go</button><input><p>0</p><script>
		let n = 0;
		const later = () => requestAnimationFrame(() => { document.querySelector('p').textContent = ++n; });
		document.querySelector('button').onclick = later;
		document.querySelector('input').onkeydown = later;
	</script>`)
	in, _ := launch(t)
	list := `{"open":"` + at + `"}`
	var want []string
	for n := range 12 {
		does := `{"click":"button"}`
		if n%3 == 2 {
			does = `{"press":["input","x"]}`
		}
		list += `,` + does + `,{"getText":"p","options":{"push":"seen"}}`
		want = append(want, fmt.Sprint(n+1))
	}
	o := play(t, in, `{"actions":[`+list+`,{"getSavedData":"seen"}]}`, TaskEnv{})
	var got struct{ Seen []string }
	if err := json.Unmarshal(o.Data, &got); err != nil || !slices.Equal(got.Seen, want) {
		t.Errorf("%s %s, want %v", o.Data, failuresOf(o), want)
	}
}
