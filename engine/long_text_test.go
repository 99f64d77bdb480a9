package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// pasted is a text in lines, with characters of two and four bytes and of two units in it.
func pasted(n, line int) string {
	var b strings.Builder
	for i := range n {
		switch {
		case line > 0 && i%line == line-1:
			b.WriteByte('\n')
		case i%97 == 5:
			b.WriteRune('é')
		case i%997 == 500:
			b.WriteRune('𝒜')
		default:
			b.WriteByte("abcdefghij klmnopqrst"[i%21])
		}
	}
	return b.String()
}

// TestTextsThatPeopleWouldPaste: a text that people would paste goes into fields and editors in the time of
// an action, whole, in its order, and as something that the page's listeners hear of. What
// the page makes of it is said as for a short one.
func TestTextsThatPeopleWouldPaste(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	const hears = `<script>window.heard='',window.downs=0;addEventListener('input',(e)=>{heard+=e.inputType==='insertLineBreak'||e.inputType==='insertParagraph'?'\n':e.data??''},true);addEventListener('keydown',()=>downs++,true)</script>`
	for _, c := range []struct {
		name, page string
		text       string
		want       string // what the field holds; empty: the text
		warns      string
		fails      string
		holds      string // how to read it
		once       bool   // the page hears of each character once
	}{
		{name: "a text area", once: true, page: `<textarea id=f>old</textarea>`, text: pasted(12000, 80)},
		{name: "one long line", once: true, page: `<textarea id=f>old</textarea>`, text: pasted(60000, 0)},
		{name: "an input", once: true, page: `<input id=f value=old>`, text: pasted(12000, 0)},
		{name: "an editable area", once: true, page: `<div id=f contenteditable style="white-space:pre-wrap"></div>`, text: pasted(12000, 0), holds: `f.textContent`},
		{name: "lines of an editable area", once: true, page: `<div id=f contenteditable=plaintext-only style="white-space:pre-wrap"></div>`, text: pasted(8000, 80), holds: `f.innerText.replace(/\n$/,'')`},
		{name: "a controlled field", once: true, page: `<textarea id=f></textarea><script>let s='';f.oninput=()=>{s=f.value;Promise.resolve().then(()=>f.value=s)}</script>`, text: pasted(12000, 300)},
		{name: "a field that is drawn anew", page: `<div id=at><textarea id=f></textarea></div><script>let done;addEventListener('input',()=>{const v=f.value;if(v.length>5000&&!done){done=1;setTimeout(()=>{at.innerHTML='<textarea id=f></textarea>';f.value=v})}})</script>`, text: pasted(12000, 0)},
		{name: "a focus that moves for a moment", page: `<textarea id=f></textarea><input id=other><script>let done;f.addEventListener('input',()=>{if(f.value.length>5000&&!done){done=1;other.focus()}})</script>`, text: pasted(12000, 0)},
		{name: "a field of so many", page: `<textarea id=f maxlength=3000></textarea>`, text: strings.Repeat("abcdefghi ", 500), want: strings.Repeat("abcdefghi ", 300), warns: "at most 3000"},
		{name: "a page that makes other letters", page: `<textarea id=f></textarea><script>f.oninput=()=>{f.value=f.value.toUpperCase()}</script>`, text: pasted(5000, 0), want: strings.ToUpper(pasted(5000, 0)), warns: "the page has made that of the text"},
		{name: "a page that takes nothing", page: `<textarea id=f></textarea><script>f.addEventListener('beforeinput',(e)=>e.preventDefault())</script>`, text: pasted(5000, 0), fails: "took nothing"},
		{name: "letters without keys", page: `<textarea id=f></textarea><script>f.oninput=()=>{f.value=''}</script>`, text: "日本語", fails: "took nothing"},
		{name: "many letters without keys", once: true, page: `<textarea id=f></textarea>`, text: strings.Repeat("日本語", 2000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, _ := json.Marshal(c.text)
			holds := c.holds
			if holds == "" {
				holds = "f.value"
			}
			began := time.Now()
			o := play(t, in, fmt.Sprintf(`{"timeout":120000,"config":{"actionTimeout":100000},"actions":[{"open":%q},{"fill":["#f",%s]},%s]}`, serve(t, hears+c.page), text,
				running(`return {got:`+holds+`,heard,downs,other:document.querySelector('#other')?.value??''}`)), TaskEnv{})
			t.Logf("%d characters in %v", utf8.RuneCountInString(c.text), time.Since(began))
			if got := failuresOf(o); c.fails != "" || len(got) > 0 {
				if len(got) != 1 || !strings.Contains(got[0], c.fails) || c.fails == "" {
					t.Errorf("%v, want a failure with %q", got, c.fails)
				}
				return
			}
			var is struct {
				Got, Heard, Other string
				Downs             int
			}
			if err := json.Unmarshal(o.Data, &is); err != nil {
				t.Fatal(err)
			}
			want := c.want
			if want == "" {
				want = c.text
			}
			if warned := fmt.Sprint(o.Warnings); c.warns == "" && len(o.Warnings) > 0 || !strings.Contains(warned, c.warns) {
				t.Errorf("warns %.300s, want %q", warned, c.warns)
			}
			if strings.ReplaceAll(is.Got, "\u00a0", " ") != want {
				t.Errorf("it holds %d characters, want %d", len(is.Got), len(want))
			}
			if c.once && strings.ReplaceAll(is.Heard, "\u00a0", " ") != c.text {
				t.Errorf("the page hears %d characters, want %d", len(is.Heard), len(c.text))
			}
			if is.Other != "" {
				t.Errorf("another field has %.100q", is.Other)
			}
			t.Log(is.Downs, "keys")
		})
	}
}
