package engine

import (
	"context"
	"fmt"
	"testing"
)

// copyingPage copies and pastes as pages' buttons do, and says what came of it.
const copyingPage = `<!doctype html><button id=copy>copy</button><button id=rich>copy with its form</button><button id=paste>paste</button><div id=to contenteditable>to</div><p id=said></p><input id=a value="hello world"><input id=b>
<script>const tell = (s) => { said.textContent = s }, refused = (e) => tell(e.name);
copy.onclick = () => navigator.clipboard.writeText('a text ü').then(() => tell('copied'), refused);
rich.onclick = () => navigator.clipboard.write([new ClipboardItem({'text/html': new Blob(['<b>bold</b>'], {type: 'text/html'}), 'text/plain': new Blob(['plain'], {type: 'text/plain'})})]).then(() => tell('copied'), refused);
paste.onclick = () => navigator.clipboard.readText().then((s) => tell('read ' + s), refused);
to.onpaste = (e) => { e.preventDefault(); const d = e.clipboardData; tell('pasted ' + (d.items.length || d.getData('text/plain') ? '' : 'nothing ') + d.getData('text/plain') + '|' + d.getData('text/html').replace(/^.*<body>|<!--.*?-->|<.body>.*$/gs, '')) };</script>`

// TestCopying: buttons and keys that copy do, what they have copied can be pasted by keys,
// no page reads it by itself, and nothing of it is there for the next task. The
// clipboard is the browser's, so that the test has one to itself.
func TestCopying(t *testing.T) {
	t.Parallel()
	counted(t)
	in := anyBrowser(t)
	defer in.Close()
	url := serve(t, copyingPage)
	for _, c := range []struct {
		actions, said string
	}{
		{`{"click":"#copy"},{"findByText":"copied"},{"press":["#to","Control+V"]},{"findByText":"pasted","options":{"exact":false}}`, "pasted a text ü|"},
		{`{"click":"#paste"},{"findByText":"NotAllowedError"}`, "NotAllowedError"},
		{`{"click":"#rich"},{"findByText":"copied"},{"press":["#to","Control+V"]},{"findByText":"pasted","options":{"exact":false}}`, "pasted plain|<b>bold</b>"},
		{`{"press":["#a","Control+a"]},{"press":["#a","Control+c"]},{"press":["#b","Control+v"]},{"evaluate":"said.textContent = b.value"}`, "hello world"},
	} {
		o := play(t, in, fmt.Sprintf(`{"config":{"continueOnError":false},"actions":[{"open":%q},%s,{"getText":"#said"}]}`, url, c.actions), TaskEnv{})
		if got, want := string(o.Data), fmt.Sprintf("%q", c.said); got != want {
			t.Errorf("the page says %s, want %s: %v", got, want, failuresOf(o))
		}
	}
	if err := in.Reset(context.Background()); err != nil {
		t.Fatal(err)
	}
	o := play(t, in, fmt.Sprintf(`{"config":{"continueOnError":false},"actions":[{"open":%q},{"press":["#to","Control+V"]},{"findByText":"pasted","options":{"exact":false}},{"evaluate":"return said.textContent"}]}`, url), TaskEnv{})
	if got := string(o.Data); got != `"pasted nothing |"` {
		t.Errorf("after a reset the page says %s: %v", got, failuresOf(o))
	}
}
