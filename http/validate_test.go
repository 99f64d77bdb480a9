package http_test

import (
	"bytes"
	"encoding/json"
	"io"
	nethttp "net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"troupe/engine"
	"troupe/http"
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

// TestValidateComparesTheIsolation with the operator's: a task may only ask for more.
func TestValidateComparesTheIsolation(t *testing.T) {
	task := func(config string) []byte {
		return []byte(`{"config":{` + config + `},"actions":[{"open":"https://a.test"}]}`)
	}
	for _, c := range []struct {
		level  engine.Isolation
		config string
		fault  string
	}{
		{"", ``, ""},
		{"", `"isolation":"task"`, ""},
		{"", `"isolation":"account"`, `config.isolation "account" is less than this service gives, which is "task": want that or more, or leave it out`},
		{engine.IsolateAccount, `"isolation":"none"`, `config.isolation "none" is less than this service gives, which is "account": want that or more, or leave it out`},
		{engine.IsolateAccount, `"isolation":"task"`, ""},
		{engine.IsolateNone, `"isolation":"none"`, ""},
		{engine.IsolateNone, `"isolation":"all"`, `want what a task may find of earlier ones on its worker, one of task, account, none, not "all"`},
	} {
		e := openServer(t, &fakeActors{}, func(cfg *http.Config) { cfg.Isolation = c.level })
		req, err := nethttp.NewRequest("POST", "http://"+e.addr+"/v1/validate", bytes.NewReader(task(c.config)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer good")
		req.Header.Set("Content-Type", "application/json")
		res, err := alone.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		r, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Valid  bool
			Faults []struct{ Path, Message string }
		}
		if err := json.Unmarshal(r, &got); err != nil || got.Valid != (c.fault == "") {
			t.Errorf("%q, %s: %s, %v", c.level, c.config, r, err)
			continue
		}
		if c.fault != "" && (len(got.Faults) != 1 || got.Faults[0].Message != c.fault || got.Faults[0].Path != "/config/isolation") {
			t.Errorf("%q, %s: the faults are %+v", c.level, c.config, got.Faults)
		}
	}
}

// TestValidateTheTaskOfABatch: it reads the fields of items, which a task alone is refused for.
func TestValidateTheTaskOfABatch(t *testing.T) {
	e := openServer(t, &fakeActors{})
	const task = `{"actions":[{"open":"https://a.test/${item.id}"},{"getText":"h1","options":{"save":"n"}},{"fill":["#q","${m}"]}]}`
	for name, c := range map[string]struct {
		query, task string
		status      int
		valid       bool
		says        []string // each fault and warning: its path, and how its text begins
	}{
		"alone":             {"", task, 200, false, []string{"/actions/0 ${item.id} reads the item", "/actions/2 ${m} is used"}},
		"not of a batch":    {"?items=false", task, 200, false, []string{"/actions/0 ${item.id} reads the item", "/actions/2 ${m} is used"}},
		"of a batch":        {"?items=true", task, 200, true, []string{"/actions/2 ${m} is used"}},
		"with a fault":      {"?items=true", strings.Replace(task, "getText", "getTxt", 1), 200, false, []string{`/actions/1/getTxt action "getTxt" is unknown`, "/actions/2 ${m} is used"}},
		"with a key":        {"?items=true", `{"queue":{"key":"k"},"actions":[{"open":"https://a.test"}]}`, 200, false, []string{"/queue/key the tasks of a batch have no keys"}},
		"not queued":        {"?items=true", `{"queue":false,"actions":[{"open":"https://a.test"}]}`, 200, false, []string{"/queue the tasks of a batch are queued"}},
		"an unknown answer": {"?items=yes", task, 400, false, []string{`/items want true or false, not "yes"`}},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := nethttp.NewRequest("POST", "http://"+e.addr+"/v1/validate"+c.query, strings.NewReader(c.task))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer good")
			req.Header.Set("Content-Type", "application/json")
			res, err := alone.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			type said struct{ Path, Message string }
			var got struct {
				Valid                     bool
				Faults, Warnings, Details []said
			}
			if err := json.NewDecoder(res.Body).Decode(&got); err != nil || res.StatusCode != c.status || got.Valid != c.valid {
				t.Fatalf("%d, %+v, %v", res.StatusCode, got, err)
			}
			all := slices.Concat(got.Faults, got.Warnings, got.Details)
			for i, s := range all {
				if i >= len(c.says) || !strings.HasPrefix(s.Path+" "+s.Message, c.says[i]) {
					t.Errorf("said %+v, want %q", all, c.says)
					break
				}
			}
			if len(all) < len(c.says) {
				t.Errorf("said %+v, want %q", all, c.says)
			}
		})
	}
	kind, body := form(part{name: "payload", data: []byte(task)}, part{name: "files", file: "a", data: []byte("a")})
	req, err := nethttp.NewRequest("POST", "http://"+e.addr+"/v1/validate?items=true", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer good")
	req.Header.Set("Content-Type", kind)
	res, err := alone.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(got), "takes no files") {
		t.Errorf("with a file: %s, %v", got, err)
	}
}
