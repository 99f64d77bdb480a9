package engine_test

import (
	"slices"
	"strings"
	"testing"

	"troupe/engine"
)

// TestMaskRequest: no secret stays in the text of a request, whether the account has it or it
// stands there as it is, and each field that lacks one is named.
func TestMaskRequest(t *testing.T) {
	const source = `{"label":"x","config":{"credentials":{"https://a.example":{"username":"ada","password":"in-plain"},"https://b.example":{"username":"ada","password":"${secret:shop}"}},
		"headers":{"https://a.example":{"Authorization":"Bearer abc","X-Team":"a","X-Api-Key":"k-1"}}},
		"actions":[{"open":"https://a.example/?t=hunter-two"},{"fill":["#password","open sesame"]},{"fill":["#user","ada"]},{"setCookies":[{"url":"https://a.example","name":"sid","value":"cookie-value"}]},{"type":"a b"}]}`
	got, fields, err := engine.MaskRequest([]byte(source), []engine.Secret{{Name: "other", Value: "hunter-two"}, {Name: "shop", Value: "another-one"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"in-plain", "Bearer abc", "k-1", "hunter-two", "open sesame", "cookie-value"} {
		if strings.Contains(string(got), secret) {
			t.Errorf("%q is in %s", secret, got)
		}
	}
	for _, stays := range []string{`"username":"ada"`, `"${secret:shop}"`, `"X-Team":"a"`, `["#user","ada"]`, `"label":"x"`, `"name":"sid"`} {
		if !strings.Contains(string(got), stays) {
			t.Errorf("%s is not in %s", stays, got)
		}
	}
	want := []string{"/config/credentials/https:~1~1a.example/password", "/config/headers/https:~1~1a.example/Authorization", "/config/headers/https:~1~1a.example/X-Api-Key",
		"/actions/0/open", "/actions/1/fill/1", "/actions/3/setCookies/0/value"}
	if !slices.Equal(fields, want) {
		t.Errorf("fields\n%q\nwant\n%q", fields, want)
	}
	if _, _, err := engine.MaskRequest([]byte("{"), nil); err == nil {
		t.Error("what is no JSON was masked")
	}
}
