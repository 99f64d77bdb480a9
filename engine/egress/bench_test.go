package egress

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// BenchmarkRequest shows what the proxy costs: the same request over a kept
// connection, direct, through the proxy, to a reserved host and in a tunnel.
func BenchmarkRequest(b *testing.B) {
	page := strings.Repeat("x", 8<<10)
	h := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, page) }
	s := serve(b, h)
	p := start(b, Config{AllowPrivate: true, Hosts: map[string]http.Handler{"demo.test": http.HandlerFunc(h)}})
	for _, c := range []struct {
		name, url string
		client    *http.Client
	}{
		{"direct", s.URL, &http.Client{Transport: &http.Transport{DisableCompression: true}}},
		{"proxy", s.URL, through(b, p.Addr())},
		{"reserved", "http://demo.test/", through(b, p.Addr())},
		{"client", s.URL, p.Client()},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				resp, err := c.client.Get(c.url)
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, resp.Body); n != int64(len(page)) || err != nil {
					b.Fatal(n, err)
				}
				resp.Body.Close()
			}
		})
	}
}

// BenchmarkConnect shows what a new connection costs.
func BenchmarkConnect(b *testing.B) {
	s := serve(b, func(w http.ResponseWriter, r *http.Request) {})
	p := start(b, Config{AllowPrivate: true})
	for name, proxy := range map[string]func(*http.Request) (*url.URL, error){
		"direct": nil,
		"proxy":  http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr()}),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: proxy}, Timeout: 10 * time.Second}
				resp, err := c.Get(s.URL)
				if err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}
