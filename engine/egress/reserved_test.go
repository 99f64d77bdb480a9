package egress

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestReservedHosts(t *testing.T) {
	var served atomic.Int64
	demo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Host, r.URL, b)
	})
	n := &names{hosts: map[string]func(int) []string{}}
	p := start(t, Config{Resolver: n.resolver(), Hosts: map[string]http.Handler{"Demo.troupe.test": demo}})
	for _, c := range []*http.Client{through(t, p.Addr()), p.Client()} {
		for _, host := range []string{"demo.troupe.test", "DEMO.troupe.test", "demo.troupe.test:80", "demo.troupe.test."} {
			resp, err := c.Post("http://"+host+"/a?b=c", "text/plain", strings.NewReader("hi"))
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 200 || !strings.HasPrefix(string(b), "POST ") || !strings.HasSuffix(string(b), " /a?b=c hi") {
				t.Errorf("%s: %d %q", host, resp.StatusCode, b)
			}
		}
	}
	if _, r, head := speak(t, p.Addr(), connect("demo.troupe.test:80")+"GET /t HTTP/1.1\r\nHost: demo.troupe.test\r\n\r\n"); !strings.HasPrefix(head, "HTTP/1.1 200 ") {
		t.Errorf("CONNECT to port 80: %q", head)
	} else if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != 200 {
		t.Errorf("through a tunnel, sent with the CONNECT: %v", err)
	}
	before := served.Load()
	for _, at := range []string{"demo.troupe.test:443", "demo.troupe.test:8080", "x.demo.troupe.test:80"} {
		if _, _, head := speak(t, p.Addr(), connect(at)); !strings.HasPrefix(head, "HTTP/1.1 502 ") {
			t.Errorf("CONNECT %s: %q", at, head)
		}
	}
	if served.Load() != before {
		t.Error("the handler was asked for another port or name")
	}
	if n.asked["demo.troupe.test"] != 0 {
		t.Error("the reserved name was looked up")
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { get(t, p.Client(), "http://demo.troupe.test/") })
	}
	wg.Wait()
}
