package engine

import (
	"encoding/json"
	"flag"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
)

var restless = flag.Int("restless", 0, "how many random pages TestNoSuccessWithoutEffectOnRestlessPages fills, in place of its usual number")

// restlessPage has one field of ?kind, to which ?what happens when it holds ?at
// characters, or ?at milliseconds after its first one (?timed), as often as ?again says.
// That is done by each of its documents, but not by the one with ?calm.
const restlessPage = `<!doctype html><style>#box{height:60px}#f{display:block;width:400px}p{min-height:20px;margin:0}</style><div id=box></div><form id=form onsubmit="return false"><input id=other><button id=b>b</button><select id=sel><option>a<option>b</select></form>
<div id=ed2 contenteditable></div><dialog id=dialog><input id=asked></dialog><iframe id=fr srcdoc="<input id=in>" height=40></iframe><script>
const q = new URLSearchParams(location.search), kind = q.get('kind'), what = q.get('what'), at = Number(q.get('at')), calm = q.has('calm')
let times = calm ? 0 : Number(q.get('again') || 1), begun = false
let box = document.getElementById('box'), root = document; const outer = box
const put = (html) => { box.innerHTML = html; return root.querySelector('#f') }
if (kind === 'shadow') { root = box.attachShadow({ mode: 'open' }); root.innerHTML = '<div></div>'; box = root.firstChild }
let held = () => root.querySelector('#f').value ?? root.querySelector('#f').textContent
const chars = (f) => (f.value ?? f.textContent).length
const draw = (old) => {
  const tag = { area: '<textarea id=f></textarea>', edited: '<div id=f contenteditable></div>', number: '<input id=f type=number>', password: '<input id=f type=password>', search: '<input id=f type=search role=combobox>', late: '<input id=f disabled>' }[kind] || '<input id=f>'
  if (kind === 'model' || kind === 'redrawn' || kind === 'behind') return editors[kind](old)
  const f = put(tag); if (old && f.value !== undefined) f.value = old; else if (old) f.textContent = old
  if (kind === 'late') setTimeout(() => { f.disabled = false }, 80)
  if (kind === 'controlled') { f.addEventListener('input', () => { const v = f.value; queueMicrotask(() => { f.value = v }) }) }
  f.addEventListener('input', () => happens(f, chars(f)))
  return f
}
const editors = {
  // An editor that keeps its text itself: nothing that is typed goes into the document but by it.
  model(old) {
    let text = old || ''; const f = put('<div id=f contenteditable role=textbox></div>')
    const show = () => { f.textContent = text; const s = getSelection(); s.selectAllChildren(f); s.collapseToEnd() }
    f.addEventListener('beforeinput', (e) => { e.preventDefault(); const all = getSelection().toString() === f.textContent && text !== ''
      if (e.inputType.startsWith('delete')) text = all ? '' : text.slice(0, -1); else if (/^insert(Text|FromPaste|ReplacementText)/.test(e.inputType)) text = (all ? '' : text) + (e.data ?? e.dataTransfer.getData('text/plain')); else if (/Paragraph|LineBreak/.test(e.inputType)) text += '\n'
      show(); happens(f, text.length) })
    show(); held = () => text; return f
  },
  // One that draws all of its paragraphs anew after each change.
  redrawn(old) {
    const f = put('<div id=f contenteditable><p></p></div>'); f.firstChild.textContent = old || ''
    f.addEventListener('input', () => { const text = f.textContent; requestAnimationFrame(() => { if (f.textContent !== text || !f.isConnected) return; f.innerHTML = '<p></p>'; f.firstChild.textContent = text; const s = getSelection(); s.selectAllChildren(f.firstChild); s.collapseToEnd() }); happens(f, text.length) })
    held = () => f.textContent; return f
  },
  // One that draws its text, and has a field that nobody sees for the keys.
  behind(old) {
    let text = old || ''; const f = put('<div id=view style="min-height:20px;border:1px solid"></div><textarea id=f style="position:absolute;opacity:0;width:1px;height:1px"></textarea>'), view = root.querySelector('#view')
    view.onclick = () => f.focus()
    f.addEventListener('keydown', (e) => { if (e.key === 'Backspace') text = f.dataset.all ? '' : text.slice(0, -1); if (e.ctrlKey && e.key === 'a') f.dataset.all = 1; else delete f.dataset.all; view.textContent = text })
    f.addEventListener('input', () => { text += f.value; f.value = ''; view.textContent = text; happens(f, text.length) })
    held = () => text; return f
  },
}
let later = 0
const happens = (f, n) => {
  if (q.has('timed')) { if (!begun && times > 0) { begun = true; setTimeout(() => act(f), at) } return }
  if (n >= at && times > 0) { if (q.has('micro')) queueMicrotask(() => act(f)); else act(f) }
}
const go = (to) => { const u = new URL(location.href); u.searchParams.set('calm', 1); if (to) u.searchParams.set('delay', to); return u.href }
const act = (f) => {
  if (times-- <= 0) return
  if (q.has('timed') && times > 0) setTimeout(() => act(f), at)
  const old = held(); sessionStorage.had = (sessionStorage.had || '') + '|' + old
  ;({
    none() {}, other() { other.focus() }, button() { b.focus() }, select() { sel.focus() }, edited() { ed2.focus() }, blur() { (root.activeElement || document.activeElement).blur() },
    frame() { fr.contentDocument.getElementById('in').focus() }, modal() { dialog.showModal(); setTimeout(() => dialog.close(), 120) }, popover() { dialog.show(); asked.focus() },
    inert() { outer.inert = true; setTimeout(() => { outer.inert = false }, 60) }, disabled() { f.disabled = true; setTimeout(() => { f.disabled = false }, 60) }, readonly() { f.readOnly = true; setTimeout(() => { f.readOnly = false }, 60) },
    marked() { f.select?.() }, start() { f.setSelectionRange?.(0, 0) }, hidden() { outer.style.display = 'none'; setTimeout(() => { outer.style.display = '' }, 60) },
    anew() { draw(old) }, empty() { draw('') }, moved() { const to = document.createElement('div'); document.body.append(to); to.append(outer) }, moves() { document.body.append(outer) },
    cleared() { if (f.value !== undefined) f.value = ''; else f.textContent = '' },
    replaced() { location = go() }, slow() { location = go(250) }, reload() { history.replaceState(0, '', go()); location.reload() }, written() { const v = kind; document.open(); document.write('<title>anew</title><div style="height:20px"></div>' + (v === 'area' ? '<textarea id=f></textarea>' : v === 'edited' ? '<div id=f contenteditable style="min-height:20px"></div>' : '<div id=box><input id=f></div>')); document.close(); held = () => document.querySelector('#f').value ?? document.querySelector('#f').textContent; window.held_ = () => [held(), sessionStorage.had || '', ''] },
    pushed() { history.pushState(0, '', go()); draw('') }, kept() { history.pushState(0, '', '#x'); draw(old) }, framed() { fr.src = go() + '&frame=1' },
  })[what]()
}
addEventListener('pagehide', () => { if (!calm && document.title !== 'anew') sessionStorage.had = (sessionStorage.had || '') + '|' + held() })
window.held_ = () => [held(), sessionStorage.had || '', [other.value, ed2.textContent, asked.value, fr.contentDocument?.getElementById('in')?.value || '', sel.value].join('')]
draw('')
</script>`

// restlessServer serves a page under every address, late where that says so.
func restlessServer(t *testing.T, page string) string {
	t.Helper()
	counted(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ms, err := strconv.Atoi(r.URL.Query().Get("delay")); err == nil {
			select {
			case <-time.After(time.Duration(ms) * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte(page))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestNoSuccessWithoutEffectOnRestlessPages fills fields and editors of pages that move
// the focus, draw the field anew or replace the document while keys are still to come. A
// success without a warning means that the field holds the text, and nothing else has any
// of it. A warning says what the field holds. A failure means that it holds something else.
func TestNoSuccessWithoutEffectOnRestlessPages(t *testing.T) {
	t.Parallel()
	url, in := restlessServer(t, restlessPage), newInstance(t)
	kinds := []string{"text", "text", "area", "edited", "number", "password", "search", "late", "controlled", "shadow", "model", "redrawn", "behind"}
	whats := []string{"other", "button", "select", "edited", "blur", "frame", "modal", "popover", "inert", "disabled", "readonly", "marked", "start", "hidden", "anew", "empty", "moved", "moves", "cleared", "replaced", "slow", "reload", "written", "pushed", "kept", "framed"}
	n := len(whats)
	if need.AllAsked() {
		n *= 2
	}
	if *restless > 0 {
		n = *restless
	}
	for i := range n {
		rng := mathrand.New(mathrand.NewPCG(uint64(i), 47))
		kind, what := kinds[rng.IntN(len(kinds))], whats[i%len(whats)]
		length := []int{2, 12, 20, 160}[rng.IntN(4)]
		text := strings.Repeat("abcdefghij", 16)[:length]
		if kind == "number" {
			text = strings.Repeat("1234567891", 2)[:min(length, 15)]
		}
		address := fmt.Sprintf("%s/?kind=%s&what=%s&at=%d&again=%d", url, kind, what, 1+rng.IntN(len(text)), []int{1, 1, 2, 4}[rng.IntN(4)])
		switch rng.IntN(3) {
		case 0:
			address += "&micro=1"
		case 1:
			address += "&timed=1"
		}
		target := "#f"
		if kind == "behind" {
			target = "#box"
		}
		o := play(t, in, fmt.Sprintf(`{"timeout":60000,"actions":[{"open":%q},{"fill":[%q,%q],"options":{"timeout":6000}},{"wait":150},{"evaluate":"return held_()"}]}`, address, target, text), TaskEnv{})
		var held []string
		if err := json.Unmarshal(o.Data, &held); err != nil || len(held) != 3 {
			t.Errorf("page %d, %s: %s, %v, %v", i, address, o.Data, err, failuresOf(o))
			continue
		}
		failed, warned := "", ""
		for _, f := range o.Failures {
			failed += f.Text
		}
		for _, w := range o.Warnings {
			warned += w.Message
		}
		got, strays := held[0], strings.TrimSuffix(held[2], "a")
		if slices.Contains(strings.Split(held[1], "|"), text) { // the page has had all of it before it did that
			got = text
		}
		says := func(s string) bool {
			return kind == "behind" && strings.Contains(warned, "was drawn anew") || strings.Contains(warned, fmt.Sprintf("%q", s)) || kind == "password" && strings.Contains(warned, "***")
		}
		switch {
		case failed != "" && held[0] == text:
			t.Errorf("page %d, %s: the field holds the text, and yet: %s", i, address, failed)
		case failed != "":
			t.Logf("page %d, %s: %q, %s", i, address, got, failed)
		case got != text && !says(got):
			t.Errorf("page %d, %s: a success with the warning %q, and the field holds %q and held %q before, others %q", i, address, warned, got, held[1], strays)
		case strays != "" && !strings.Contains(warned, strays):
			t.Errorf("page %d, %s: a success with the warning %q, and others hold %q", i, address, warned, strays)
		case warned != "":
			t.Logf("page %d, %s: %s", i, address, warned)
		}
	}
}

// filesPage takes files in one of several ways, and keeps what came first in got.
const filesPage = `<!doctype html><style>#zone{height:80px;border:1px solid}</style><div id=box></div><script>
const q = new URLSearchParams(location.search), kind = q.get('kind'), way = q.get('way'), then = q.get('then')
window.got = []
const took = (list) => { if (!got.length) got = [...list].map((f) => (f.webkitRelativePath || f.name) + f.size) }
const input = () => {
  const i = document.createElement('input'); i.type = 'file'; i.id = 'i'
  if (kind !== 'one') i.multiple = kind !== 'folder'; if (kind.startsWith('folder')) i.webkitdirectory = true; if (kind === 'accepts') i.accept = '.pdf'
  if (way !== 'input') i.style.display = 'none'
  i.onchange = () => { if (then !== 'late') took(i.files); ({ nothing() {}, empties() { i.value = '' }, anew() { i.replaceWith(input()) }, removed() { i.remove() }, disabled() { i.disabled = true },
    first() { const d = new DataTransfer(); if (i.files[0]) d.items.add(i.files[0]); i.files = d.files; got = [...i.files].map((f) => f.name) }, late() { setTimeout(() => took(i.files), 30) }, leaves() { sessionStorage.got = JSON.stringify(got); location = '?kind=' + kind + '&way=' + way + '&then=nothing&done=1' } })[then]() }
  return i
}
let i = input()
if (q.has('done')) got = JSON.parse(sessionStorage.got)
if (way === 'made') { box.innerHTML = '<button id=b>Choose</button>'; b.onclick = () => { i = input(); i.click() } }
else if (way === 'button') { box.innerHTML = '<button id=b>Choose</button>'; box.append(i); b.onclick = () => document.getElementById('i').click() }
else if (way === 'label') { box.innerHTML = '<label id=b for=i>Choose</label>'; box.append(i) }
else if (way === 'around') { box.innerHTML = '<div id=b>Choose </div>'; b.append(i) }
else if (way === 'shadow') { const s = box.attachShadow({ mode: 'open' }); s.append(i); i.style.display = ''; i.id = 'b' }
else { i.id = 'b'; box.append(i) }
</script>`

// TestNoSuccessWithoutEffectOfFiles gives files to inputs of all kinds, for folders too: a
// success means that the page has got each of them.
func TestNoSuccessWithoutEffectOfFiles(t *testing.T) {
	t.Parallel()
	url, in := serve(t, filesPage), newInstance(t)
	var files []Upload
	for _, name := range []string{"a.txt", "b.txt", "a.txt"} {
		path := filepath.Join(t.TempDir(), "upload")
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, Upload{Name: name, Path: path, Size: int64(len(name))})
	}
	n, ways, thens := 0, []string{"input", "button", "label", "around", "shadow", "made"}, []string{"nothing", "empties", "anew", "removed", "disabled", "first", "late", "leaves"}
	for k, kind := range []string{"one", "many", "folder", "folderMany", "accepts"} {
		for w, way := range ways {
			for th, then := range thens {
				if !need.AllAsked() && (k+w+th)%6 != 0 {
					continue
				}
				n++
				count := 1 + (k+w+th)%3
				if kind == "one" {
					count = 1
				}
				sources := []string{`"$file:0"`, `"$file:1"`, `"$file:2"`}[:count]
				body := fmt.Sprintf(`{"actions":[{"open":"%s/?kind=%s&way=%s&then=%s"},{"uploadFile":["#b",[%s]],"options":{"timeout":3000}},{"wait":60},{"evaluate":"return got"}]}`, url, kind, way, then, strings.Join(sources, ","))
				task, err := Parse([]byte(body), files)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := contextFor(30 * time.Second)
				o := in.Play(ctx, task, TaskEnv{})
				cancel()
				var got []string
				if err := json.Unmarshal(o.Data, &got); err != nil {
					t.Errorf("%s: %s, %v", body, o.Data, failuresOf(o))
					continue
				}
				switch {
				case then == "first" && (way == "button" || way == "made"): // the browser gives the files to what it has asked for
				case len(o.Failures) == 0 && len(got) < count && !slices.ContainsFunc(o.Warnings, func(w Warning) bool { return strings.Contains(w.Message, "has kept 1 of") }):
					t.Errorf("%s %s %s: a success, and the page has %q of %d", kind, way, then, got, count)
				case len(o.Failures) > 0 && len(got) >= count:
					t.Errorf("%s %s %s: the page has %q, and yet %v", kind, way, then, got, failuresOf(o))
				}
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d pages were tried", n)
	}
}
