package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestSecretsOfFlows: a flow fills in the secret that it is given, also through another
// flow, and neither its name for it nor anything that it gives holds the value.
func TestSecretsOfFlows(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	flows := FlowList{
		{"inner", 1, []byte(`{"parameters":{"code":{"secret":true,"required":true}},"actions":[{"fill":["#f","${secret:code}"]},{"getValue":"#f"}]}`), nil},
		// Its parameter has the name of another secret of the account.
		{"outer", 1, []byte(`{"parameters":{"pin":{"secret":true}},"actions":[{"run":"inner","with":{"code":"${secret:pin}"}},{"fill":["#t","${secret:pass}"]},
			{"evaluate":"await fetch('/got', {method: 'POST', body: f.value + '|' + t.value})"},{"evaluate":"return saved"}]}`), nil},
	}
	task, err := ParseWith([]byte(`{"config":{"trace":true},"actions":[{"open":"`+v.own+`"},{"run":"outer","with":{"pin":"${secret:pass}"}},{"fill":["#f","${secret:pin}"]},
		{"evaluate":"await fetch('/got', {method: 'POST', body: f.value})"},{"run":"outer","with":{"pin":"${secret:elsewhere}"},"options":{"timeout":300}}]}`), nil, flows)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := contextFor(30 * time.Second)
	defer cancel()
	o := newInstance(t).Play(ctx, task, v.stage())
	got := strings.Split(v.all(), "\n")
	if len(got) < 2 || got[0] != hidden+"|"+hidden || got[1] != "904817" {
		t.Errorf("the site got %q", got)
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"904817", "other value", `p&s`, `p\u0026s`} {
		if strings.Contains(string(b), value) {
			t.Errorf("the outcome has %q: %s", value, b)
		}
	}
	if len(o.Failures) != 1 || o.Failures[0].Path != "4/run/actions/0/run/actions/0" || o.Failures[0].Flow != "inner@1" || !strings.Contains(o.Failures[0].Text, "not for") && !strings.Contains(o.Failures[0].Text, "origin") {
		t.Errorf("a secret of another origin: %+v", o.Failures)
	}
}
