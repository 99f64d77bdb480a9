package engine

import (
	"encoding/json"
	"testing"
)

// TestNothingWaitsForAFrame: after a click, a page handles what else it has to do before it
// draws its next frame. Frames come every 16 ms, so one may come first now and then.
func TestNothingWaitsForAFrame(t *testing.T) {
	t.Parallel()
	const clicks = 12
	at := serve(t, `<button>go</button><script>
		const first = [];
		document.querySelector('button').onclick = () => {
			let done;
			const say = (what) => { if (!done) { done = first.push(what); } };
			requestAnimationFrame(() => say('frame'));
			const c = new MessageChannel();
			c.port1.onmessage = () => say('message');
			c.port2.postMessage(1);
		};
	</script>`)
	in, _ := launch(t)
	list := `{"open":"` + at + `"}`
	for range clicks {
		list += `,{"click":"button"}`
	}
	o := play(t, in, `{"actions":[`+list+`,{"wait":100},{"evaluate":"return first"}]}`, TaskEnv{})
	var first []string
	if err := json.Unmarshal(o.Data, &first); err != nil || len(first) != clicks {
		t.Fatalf("%s %s", o.Data, failuresOf(o))
	}
	messages := 0
	for _, what := range first {
		if what == "message" {
			messages++
		}
	}
	if messages < clicks/2 {
		t.Errorf("a message came before the next frame %d times of %d: %v", messages, clicks, first)
	}
}
