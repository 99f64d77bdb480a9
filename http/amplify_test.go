package http_test

import (
	"encoding/json"
	"io"
	nethttp "net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
)

// TestAnswersAreNotManyTimesTheRequest: whatever is wrong with a request of the
// largest size, what is said of it is no larger.
func TestAnswersAreNotManyTimesTheRequest(t *testing.T) {
	need.NoRace(t)
	beside(t)
	e := openServer(t, &fakeActors{})
	var names, twice strings.Builder
	for i := 0; names.Len() < 1<<20-20; i++ {
		names.WriteString(`,"` + strconv.Itoa(i) + `":1`)
	}
	for i := 0; i < 200; i++ {
		twice.WriteString(`,{"` + strings.Repeat("a", 4000) + strconv.Itoa(i) + `":1}`)
	}
	grows := `{"` + strings.Repeat("\x7f", 1<<20-10) + `":1}`
	below := `{"` + strings.Repeat("a", 1<<18) + `":[` + strings.Repeat(`"${secret:a}",`, 50000) + `1]}`
	for _, target := range []string{"/v1/", "/v1/validate", "/v1/tickets", "/v1/links"} {
		for name, body := range map[string]string{
			"names":          `{` + names.String()[1:] + `}`,
			"a name":         grows,
			"actions":        `{"actions":[` + twice.String()[1:] + `]}`,
			"secrets":        below,
			"a text":         `{"actions":"` + strings.Repeat("\x7f", 1<<19) + `","object":"` + strings.Repeat("\x7f", 1<<18) + `"}`,
			"numbers":        `{"timeout":` + strings.Repeat("9", 1<<19) + `,"object":1e400}`,
			"deep":           strings.Repeat(`{"a":[`, 1<<17),
			"the same again": `{"a":1` + strings.Repeat(`,"a":1`, 1<<17) + `}`,
		} {
			began := time.Now()
			req, err := nethttp.NewRequest("POST", "http://"+e.addr+target, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer good")
			req.Header.Set("Content-Type", "application/json")
			r, err := alone.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			said, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
			r.Body.Close()
			var p problem
			if err != nil || json.Unmarshal(said, &p) != nil || r.StatusCode >= 500 || len(p.Details) > 100 {
				t.Errorf("%s to %s: %d, %d faults, %v", name, target, r.StatusCode, len(p.Details), err)
			}
			if len(said) > len(body) {
				t.Errorf("%s to %s: %d bytes are answered with %d", name, target, len(body), len(said))
			}
			if took := time.Since(began); took > time.Minute { // it takes some 0.1 s, and on a slow machine with the race detector a hundred times that
				t.Errorf("%s to %s took %v", name, target, took)
			}
		}
	}
}
