package engine

import (
	"net/http/httptest"
	"strings"
	"testing"

	"troupe/engine/egress"
	"troupe/testkit/need"
)

// TestARefusedAddressHasAHint: whoever tries a page of the own machine learns how to allow it.
func TestARefusedAddressHasAHint(t *testing.T) {
	need.Browser(t)
	srv := httptest.NewServer(nil)
	defer srv.Close()
	launch, _ := withProxies(t, egress.Config{}, nil, nil)
	in := launch("w")
	for address, host := range map[string]string{srv.URL: "127.0.0.1", strings.Replace(srv.URL, "127.0.0.1", "localhost", 1): "localhost"} {
		o := play(t, in, `{"actions":[{"open":"`+address+`"}]}`, TaskEnv{})
		if len(o.Failures) != 1 || !strings.HasSuffix(o.Failures[0].Hint(), "--allow-host "+host) {
			t.Errorf("%s: %+v, the hint is %q", address, o.Failures, o.Failures[0].Hint())
		}
	}
	if h := (&Failure{Code: CodeNavigationFailed, Text: "Navigation to http://a.test/ failed"}).Hint(); h != "" {
		t.Errorf("another failure has the hint %q", h)
	}
}
