package http_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"testing"

	"troupe/actors/api"
	"troupe/http"
)

// TestRateLimit: whose plan has a daily limit hears what is left of it, with
// every answer that came from the actors.
func TestRateLimit(t *testing.T) {
	for _, tc := range []struct {
		token       string
		used        counts
		limit, left string
	}{
		{"small", 12, "50", "38"},
		{"small", 50, "50", "0"},
		{"small", 60, "50", "0"}, // the plan was made smaller
		{"good", 12, "", ""},
	} {
		e := openServer(t, &fakeActors{}, func(c *http.Config) { c.Counts = tc.used })
		conn := e.dial(t, nil)
		_, _ = io.WriteString(conn, strings.Replace(taskRequest(), "good", tc.token, 1))
		r, _ := readAnswer(t, conn)
		h := r.Header
		if h.Get("RateLimit-Limit") != tc.limit || h.Get("RateLimit-Remaining") != tc.left {
			t.Errorf("%s with %d: %v", tc.token, tc.used, h)
		}
		if reset := h.Get("RateLimit-Reset"); (reset != "") != (tc.limit != "") || reset != "" && reset != "5400" && reset != "5399" {
			t.Errorf("%s: the reset is %q", tc.token, reset)
		}
	}
}

func TestUsage(t *testing.T) {
	for token, want := range map[string]string{
		"small": `free 50 60000 0 false 0, 0 here; 12 used, 38 left, 1 held`,
		"good":  `pro <nil> 120000 3.6e+06 true 50, 2 here; 12 used, <nil> left, 1 held`,
	} {
		c := &fakeActors{list: []api.WorkerInfo{{ID: "w1", Session: "sess_1"}, {ID: "w2"}}, sessions: 2}
		e := openServer(t, c, func(c *http.Config) { c.Counts = counts(12) })
		conn := e.dial(t, nil)
		_, _ = fmt.Fprintf(conn, "GET /v1/usage HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\n\r\n", token)
		r, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		var u map[string]any
		if err := json.NewDecoder(r.Body).Decode(&u); err != nil || r.StatusCode != 200 || u["resetAt"] == nil {
			t.Fatalf("the answer is %d %v, %v", r.StatusCode, u, err)
		}
		l := u["limits"].(map[string]any)
		got := fmt.Sprintf("%v %v %v %v %v %v, %v here; %v used, %v left, %v held", u["plan"], l["tasksPerDay"], l["syncTimeout"],
			l["asyncTimeout"], l["sessions"], l["reservedWorkers"], l["reservedWorkersHere"], u["usedToday"], u["remainingToday"], u["reservedWorkers"])
		if got != want {
			t.Errorf("%s: %s, want %s", token, got, want)
		}
	}
}
