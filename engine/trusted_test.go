package engine

import (
	"encoding/json"
	"fmt"
	"testing"
)

// trustedPage keeps every event of input that reaches it, with whether it is
// trusted and what it hit.
const trustedPage = `<!doctype html><title>T</title><style>button,input,label{margin:6px}</style>
<button id=b>button</button><input id=text value=old><textarea id=area></textarea><div id=edit contenteditable>x</div>
<label id=label><input type=checkbox id=box> box</label><input type=checkbox id=on checked><div id=switch role=switch aria-checked=false tabindex=0>switch</div>
<div id=host></div><iframe id=f srcdoc="<button id=fb>framed</button><input id=ft>" width=300 height=120></iframe>
<script>var seen=[];const types='pointerover pointerenter pointermove pointerdown pointerup pointerout mouseover mouseenter mousemove mousedown mouseup mouseout click dblclick keydown keypress keyup beforeinput input change focus focusin blur'.split(' ');
const watch=(w,where)=>{for(const t of types)w.addEventListener(t,e=>seen.push([t,e.isTrusted,where+(e.composedPath()[0].id||'')]),true)};watch(window,'');
// These do not pass through the window.
for(const t of ['mouseenter','pointerenter'])document.getElementById('b').addEventListener(t,e=>seen.push([t,e.isTrusted,'b']));
document.getElementById('switch').onclick=e=>e.target.setAttribute('aria-checked',e.target.getAttribute('aria-checked')!='true');
host.attachShadow({mode:'open'}).innerHTML='<button id=sb>shadow</button>';
f.onload=()=>watch(f.contentWindow,'f:')</script>`

// TestInputIsTrusted records every event that each action causes: all of them
// must be the browser's own, and those that a hand would cause must be there.
func TestInputIsTrusted(t *testing.T) {
	t.Parallel()
	url := serve(t, trustedPage)
	in := newInstance(t)
	pointer := []string{"pointermove", "mousemove", "pointerdown", "mousedown", "pointerup", "mouseup", "click"}
	over := []string{"pointerover", "mouseover", "mouseenter", "mousemove"}
	for _, c := range []struct {
		name, action, on string
		events           []string
	}{
		{"click", `{"click":"#b"}`, "b", pointer},
		{"click in a shadow root", `{"click":"#sb"}`, "sb", pointer},
		{"click in a frame", `{"click":"#fb","options":{"iframe":"#f"}}`, "f:fb", pointer},
		{"clickHuman", `{"clickHuman":"#b"}`, "b", append(over, pointer...)},
		{"hover", `{"hover":"#b"}`, "b", over},
		{"hoverHuman", `{"hoverHuman":"#b","options":{"mode":"fast"}}`, "b", over},
		{"fill", `{"fill":["#text","Ab ü"]}`, "text", []string{"focus", "keydown", "keypress", "beforeinput", "input", "keyup"}},
		{"fill a textarea", `{"fill":["#area","a\nb"]}`, "area", []string{"focus", "keydown", "beforeinput", "input", "keyup"}},
		{"fill what is editable", `{"fill":["#edit","new"]}`, "edit", []string{"focus", "keydown", "beforeinput", "input", "keyup"}},
		{"fill in a frame", `{"fill":["#ft","hi"],"options":{"iframe":"#f"}}`, "f:ft", []string{"focus", "keydown", "input", "keyup"}},
		{"press", `{"press":["#text","Control+A"]}`, "text", []string{"focus", "keydown", "keyup"}},
		{"check", `{"check":"#box"}`, "box", append(pointer, "input", "change")},
		{"check by its label", `{"check":"#label"}`, "box", []string{"click", "input", "change"}},
		{"check a switch", `{"check":"#switch"}`, "switch", pointer},
		{"uncheck", `{"uncheck":"#on"}`, "on", append(pointer, "input", "change")},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := play(t, in, fmt.Sprintf(`{"actions":[{"open":%q},{"find":"#fb","options":{"iframe":"#f"}},{"hover":"#area"},{"evaluate":"seen.length=0"},%s,{"evaluate":"return seen"}]}`, url, c.action), TaskEnv{})
			if len(o.Failures)+len(o.Warnings) > 0 {
				t.Fatal(failuresOf(o), o.Warnings)
			}
			var seen [][3]any
			if err := json.Unmarshal(o.Data, &seen); err != nil {
				t.Fatal(err)
			}
			there := map[string]bool{}
			for _, e := range seen {
				if e[1] != true {
					t.Errorf("%v on %v is not trusted", e[0], e[2])
				}
				if e[2] == c.on {
					there[e[0].(string)] = true
				}
			}
			for _, want := range c.events {
				if !there[want] {
					t.Errorf("there was no %s on %s: %v", want, c.on, seen)
				}
			}
		})
	}
}
