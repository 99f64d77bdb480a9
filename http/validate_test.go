package http_test

import (
	"encoding/json"
	nethttp "net/http"
	"net/url"
	"os"
	"strings"
	"testing"
)

// TestValidateWithFiles: what a task says of its files is checked against them,
// and nothing of them is left.
func TestValidateWithFiles(t *testing.T) {
	c := &fakeActors{}
	e := openServer(t, c)
	e.Drain() // what runs nothing may be asked until the end
	payload := part{name: "payload", data: []byte(`{"actions":[{"uploadFile":["#file",["$file:0","$file:1"]]}]}`)}
	for name, tc := range map[string]struct {
		parts  []part
		status int
		valid  bool
		fault  string
	}{
		"both":         {[]part{payload, {name: "files", file: "a", data: []byte("a")}, {name: "files", file: "b", data: []byte("b")}}, 200, true, ""},
		"one":          {[]part{payload, {name: "files", file: "a", data: []byte("a")}}, 200, false, "$file:1 does not exist: the request has 1 file"},
		"no payload":   {[]part{{name: "files", file: "a", data: []byte("a")}}, 400, false, ""},
		"unknown part": {[]part{payload, {name: "fils", data: []byte("a")}}, 400, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kind, body := form(tc.parts...)
			req, err := nethttp.NewRequest("POST", (&url.URL{Scheme: "http", Host: e.addr, Path: "/v1/validate"}).String(), body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer good")
			req.Header.Set("Content-Type", kind)
			r, err := alone.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			var got struct {
				Valid  bool
				Faults []struct{ Message string }
			}
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.StatusCode != tc.status || got.Valid != tc.valid {
				t.Errorf("the answer is %d %+v, %v", r.StatusCode, got, err)
			}
			if tc.fault != "" && (len(got.Faults) != 1 || !strings.Contains(got.Faults[0].Message, tc.fault)) {
				t.Errorf("the faults are %+v", got.Faults)
			}
		})
	}
	if left, err := os.ReadDir(e.uploads); err != nil || len(left) != 0 {
		t.Errorf("files were left: %v, %v", left, err)
	}
	if c.taskCount() != 0 {
		t.Error("a task was played")
	}
}
