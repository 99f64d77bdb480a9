package http_test

import (
	"strings"
	"testing"

	"troupe/http"
)

// TestDocumentsNameTheServicesAddress: whoever copies an example reaches the
// service that shows it.
func TestDocumentsNameTheServicesAddress(t *testing.T) {
	const written = "http://127.0.0.1:8080"
	as, own := openServer(t, &fakeActors{}), openServer(t, &fakeActors{}, func(c *http.Config) { c.Address = "https://browsers.example:9443" })
	for _, path := range []string{"/docs/api", "/docs/start", "/docs/operations"} {
		_, before := fetch(t, as, path)
		_, b := fetch(t, own, path)
		page := string(b)
		if n := strings.Count(string(before), written); strings.Contains(page, written) || strings.Count(page, "https://browsers.example:9443") != n {
			t.Errorf("%s does not name the service's own address in %d places", path, n)
		}
	}
	if _, b := fetch(t, own, "/docs/operations"); !strings.Contains(string(b), "<code>127.0.0.1:8080</code>") {
		t.Error("the default of --listen is not the default any more")
	}
}
