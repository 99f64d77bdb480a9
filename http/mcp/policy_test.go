package mcp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestBoundsThatNameNothing: a bound that is there and names nothing is an error, and not
// the absence of a bound.
func TestBoundsThatNameNothing(t *testing.T) {
	for _, header := range []string{sitesHeader, allowHeader} {
		for _, nothing := range [][]string{{""}, {","}, {" "}, {" , ,"}, {"\t"}, {","}, {"shop.test", ","}} {
			if header == allowHeader && nothing[0] == "shop.test" {
				nothing = []string{"downloads", ","}
			}
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			r.Header[header] = nothing
			w := httptest.NewRecorder()
			New(Config{Journal: NewMemory()}).Handle(w, r, "account", "", []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
			if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "names nothing") {
				t.Errorf("%s: %q: %d %s", header, nothing, w.Code, w.Body)
			}
		}
	}
	s := newServer(t, always(`{"success":true,"sessionId":"sess_1"}`), Policy{})
	if text, res := s.call(t, "session", `{"do":"open","sites":[]}`); !res.IsError || !strings.Contains(text, "is empty") || len(s.requests()) > 0 {
		t.Errorf("%s, %q", text, s.requests())
	}
}
