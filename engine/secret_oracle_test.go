package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestShortSecretsAreNoOracle: whatever gives texts of a task, a secret that somebody could
// find by trying all is only masked where the task has used it, or one before it in its
// session, whichever browser that has. A long one is masked everywhere.
func TestShortSecretsAreNoOracle(t *testing.T) {
	t.Parallel()
	const short, long = "4711", "correct horse"
	// A page that tells all four-digit numbers, one of them alone, and the long secret.
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>at 4711</title><h1 aria-label="4711">4711</h1><p id=all>4710 4711 4712</p><p id=long>%s</p><a href="/x?n=4711">link</a><input id=f><button id=ask onclick="alert('4711')">ask</button>
<script>console.log('said 4711'); fetch('/told?n=4711', {method: 'POST', body: 'sent 4711'}); localStorage.n = '4711'</script>`, long)
	}))
	t.Cleanup(srv.Close)
	told := map[*kept][]string{}
	stage := func(k *kept) TaskEnv {
		st := TaskEnv{Secrets: []Secret{{Name: "pin", Value: short, Origins: []string{srv.URL}}, {Name: "pass", Value: long, Origins: []string{srv.URL}}}}
		st.SaveFile = k.save
		st.OnStep = func(s StepReport) { b, _ := json.Marshal(s); told[k] = append(told[k], string(b)) }
		return st
	}
	const everything = `{"click":"#ask"},{"getText":"h1","options":{"push":"r"}},{"getText":"#all","options":{"push":"r"}},{"getText":"#long","options":{"push":"r"}},{"evaluate":"return {4711: 4711}","options":{"push":"r"}},
		{"snapshot":true,"options":{"push":"r"}},{"getMarkdown":{"part":"all"},"options":{"push":"r"}},{"getLinks":{},"options":{"push":"r"}},{"getTabs":true,"options":{"push":"r"}},
		{"evaluate":"throw new Error('it is 4711')","options":{"continueOnError":true}},{"click":"#all b","options":{"timeout":100,"continueOnError":true}},{"getSavedData":"r"}`
	body := func(first string) string {
		return `{"config":{"trace":"full","har":{},` + allEvidence + `},"actions":[` + first + everything + `]}`
	}
	open := `{"open":"` + srv.URL + `/"},{"waitForEvent":"networkidle"},`
	fill := `{"fill":["#f","${secret:pin}"]},`
	// all is each text that a task has given, by where it was.
	all := func(o *Outcome, k *kept) map[string]string {
		texts := map[string]string{"steps": strings.Join(told[k], "\n")}
		for url, b := range k.files {
			if !strings.HasSuffix(url, ".png") {
				texts["file "+url[strings.LastIndex(url, "-")+1:]] = string(b)
			}
		}
		var parts map[string]json.RawMessage
		b, _ := json.Marshal(o)
		_ = json.Unmarshal(b, &parts)
		for name, v := range parts {
			texts[name] = string(v)
		}
		return texts
	}
	check := func(name string, masked bool, o *Outcome, k *kept) {
		t.Helper()
		said := 0
		for where, text := range all(o, k) {
			if strings.Contains(text, long) {
				t.Errorf("%s: %s has the long secret", name, where)
			}
			// The actions themselves are as they were sent.
			text = strings.NewReplacer(`throw new Error('it is 4711')`, "", `return {4711: 4711}`, "", `throw new Error(&#39;it is 4711&#39;)`, "").Replace(text)
			there := strings.Contains(text, short)
			if masked && there {
				at := strings.Index(text, short)
				t.Errorf("%s: %s has the short secret: %s", name, where, text[max(0, at-100):min(len(text), at+60)])
			}
			if there {
				said++
			}
		}
		if !masked && said < 6 {
			t.Errorf("%s: only %d places tell what is not masked", name, said)
		}
	}
	in := newInstance(t)
	k := new(kept)
	o := play(t, in, body(open), stage(k))
	check("not used", false, o, k)
	if !strings.Contains(string(o.Data), "4710 4711 4712") {
		t.Errorf("numbers are masked that no secret was typed for: %s", o.Data)
	}
	k = new(kept)
	check("used", true, play(t, in, body(open+fill), stage(k)), k)
	k = new(kept)
	check("used before in the session", true, play(t, in, body(open), stage(k)), k)
	state, err := in.Save(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	second := newInstance(t)
	if err := second.Restore(context.Background(), state, nil); err != nil {
		t.Fatal(err)
	}
	k = new(kept)
	check("in another browser", true, play(t, second, body(open), stage(k)), k)
	// A profile that a task has saved which used it, and one that used nothing.
	for _, first := range []string{"", fill} {
		k = new(kept)
		st := stage(k)
		var saved []string
		st.Profile = &ProfileState{Keep: func(_ context.Context, _ json.RawMessage, secrets []string) error { saved = secrets; return nil }}
		play(t, newInstance(t), `{"profile":"p","actions":[`+open+first+`{"getText":"h1"}]}`, st)
		if (len(saved) == 1) != (first != "") {
			t.Errorf("saved with %q", saved)
		}
		got := string(WithoutSecrets(json.RawMessage(`["4711","correct horse"]`), st.Secrets, saved))
		if want := map[bool]string{false: `["4711","***"]`, true: `["***","***"]`}[first != ""]; got != want {
			t.Errorf("the profile is given as %s, want %s", got, want)
		}
		k = new(kept)
		st = stage(k)
		st.Profile = &ProfileState{Secrets: saved}
		o := play(t, newInstance(t), `{"profile":{"name":"p","readonly":true},"actions":[`+open+`{"getText":"h1"}]}`, st)
		if want := map[bool]string{false: `"4711"`, true: `"***"`}[first != ""]; string(o.Data) != want {
			t.Errorf("a task with the profile reads %s, want %s", o.Data, want)
		}
	}
}
