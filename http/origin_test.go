package http_test

import (
	"bufio"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"testing"

	"troupe/http"
)

// ask sends a request with exactly these header lines.
func (e *edge) ask(t testing.TB, line string, headers ...string) (status int, code string, h map[string][]string) {
	t.Helper()
	c := e.dial(t, nil)
	_, _ = io.WriteString(c, line+" HTTP/1.1\r\n"+strings.Join(headers, "\r\n")+"\r\nConnection: close\r\n\r\n")
	r, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%s %q: no answer: %v", line, headers, err)
	}
	defer r.Body.Close()
	if r.StatusCode >= 400 {
		code = judge(t, r).Code
	}
	return r.StatusCode, code, r.Header
}

// TestHostsOfLoopback: on loopback the service answers to the names of this
// machine only. A page whose name was made to stand for 127.0.0.1 is of the
// service's own origin for a browser, so nothing but the Host gives it away.
func TestHostsOfLoopback(t *testing.T) {
	c := &fakeActors{}
	e := openServer(t, c, func(cfg *http.Config) { cfg.Hosts = []string{http.LocalHosts, "Browsers.example.org"} })
	for host, own := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:8080": true, "127.8.9.1": true, "[::1]": true, "[::1]:8080": true, "localhost": true, "LOCALHOST:1": true,
		"localhost.": true, "troupe.localhost:8080": true, "browsers.example.org": true, "browsers.example.org:443": true,
		"attacker.example": false, "attacker.example:8080": false, "localhost.attacker.example": false, "notlocalhost": false,
		"127.0.0.1.attacker.example": false, "0.0.0.0": false, "10.0.0.1": false, "[::]": false, "sub.browsers.example.org": false,
		"browsers.example.org.attacker.example": false, "2130706433": false,
	} {
		for _, line := range []string{"GET /healthz", "POST /v1/", "GET /files/x", "OPTIONS /v1/"} {
			status, code, _ := e.ask(t, line, "Host: "+host)
			if refused := status == 421 && code == "wrong_host"; refused == own {
				t.Errorf("%s for %q: %d %s", line, host, status, code)
			}
		}
	}
	// An address in the request line counts, and so does the header.
	for line, host := range map[string]string{"GET http://attacker.example/healthz": "localhost", "GET http://localhost/healthz": "attacker.example"} {
		if status, _, _ := e.ask(t, line, "Host: "+host); status != 421 && status != 400 {
			t.Errorf("%s for %s: %d", line, host, status)
		}
	}
	if c.taskCount() != 0 {
		t.Error("a task came of it")
	}
}

// TestForeignOrigins: CVE-2022-28108 and its like. What a page of another site
// sends is refused whatever it carries, and no answer allows such a page to read
// anything.
func TestForeignOrigins(t *testing.T) {
	c := &fakeActors{}
	e := openServer(t, c)
	host := "Host: troupe.example:8080"
	for origin, own := range map[string]bool{
		"http://troupe.example:8080": true, "https://troupe.example:8080": true, "https://TROUPE.example:8080": true, "http://troupe.example.:8080": true,
		"http://troupe.example..:8080": false, "http://troupe.example:8080.": false,
		"http://troupe.example": false, "http://troupe.example:80800": false, "http://attacker.example": false,
		"http://troupe.example:8080.attacker.example": false, "null": false, "file://": false, "chrome-extension://troupe.example:8080": false, "": false,
		"http://attacker.example@troupe.example:8080/x": true, // no browser sends that: its host is the service's
	} {
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json"} {
			body := task
			status, code, h := e.ask(t, "POST /v1/", host, "Origin: "+origin, "Authorization: Bearer good", "Content-Type: "+kind,
				fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
			switch {
			case !own && (status != 403 || code != "foreign_origin"):
				t.Errorf("%s from %q: %d %s", kind, origin, status, code)
			case own && kind == "application/json" && status != 200, own && kind != "application/json" && status != 415:
				t.Errorf("%s from %q: %d %s", kind, origin, status, code)
			}
			for name := range h {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("the answer to %q has %s", origin, name)
				}
			}
		}
	}
	played := c.taskCount()
	if status, code, _ := e.ask(t, "POST /v1/", host, "Origin: http://troupe.example:8080", "Origin: http://attacker.example", "Content-Length: 0"); status != 403 || code != "foreign_origin" {
		t.Errorf("two origins: %d %s", status, code)
	}
	if played != 5 || c.taskCount() != played {
		t.Errorf("%d tasks came of it", c.taskCount())
	}
}

// TestAllowedOrigins: the operator may name pages of other sites.
func TestAllowedOrigins(t *testing.T) {
	e := openServer(t, &fakeActors{}, func(cfg *http.Config) { cfg.Origins = []string{"https://console.example"} })
	const host = "Host: troupe.example"
	status, _, h := e.ask(t, "OPTIONS /v1/", host, "Origin: https://console.example", "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: authorization,content-type")
	if status != 204 || h["Access-Control-Allow-Origin"][0] != "https://console.example" || !strings.Contains(h["Access-Control-Allow-Headers"][0], "Authorization") ||
		!strings.Contains(h["Access-Control-Allow-Methods"][0], "POST") || h["Access-Control-Allow-Credentials"] != nil {
		t.Errorf("the question before the request: %d %v", status, h)
	}
	status, _, h = e.ask(t, "GET /v1/workers", host, "Origin: https://console.example", "Authorization: Bearer good")
	if status != 200 || h["Access-Control-Allow-Origin"][0] != "https://console.example" || h["Vary"][0] != "Origin" {
		t.Errorf("the request: %d %v", status, h)
	}
	for _, other := range []string{"http://console.example", "https://console.example.attacker.example", "https://console.example:444"} {
		status, code, h := e.ask(t, "OPTIONS /v1/", host, "Origin: "+other, "Access-Control-Request-Method: POST")
		if status != 403 || code != "foreign_origin" || h["Access-Control-Allow-Origin"] != nil {
			t.Errorf("%s: %d %s %v", other, status, code, h)
		}
	}
	for _, bad := range []string{"*", "null", "console.example", "https://", "https://console.example/", "https://a@console.example", "file:///x", "https://console.example?x"} {
		if got, err := http.ParseOrigin(bad); err == nil {
			t.Errorf("%q is taken for the origin %q", bad, got)
		}
	}
}
