package http_test

import (
	"fmt"
	"net/netip"
	"strconv"
	"testing"

	"troupe/http"
	"troupe/http/access"
)

// TestGuessingIsSlow: an address may be wrong about tokens ten times, and then
// once in six seconds, whatever it changes.
func TestGuessingIsSlow(t *testing.T) {
	e := openServer(t, &fakeActors{})
	try := func(token string) (int, string, map[string][]string) {
		return e.ask(t, "GET /v1/workers", "Host: test", "Authorization: Bearer "+token)
	}
	if status, _, _ := try("small"); status != 200 {
		t.Fatalf("a good token: %d", status)
	}
	for i := range access.GuessBurst {
		if status, code, _ := try(fmt.Sprint("guess-", i)); status != 401 || code != "unauthorized" {
			t.Fatalf("guess %d: %d %s", i, status, code)
		}
	}
	// Neither another token helps, nor the right one, nor another method or path.
	for _, token := range []string{"another", "good"} {
		status, code, h := try(token)
		after, _ := strconv.Atoi(fmt.Sprint(h["Retry-After"][0]))
		if status != 429 || code != "rate_limited" || after < 1 || after > 6 {
			t.Errorf("%s: %d %s, Retry-After %v", token, status, code, h["Retry-After"])
		}
	}
	if status, _, _ := e.ask(t, "POST /v1/", "Host: test", "Authorization: Bearer good", "Content-Length: 0"); status != 429 {
		t.Errorf("a task: %d", status)
	}
	// What somebody in front might have said is not believed.
	if status, _, _ := e.ask(t, "GET /v1/workers", "Host: test", "Authorization: Bearer good", "X-Forwarded-For: 192.0.2.7"); status != 429 {
		t.Errorf("with an invented address: %d", status)
	}
	// Who shared the address with the guesser goes on working, and that does not
	// help the guesser.
	if status, _, _ := try("small"); status != 200 {
		t.Errorf("a token that was good before: %d", status)
	}
	if status, _, _ := try("one-more"); status != 429 {
		t.Errorf("a guess after a good token: %d", status)
	}
	if status, _, _ := e.ask(t, "GET /healthz", "Host: test"); status != 200 {
		t.Errorf("what needs no token: %d", status)
	}
}

// TestGuessersBehindAProxy: the address that a trusted proxy saw counts, and
// nothing that the client wrote before it.
func TestGuessersBehindAProxy(t *testing.T) {
	e := openServer(t, &fakeActors{}, func(c *http.Config) {
		c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	})
	try := func(token, seen string) int {
		status, _, _ := e.ask(t, "GET /v1/workers", "Host: test", "Authorization: Bearer "+token, "X-Forwarded-For: "+seen)
		return status
	}
	for i := range access.GuessBurst {
		if status := try("guess", fmt.Sprintf("198.51.100.%d, 2001:db8:1:2::%x, 10.0.0.1", i, i+1)); status != 401 {
			t.Fatalf("guess %d: %d", i, status)
		}
	}
	// A token that was good would go through from everywhere: the two kinds of
	// rows have one each.
	token := map[int]string{429: "good", 200: "small"}
	for seen, want := range map[string]int{
		"2001:db8:1:2:ffff::9": 429, "203.0.113.5, 2001:db8:1:2::77": 429, "2001:db8:1:2::1, 10.9.9.9, 10.0.0.1": 429,
		"2001:db8:1:3::1": 200, "198.51.100.1": 200, "2001:db8:1:2::1, 198.51.100.1": 200, "nonsense": 200,
	} {
		if status := try(token[want], seen); status != want {
			t.Errorf("%s: %d, want %d", seen, status, want)
		}
	}
}
