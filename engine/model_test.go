package engine

import (
	"encoding/json"
	"flag"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"testing"
)

var lists = flag.Int("lists", 24, "how many random lists TestNoSuccessWithoutEffect plays")

// modelPage has a form of fields of all kinds. Each says by value what it holds,
// whatever it is made of.
const modelPage = `<!doctype html><style>body{margin:0}#bar{position:fixed;left:0;right:0;bottom:0;height:50vh;background:#ccc}#head{position:sticky;top:0;height:15vh;background:#eee}#scrolled{height:120px;overflow:auto}#scrolled p{position:sticky;top:0;height:50px;margin:0;background:#fff}#styled{position:absolute;opacity:0}</style><div id=head>head</div><div style="height:300px"></div>
<input id=text value=old><p><input id=number type=number><p><input id=date type=date><p><textarea id=area>old</textarea><p><div id=edited contenteditable>old</div><p><input id=max maxlength=4><p><input id=upper><p><input id=digits>
<p><input id=late disabled><p><div id=state></div><p><div id=anew></div><p><x-field id=own></x-field><p><input id=picky><p><div contenteditable>e <input id=inside></div><p><input id=readonly readonly>
<p><select id=select><option>a<option>b<option>c</select><p><select id=stubborn><option>a<option>b<option>c</select><p><input type=checkbox id=box><p><input type=radio name=r id=radio><p><div id=drawn></div><p><input id=phone><p><input id=card><p><input id=cents inputmode=decimal><p><input id=trim><p><select id=many multiple><option>a<option>b<option>c</select><p><select id=two multiple><option>a<option>b<option>c</select>
<p><input type=checkbox id=on checked><p><input type=checkbox id=styled><label for=styled>Styled</label><p><input type=checkbox id=refuses><p><div id=scrolled><p>sticky<div style="height:200px"></div><input id=deep><div style="height:200px"></div></div><div style="height:2000px"></div><div id=bar>cookies</div><script>
upper.oninput = () => { upper.value = upper.value.toUpperCase() }
digits.onbeforeinput = (e) => { if (e.data && /\D/.test(e.data)) e.preventDefault() }
const masked = (el, f) => { el.oninput = () => { el.value = f(el.value) } }
masked(phone, (v) => { const d = v.replace(/\D/g, '').slice(0, 9); return d && '(' + d.slice(0, 2) + (d.length > 2 ? ') ' + d.slice(2) : '') })
masked(card, (v) => v.replace(/\D/g, '').slice(0, 16).replace(/(.{4})(?=.)/g, '$1 '))
masked(cents, (v) => { const d = v.replace(/\D/g, ''); return d && (d / 100).toFixed(2) })
trim.onkeyup = () => { trim.value = trim.value.replace(/\s+/g, '') }
two.onchange = () => { for (const o of [...two.selectedOptions].slice(2)) o.selected = false }
refuses.onclick = (e) => e.preventDefault()
picky.oninput = () => { picky.value = '' }
stubborn.onchange = () => { stubborn.value = 'a' }
setTimeout(() => { late.disabled = false; drawn.innerHTML = '<input id=later>' }, 150)
let held = ''; const draw = () => { let i = state.firstChild; if (!i) { state.innerHTML = '<input>'; i = state.firstChild; i.oninput = () => { held = i.value; Promise.resolve().then(draw) } } i.value = held }; draw()
const again = (v) => { anew.innerHTML = '<input>'; const i = anew.firstChild; i.value = v; let first = true; i.onfocus = () => { if (!window.focused) { window.focused = true; setTimeout(() => again(i.value)) } } }; again('')
customElements.define('x-field', class extends HTMLElement { connectedCallback() { this.attachShadow({ mode: 'open' }).innerHTML = '<input>' } })
window.held_ = (id) => { const e = document.getElementById(id), f = e.shadowRoot?.firstChild ?? (e.matches('div:not([contenteditable])') ? e.firstChild : e); return f.multiple ? [...f.selectedOptions].map((o) => o.value).join(', ') : f.type === 'checkbox' || f.type === 'radio' ? f.checked : f.value ?? f.textContent }
</script>`

// TestNoSuccessWithoutEffect plays random lists of actions on a form, and compares
// what each answer says with what the page has then: a success without a warning
// means that the field holds what it was given, and a warning says what it holds.
func TestNoSuccessWithoutEffect(t *testing.T) {
	t.Parallel()
	url, in := serve(t, modelPage), newInstance(t)
	texts := []string{"a", "Ada", "12", "7 up", "x-1,5", "long enough for any field", "ß→é", "2024-02-29", ""}
	fields := []string{"text", "number", "date", "area", "edited", "max", "upper", "digits", "late", "later", "state", "anew", "own", "picky", "inside", "readonly", "phone", "card", "cents", "trim", "deep"}
	mayFail := map[string]bool{} // those that take nothing of some texts, or never anything
	for _, id := range []string{"number", "date", "picky", "readonly", "stubborn", "digits", "refuses", "phone", "card", "cents"} {
		mayFail[id] = true
	}
	for n := range *lists {
		rng := mathrand.New(mathrand.NewPCG(uint64(n), 8))
		var actions, ids, wants []string
		for range 4 + rng.IntN(5) {
			id, want := fields[rng.IntN(len(fields))], texts[rng.IntN(len(texts))]
			action := fmt.Sprintf(`{"fill":["#%s",%q],"options":{"timeout":3000}}`, id, want)
			switch rng.IntN(7) {
			case 0:
				id, want = []string{"select", "stubborn"}[rng.IntN(2)], string("abc"[rng.IntN(3)])
				action = fmt.Sprintf(`{"selectOption":["#%s",%q],"options":{"timeout":3000}}`, id, want)
			case 1:
				id, want = []string{"box", "radio", "on", "styled", "refuses"}[rng.IntN(5)], "true"
				action = fmt.Sprintf(`{"check":"#%s","options":{"timeout":3000}}`, id)
			case 2:
				id, want = []string{"box", "on", "styled"}[rng.IntN(3)], "false"
				action = fmt.Sprintf(`{"uncheck":"#%s","options":{"timeout":3000}}`, id)
			case 3:
				id, want = []string{"many", "two"}[rng.IntN(2)], string("abc"[rng.IntN(3)])
				action = fmt.Sprintf(`{"selectOption":["#%s",%q],"options":{"timeout":3000}}`, id, want)
			}
			if id == "readonly" || id == "refuses" {
				action = strings.Replace(action, "3000", "100", 1)
			}
			actions, ids, wants = append(actions, action, fmt.Sprintf(`{"evaluate":"return held_('%s')","options":{"push":"held"}}`, id)), append(ids, id), append(wants, want)
		}
		o := play(t, in, fmt.Sprintf(`{"timeout":60000,"actions":[{"open":%q},%s,{"getSavedData":"held"}]}`, url, strings.Join(actions, ",")), TaskEnv{})
		var data struct{ Held []any }
		if err := json.Unmarshal(o.Data, &data); err != nil || len(data.Held) != len(ids) {
			t.Fatalf("list %d: %s, %v, %v", n, o.Data, err, failuresOf(o))
		}
		for i, id := range ids {
			path, held := fmt.Sprint(1+2*i), fmt.Sprint(data.Held[i])
			failed, warned := "", ""
			for _, f := range o.Failures {
				if f.Path == path {
					failed = f.Text
				}
			}
			for _, w := range o.Warnings {
				if w.Path == path {
					warned += w.Message
				}
			}
			if (id == "many" || id == "two") && strings.Contains(held, wants[i]) { // it comes to those that are chosen
				held = wants[i]
			}
			switch {
			case failed != "" && held == wants[i] && held != "" && held != "old":
				t.Errorf("list %d: %s holds %q as it was told to, and yet: %s", n, actions[2*i], held, failed)
			case failed != "":
				if !mayFail[id] {
					t.Errorf("list %d: %s: %s", n, actions[2*i], failed)
				}
			case held != wants[i] && !strings.Contains(warned, fmt.Sprintf("%q", held)):
				t.Errorf("list %d: %s succeeds, with the warning %q, and the page has %q", n, actions[2*i], warned, held)
			}
		}
	}
}
