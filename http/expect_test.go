package http_test

import (
	"bufio"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"troupe/engine"
	"troupe/http"
	"troupe/http/admin"
	"troupe/persistence"
	"troupe/testkit"
)

// TestRefusedBeforeTheBody: what is refused by its headers is refused at once: no
// byte of the body is waited for, and no client is told to send one.
func TestRefusedBeforeTheBody(t *testing.T) {
	beside(t)
	l := persistence.NewLedger(0, nil)
	e := openServer(t, &fakeActors{}, bounded(l, 50, 100), func(c *http.Config) { c.RequestTimeout, c.Admin = 10*time.Minute, &admin.Admin{} })
	const ask, form, json = "Expect: 100-continue\r\n", "multipart/form-data; boundary=x", "application/json"
	for _, tc := range []struct {
		name, target, token, kind, more string
		length                          int
		status                          int
		code                            string
	}{
		{"a form that is too large", "/v1/", "good", form, "", 200 << 20, 413, "payload_too_large"},
		{"JSON that is too large", "/v1/", "good", json, "", 2 << 20, 413, "payload_too_large"},
		{"a ticket that is too large", "/v1/tickets", "good", json, "", 2 << 20, 413, "payload_too_large"},
		{"too large, without a token", "/v1/", "nobody", form, "", 200 << 20, 401, "unauthorized"},
		{"too large, nowhere", "/nowhere", "good", form, "", 200 << 20, 413, "payload_too_large"},
		{"asked, without a token", "/v1/", "nobody", json, ask, 100, 401, "unauthorized"},
		{"asked in other letters", "/v1/", "nobody", json, "expect: 100-Continue\r\n", 100, 401, "unauthorized"},
		{"asked, too large", "/v1/", "good", form, ask, 200 << 20, 413, "payload_too_large"},
		{"asked, of another kind", "/v1/", "good", "text/plain", ask, 100, 415, "unsupported_media_type"},
		{"asked, a form where none is taken", "/v1/links", "good", form, ask, 100, 415, "unsupported_media_type"},
		{"asked, for a command", "/v1/operator/worker/list", "good", json, ask, 2, 403, "operator_only"},
		{"asked, more than the account may keep", "/v1/", "good", form, ask, 60 << 20, 429, "storage_quota"},
	} {
		c := e.dial(t, nil)
		_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n", tc.target, tc.token, tc.kind, tc.more, tc.length)
		r, p := readAnswer(t, c)
		if r.StatusCode != tc.status || p.Code != tc.code || !r.Close || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %+v", tc.name, r.StatusCode, p)
		}
		if !closed(c) {
			t.Errorf("%s: the connection stays open", tc.name)
		}
	}

	c := e.dial(t, nil)
	_, _ = fmt.Fprintf(c, "POST /v1/ HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n", json, ask, len(task))
	in := bufio.NewReader(c)
	if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("a good request hears %q: %v", line, err)
	}
	_, _ = in.ReadString('\n')
	_, _ = io.WriteString(c, task)
	r, err := nethttp.ReadResponse(in, nil)
	if err != nil || r.StatusCode != 200 {
		t.Fatalf("%+v, %v", r, err)
	}
	r.Body.Close()
	if l.All() != (persistence.Kept{}) {
		t.Errorf("still held is %+v", l.All())
	}
}

// TestProfilesWithALength: a state is as large with a length as in chunks.
func TestProfilesWithALength(t *testing.T) {
	t.Parallel()
	k := testkit.New(t, testkit.Options{Workers: 1})
	e := openServer(t, &fakeActors{}, func(c *http.Config) {
		seal, err := persistence.NewSeal(make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		c.Profiles = persistence.NewProfiles(k.Store, seal)
	})
	var cookies []string
	for i := range 700 {
		cookies = append(cookies, fmt.Sprintf(`{"name":"c%d","value":"%s","domain":"a.example","path":"/"}`, i, strings.Repeat("x", 3000)))
	}
	state := `{"cookies":[` + strings.Join(cookies, ",") + `]}`
	for name, length := range map[string]int64{"announced": int64(len(state)), "chunked": -1} {
		req, err := nethttp.NewRequest("PUT", "http://"+e.addr+"/v1/profiles/"+name, io.NopCloser(strings.NewReader(state)))
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = length
		req.Header.Set("Authorization", "Bearer good")
		req.Header.Set("Content-Type", "application/json")
		r, err := alone.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != 200 || !strings.Contains(string(b), `"version":1`) {
			t.Errorf("a state of %d bytes, %s: %d %.300s", len(state), name, r.StatusCode, b)
		}
	}
	c := e.dial(t, nil)
	_, _ = fmt.Fprintf(c, "PUT /v1/profiles/x HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", engine.MaxProfile+1)
	if r, p := readAnswer(t, c); r.StatusCode != 413 || p.Code != "payload_too_large" {
		t.Errorf("a state that is too large: %d %+v", r.StatusCode, p)
	}
}
