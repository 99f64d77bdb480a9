package http_test

import (
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"troupe/http"
)

// openRoutes are all routes that need no authentication. One that is added here
// must not answer with data of an account.
var openRoutes = []string{
	"GET /", "GET /app/{name}", "GET /docs", "GET /docs/search", "GET /docs/{page}", "GET /files/{file}", "GET /healthz", "GET /live", "GET /llms.txt", "GET /openapi.json", "GET /readyz",
	"GET /v1/capacity", // only as text, see below
}

// stranger sends requests that each come from another address, so that none is
// refused because of those before it.
type stranger struct {
	*liveServer
	sent atomic.Uint32
}

func (s *stranger) send(method, target, body string, headers ...string) (int, problem, string, nethttp.Header) {
	s.t.Helper()
	req, err := nethttp.NewRequest(method, "http://"+s.addr+target, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	n := s.sent.Add(1)
	req.Header.Set("X-Forwarded-For", netip.AddrFrom4([4]byte{198, 18, byte(n >> 8), byte(n)}).String())
	req.Header.Set("Content-Type", "application/json")
	for _, line := range headers {
		k, v, _ := strings.Cut(line, ": ")
		if req.Header.Set(k, v); k == "Host" {
			req.Host = v
		}
	}
	r, err := alone.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	var b []byte
	if r.Header.Get("Content-Type") != "text/event-stream" || r.StatusCode != 200 {
		b, _ = io.ReadAll(r.Body)
	}
	var p problem
	_ = json.Unmarshal(b, &p)
	return r.StatusCode, p, string(b), r.Header
}

// TestEveryRouteAuthenticates sends requests without a valid token to all routes,
// and so finds a new route that does not ask for one.
func TestEveryRouteAuthenticates(t *testing.T) {
	beside(t)
	var unlocked []string
	for _, w := range http.Routes() {
		if w.Entry == "nothing" {
			unlocked = append(unlocked, w.Method+" "+w.Path)
		}
	}
	slices.Sort(unlocked)
	if !slices.Equal(unlocked, openRoutes) {
		t.Errorf("open to everybody are %q", unlocked)
	}
	h := &stranger{liveServer: openLiveServer(t, func(c *http.Config) {
		c.Origins, c.Hosts, c.Files = nil, []string{http.LocalHosts}, newMemoryFiles()
		c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})}
	own, end := h.playing(acc1)
	defer end()
	link := h.link("good", own.ID)
	ticket := h.ticket("good", own.ID)
	all := h.ticket("good", "account")
	for _, w := range http.Routes() {
		id := ticket.ID
		if strings.HasPrefix(w.Path, "/v1/links") {
			id = link.ID
		}
		path := strings.NewReplacer("{taskId}", own.ID, "{object}", own.ID, "{id}", id, "{order}", "account/list", "{file}", "f1", "{name}", "main.js", "{page}", "api").Replace(w.Path)
		body, query := fmt.Sprintf(`{"object":%q,"actions":[{"wait":1}]}`, own.ID), "?limit=5&taskId="+url.QueryEscape(own.ID)
		if w.Entry == "an operator's token" {
			body = "{}"
		}
		what := w.Method + " " + w.Path
		try := func(how string, want int, code, target string, headers ...string) {
			t.Helper()
			status, p, text, head := h.send(w.Method, target, body, headers...)
			if status != want || p.Code != code {
				t.Errorf("%s, %s: %d %s", what, how, status, text)
			}
			if head.Get("X-Content-Type-Options") != "nosniff" || head.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s, %s: the headers are %v", what, how, head)
			}
			if strings.Contains(text, own.ID) {
				t.Errorf("%s, %s: it tells of a task: %s", what, how, text)
			}
		}
		for _, origin := range []string{"https://attacker.example", "null", "http://localhost.attacker.example", "http://" + h.addr + ".attacker.example"} {
			try("from "+origin, 403, "foreign_origin", path+query, bearerGood, "Origin: "+origin)
		}
		try("under another name", 421, "wrong_host", path+query, bearerGood, "Host: attacker.example")
		if w.Entry == "nothing" {
			continue
		}
		for _, header := range []string{
			"X-A: nothing", "Authorization: good", "Authorization: Bearer", "Authorization: Bearer wrong", "Authorization: Basic Z29vZDpnb29k", "Authorization: Bearergood",
			"Authorization: Bearer good good", "Authorization: Bearer " + ticket.Ticket, "Authorization: Bearer " + link.Link, "Authorization: Bearer " + all.ID,
			"Cookie: token=good; Authorization=Bearer good", "X-Api-Key: good", "Proxy-Authorization: Bearer good", "X-Forwarded-User: local",
		} {
			try(header, 401, "unauthorized", path+query, header)
		}
		for _, q := range []string{"token=good", "access_token=good", "Authorization=Bearer+good", "ticket=good", "ticket=" + link.Link, "ticket=" + link.ID, "ticket=" + ticket.ID} {
			try(q, 401, "unauthorized", path+query+"&"+q)
		}
		if w.Entry != "a token or a ticket" {
			for _, plain := range []string{ticket.Ticket, all.Ticket} {
				try("a ticket", 401, "unauthorized", path+query+"&ticket="+plain)
				try("a ticket beside a protocol", 401, "unauthorized", path+query, "Sec-WebSocket-Protocol: troupe.live, "+plain)
			}
			try("a link", 401, "unauthorized", path+query, "Sec-WebSocket-Protocol: troupe.live, "+link.Link)
		}
		if w.Entry == "an operator's token" {
			try("no operator", 403, "operator_only", path+query, bearerGood)
			continue
		}
		if w.Method == "POST" {
			for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "text/plain; a=application/json", "application/jsonp", "application/json; charset=utf-16"} {
				try(kind, 415, "unsupported_media_type", path+query, bearerGood, "Content-Type: "+kind)
			}
		}
		if strings.Contains(w.Path, "{") { // what is somebody else's is not there
			status, _, text, _ := h.send(w.Method, path+query, body, "Authorization: Bearer small")
			if status != 404 && (status != 426 || w.Path != "/v1/live/{object}") {
				t.Errorf("%s, a foreign account: %d %s", what, status, text)
			}
		}
	}
	if status, _, text, _ := h.send("GET", "/v1/capacity", "", "Accept: application/json"); status != 401 {
		t.Errorf("the capacity in numbers: %d %s", status, text)
	}
	if status, _, text, _ := h.send("GET", "/v1/capacity?format=text", ""); status != 503 || text != "busy\n" {
		t.Errorf("the capacity as text: %d %q", status, text)
	}
	for _, object := range []string{"POST /v1/tickets", "POST /v1/links"} {
		method, path, _ := strings.Cut(object, " ")
		if status, p, text, _ := h.send(method, path, fmt.Sprintf(`{"object":%q}`, own.ID), "Authorization: Bearer small"); status != 404 || p.Code != "not_found" {
			t.Errorf("%s of somebody else's task: %d %s", object, status, text)
		}
	}
	if _, status, p := h.dialLive("/v1/live/"+own.ID, nil, "Authorization: Bearer small", "X-Forwarded-For: 198.18.255.1"); status != 404 {
		t.Errorf("somebody else's picture: %d %+v", status, p)
	}
	for _, token := range []string{"good", "small"} { // nothing of it has done anything
		var l struct{ Links []struct{ Object string } }
		if h.get("GET", "/v1/links", token, "", &l); len(l.Links) != map[string]int{"good": 1, "small": 0}[token] {
			t.Errorf("%s has the links %v", token, l.Links)
		}
	}
}
