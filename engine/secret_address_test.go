package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestSecretsInAddressesAreMasked: a browser escapes a secret in each part of an address
// in another way, and addresses are in errors, in tabs, in HAR, in traces and results.
func TestSecretsInAddressesAreMasked(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	for _, secret := range []string{"My pass/word9", "a'b{c}^d e", `quo"te<d> 77#x y`} {
		st := v.stage()
		st.Secrets = []Secret{{Name: "pass", Value: secret, Origins: []string{v.own}}}
		var files kept
		st.SaveFile = files.save
		var heard []StepReport
		st.OnStep = func(s StepReport) { heard = append(heard, s) }
		o := play(t, newInstance(t), `{"timeout":60000,"config":{"actionTimeout":5000,"trace":"full","har":true,"collect":{"console":true,"network":true},"onFailure":{"console":true,"network":true,"html":true}},"actions":[{"open":"`+v.own+`/"},
			{"fill":["#f","${secret:pass}"]},
			{"evaluate":"const s=f.value;for(const a of ['/?q='+s,'/'+s,'/#'+s])await fetch(a);const u=new URL(location);u.username=u.password=s;console.log(u.href);u.search=s;console.log(u.href.replace(/%../g,x=>x.toLowerCase()));history.replaceState(0,'','/?q='+s);return [location.href,u.href,new URLSearchParams({s}).toString()]"},
			{"getTabs":true},{"getPage":{}},{"getMarkdown":{}},{"waitForResponse":"/never","options":{"timeout":300}},
			{"evaluate":"document.body.insertAdjacentHTML('beforeend','<a id=l>x</a>');l.href='/'+f.value+'?'+f.value+'#'+f.value;f.value='';return l.href"},{"getLinks":{}},{"getHTML":"#l"},
			{"evaluate":"throw new Error(l.href)"},{"click":"#nothing","options":{"timeout":300}},{"evaluate":"location.hash=decodeURIComponent(l.hash.slice(1))"},{"wait":200},{"getPage":{}}]}`, st)
		b, err := json.Marshal([]any{o, heard})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{"the outcome": string(b)}
		for _, name := range slices.Sorted(maps.Keys(files.files)) {
			out["the file "+name] = string(files.files[name])
		}
		if len(out) < 3 || !strings.Contains(string(b), "***") {
			t.Errorf("%q: there are %d texts, and the outcome is %s", secret, len(out), b)
		}
		parts := map[string][]string{"My pass/word9": {"word9", "My%20", "My+", "My pass"}, "a'b{c}^d e": {"d%20e", "d+e", "d e\"", "%7Bc", "{c}", "%7bc"}, `quo"te<d> 77#x y`: {"quo%22", "quo&", "x%20y", "x+y", "77%23", "77#"}}
		for what, text := range out {
			for _, part := range parts[secret] {
				if at := strings.Index(text, part); at >= 0 {
					t.Errorf("%s of %q has %q: %s", what, secret, part, fmt.Sprintf("%.200s", text[max(0, at-100):]))
				}
			}
		}
	}
}
