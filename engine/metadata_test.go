package engine_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"troupe/engine"
)

// TestLabelAndMetadata: what a client says of a task is kept as it was sent, also where the task
// waits as text and where it crosses a process, and what is wrong with it is named.
func TestLabelAndMetadata(t *testing.T) {
	const said = `{"customer":"c-17","try":2,"vip":true,"ratio":1.50}`
	body := `{"label":"Prices, daily","metadata": { "customer":"c-17", "try":2, "vip":true, "ratio":1.50 },"actions":[{"wait":1}` + strings.Repeat(`,{"wait":1}`, 2000/3) + `]}`
	task, err := engine.Parse([]byte(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	moved := new(engine.Task)
	if b, err := json.Marshal(task); err != nil || json.Unmarshal(b, moved) != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]*engine.Task{"parsed": task, "as text": task.AsText(), "moved": moved} {
		if got.Label != "Prices, daily" || string(got.Metadata) != said {
			t.Errorf("%s: %q and %s", name, got.Label, got.Metadata)
		}
	}
	for _, c := range []struct{ field, want string }{
		{`"label":7`, "label: want a name for people, such as prices of lamps"},
		{`"label":""`, "label: "},
		{`"label":"` + strings.Repeat("ü", 101) + `"`, "label: want at most 100 characters, not 101"},
		{`"label":"a\nb"`, "label: has a control character"},
		{`"metadata":["a"]`, `metadata: want an object such as {"customer":"c-17","priority":2}, not an array`},
		{`"metadata":{"a":{"b":1}}`, "metadata/a: want a string, a number or a boolean, not an object"},
		{`"metadata":{"a":null}`, "metadata/a: want a string, a number or a boolean, not null"},
		{`"metadata":{"a b":1}`, `metadata/a b: has the name "a b": want 1 to 40 of letters, digits, and . _ -`},
		{`"metadata":{"a":"` + strings.Repeat("x", 257) + `"}`, "metadata/a: want at most 256 characters, not 257"},
		{`"metadata":{"0":0,"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"10":0,"11":0,"12":0,"13":0,"14":0,"15":0,"16":0,"17":0,"18":0,"19":0,"20":0}`, "metadata: has 21 values: want at most 20"},
	} {
		_, err := engine.Parse([]byte(`{`+c.field+`,"actions":[{"wait":1}]}`), nil)
		var invalid *engine.Invalid
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.field[:min(len(c.field), 60)], err, c.want)
		}
	}
	for _, none := range []string{`"label":null`, `"metadata":null`, `"metadata":{}`} {
		task, err := engine.Parse([]byte(`{`+none+`,"actions":[{"wait":1}]}`), nil)
		if err != nil || task.Label != "" || task.Metadata != nil {
			t.Errorf("%s: %v, %+v", none, err, task)
		}
	}
	if _, err := engine.ParseSession([]byte(`{"metadata":{"a":1}}`), nil); err == nil {
		t.Error("a session took metadata")
	}
}

// TestMetadataHasItsCharacters: clients that write characters as escapes are found by those.
func TestMetadataHasItsCharacters(t *testing.T) {
	task, err := engine.Parse([]byte(`{"metadata":{ "city": "K\u00f6ln \u003c", "n": 1.50 },"actions":[{"wait":0}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"city":"Köln <","n":1.50}`; string(task.Metadata) != want {
		t.Errorf("metadata is %s, want %s", task.Metadata, want)
	}
	for _, none := range []string{``, ` `, `{}`, `{ }`, `null`, `[]`, `{"a":`} {
		if got := engine.ShortMetadata([]byte(none)); got != nil {
			t.Errorf("%q gives %s", none, got)
		}
	}
}
