package http_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/http"
	"troupe/http/access"
	"troupe/testkit/wait"
)

// TestGuessingIsSlow: an address may be wrong about tokens ten times, and then once in six
// seconds, whatever it changes. A valid token works there at any time, also one that was
// not seen before.
func TestGuessingIsSlow(t *testing.T) {
	e := openServer(t, &fakeActors{})
	try := func(token string, more ...string) (int, string, map[string][]string) {
		return e.ask(t, "GET /v1/workers", append([]string{"Host: test", "Authorization: Bearer " + token}, more...)...)
	}
	for i := range access.GuessBurst {
		if status, code, _ := try(fmt.Sprint("guess-", i)); status != 401 || code != "unauthorized" {
			t.Fatalf("guess %d: %d %s", i, status, code)
		}
	}
	for range 2 {
		status, code, h := try("another")
		after, _ := strconv.Atoi(fmt.Sprint(h["Retry-After"][0]))
		if status != 429 || code != "rate_limited" || after < 1 || after > 6 {
			t.Errorf("%d %s, Retry-After %v", status, code, h["Retry-After"])
		}
	}
	if status, _, _ := e.ask(t, "POST /v1/", "Host: test", "Authorization: Bearer another", "Content-Length: 0"); status != 429 {
		t.Errorf("a task: %d", status)
	}
	// What somebody in front might have said is not believed.
	for _, said := range []string{"X-Forwarded-For: 192.0.2.7", "Forwarded: for=192.0.2.7"} {
		if status, _, _ := try("another", said); status != 429 {
			t.Errorf("%s: %d", said, status)
		}
	}
	for range 20 {
		if status, code, _ := try("good"); status != 200 {
			t.Fatalf("a valid token: %d %s", status, code)
		}
		if status, _, _ := try("one-more"); status != 429 {
			t.Fatalf("a guess after a valid token: %d", status)
		}
	}
	if status, _, _ := e.ask(t, "GET /healthz", "Host: test"); status != 200 {
		t.Errorf("what needs no token: %d", status)
	}
}

// TestGuessersLockNobodyOut: beside a client that goes on with a token that is none any
// more, valid tokens, tickets and links work on every route, and wrong ones do not.
func TestGuessersLockNobodyOut(t *testing.T) {
	beside(t)
	h := openLiveServer(t)
	own, end := h.playing(acc1)
	defer end()
	ticket, link := h.ticket("good", own.ID), h.link("good", own.ID)
	ask := func(line string, headers ...string) int {
		status, _, _ := h.ask(t, line, append([]string{"Host: test", "Content-Length: 0"}, headers...)...)
		return status
	}
	for range access.GuessBurst + 1 {
		ask("GET /v1/workers", "Authorization: Bearer stale")
		ask("GET /v1/live/"+own.ID+"?ticket=ticket_stale", "Authorization: ")
	}
	path := strings.NewReplacer("{object}", own.ID, "{order}", "account/list")
	for _, w := range http.Routes() {
		if w.Entry == "nothing" {
			continue
		}
		target := path.Replace(w.Path)
		for i := strings.Index(target, "{"); i >= 0; i = strings.Index(target, "{") {
			target = target[:i] + "x" + target[strings.Index(target, "}")+1:]
		}
		line := w.Method + " " + target
		status := ask(line, "Authorization: Bearer stale")
		for began := time.Now(); status == 401 && time.Since(began) < wait.Hang; { // a slow machine has given it a guess back
			status = ask(line, "Authorization: Bearer stale")
		}
		if status != 429 {
			t.Errorf("%s with a wrong token: %d", line, status)
		}
		if w.Path == "/v1/events" { // goes on: TestRevokedTokensSeeNothing reads one
			continue
		}
		for _, token := range []string{"boss", "good"} {
			if w.Method == "DELETE" && token == "good" {
				continue
			}
			if status := ask(line, "Authorization: Bearer "+token); status == 429 || status == 401 {
				t.Errorf("%s with the token %q: %d", line, token, status)
			}
		}
	}
	for how, open := range map[string]func() (int, problem){
		"a ticket in the address": func() (int, problem) {
			_, status, p := h.dialLive("/v1/live/"+own.ID+"?ticket="+ticket.Ticket, nil)
			return status, p
		},
		"a link beside the protocol": func() (int, problem) {
			_, status, p := h.dialLive("/v1/live/"+own.ID, []string{"troupe.live", link.Link})
			return status, p
		},
		"a token of a socket": func() (int, problem) {
			_, status, p := h.dialLive("/v1/live/"+own.ID, nil, bearerGood)
			return status, p
		},
	} {
		if status, p := open(); status != 0 {
			t.Errorf("%s: %d %+v", how, status, p)
		}
	}
	if _, status, _ := h.dialLive("/v1/live/"+own.ID+"?ticket=ticket_stale", nil); status != 429 {
		t.Errorf("a wrong ticket: %d", status)
	}
}

// TestGuessersBehindAProxy: the address that a trusted proxy saw counts, and
// nothing that the client wrote before it.
func TestGuessersBehindAProxy(t *testing.T) {
	e := openServer(t, &fakeActors{}, func(c *http.Config) {
		c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	})
	try := func(seen string) int {
		status, _, _ := e.ask(t, "GET /v1/workers", "Host: test", "Authorization: Bearer guess", seen)
		return status
	}
	for i := range access.GuessBurst {
		if status := try(fmt.Sprintf("X-Forwarded-For: 198.51.100.%d, 2001:db8:1:2::%x, 10.0.0.1", i, i+1)); status != 401 {
			t.Fatalf("guess %d: %d", i, status)
		}
	}
	for seen, want := range map[string]int{
		"X-Forwarded-For: 2001:db8:1:2:ffff::9":                              429,
		"X-Forwarded-For: 203.0.113.5, 2001:db8:1:2::77":                     429,
		"X-Forwarded-For: 2001:db8:1:2::1, 10.9.9.9, 10.0.0.1":               429,
		"X-Forwarded-For: [2001:db8:1:2::5]:443, 10.0.0.1:80":                429,
		`X-Forwarded-For: "[2001:db8:1:2::6]:443"`:                           429,
		`Forwarded: for="[2001:db8:1:2::7]:4711";proto=https`:                429,
		`Forwarded: for=192.0.2.1, for="[2001:db8:1:2::7]", for=10.1.1.1:99`: 429,
		"X-Forwarded-For: 2001:db8:1:3::1":                                   401,
		"X-Forwarded-For: 198.51.100.1":                                      401,
		"X-Forwarded-For: 2001:db8:1:2::1, 198.51.100.2:1234":                401,
		"X-Forwarded-For: nonsense":                                          401,
		"Forwarded: for=198.51.100.3":                                        401,
	} {
		if status := try(seen); status != want {
			t.Errorf("%s: %d, want %d", seen, status, want)
		}
	}
}

// TestWrongTokensAreLogged: the log says once a minute where wrong tokens come from.
func TestWrongTokensAreLogged(t *testing.T) {
	log := &logged{}
	e := openServer(t, &fakeActors{}, func(c *http.Config) {
		c.Log = zerolog.New(log)
		c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	for range 3 {
		for _, from := range []string{"192.0.2.7:5678", "192.0.2.8"} {
			e.ask(t, "GET /v1/workers", "Host: test", "Authorization: Bearer secret-guess", "X-Forwarded-For: "+from)
		}
	}
	got := log.about("requests with tokens that are not valid")
	if len(got) != 2 || !strings.Contains(got[0], `"from":"192.0.2.7"`) || !strings.Contains(got[1], `"from":"192.0.2.8"`) || strings.Contains(got[0], "secret-guess") {
		t.Errorf("%q", got)
	}
}

// logged is a log.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// about are the lines with a text.
func (l *logged) about(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}
