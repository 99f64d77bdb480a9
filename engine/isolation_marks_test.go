package engine

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// markServer answers a task that plants marks otherwise than one that looks for them, so
// that whatever the browser has remembered shows.
type markServer struct {
	*httptest.Server
	tls     *httptest.Server // says the same over TLS
	plants  atomic.Bool
	beacons atomic.Int64 // requests that a page sends as it is left
	met     sync.Map     // the identifiers that tasks which plant have sent
}

type usedConn struct{}

func newMarkServer(t *testing.T) *markServer {
	t.Helper()
	s := new(markServer)
	s.Server, s.tls = httptest.NewUnstartedServer(s), httptest.NewUnstartedServer(s)
	for _, srv := range []*httptest.Server{s.Server, s.tls} {
		srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that the browser opens and does not use
		srv.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, usedConn{}, new(atomic.Bool))
		}
	}
	s.Start()
	s.tls.EnableHTTP2, s.tls.TLS = true, &tls.Config{ClientAuth: tls.RequestClientCert}
	s.tls.StartTLS()
	t.Cleanup(func() { s.Close(); s.tls.Close() })
	return s
}

// trusted is the flag for a browser that is to believe the server.
func (s *markServer) trusted() string {
	key := sha256.Sum256(s.tls.Certificate().RawSubjectPublicKeyInfo)
	return "--ignore-certificate-errors-spki-list=" + base64.StdEncoding.EncodeToString(key[:])
}

// The addresses of the server: one that browsers trust like one of TLS, another site, one
// of TLS, another site of TLS, and one of the same name without TLS.
func (s *markServer) base() string  { return strings.Replace(s.URL, "127.0.0.1", "localhost", 1) }
func (s *markServer) other() string { return s.URL }
func (s *markServer) secure() string {
	return strings.Replace(s.tls.URL, "127.0.0.1", "site.test", 1)
}
func (s *markServer) third() string { return strings.Replace(s.tls.URL, "127.0.0.1", "third.test", 1) }
func (s *markServer) plain() string { return strings.Replace(s.URL, "127.0.0.1", "site.test", 1) }

func (s *markServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	plants, used := s.plants.Load(), r.Context().Value(usedConn{}).(*atomic.Bool)
	mark := "none"
	if plants {
		mark = "MARK"
		used.Store(true)
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	if o := r.Header.Get("Origin"); o != "" {
		h.Set("Access-Control-Allow-Origin", o)
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	for _, line := range r.URL.Query()["head"] { // of the answer that a mark is
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	switch r.URL.Path {
	case "/script.js", "/style.css":
		h.Set("Cache-Control", "max-age=3600")
		if r.URL.Path == "/style.css" {
			h.Set("Content-Type", "text/css")
			fmt.Fprintf(w, "h1{--mark:%s}", mark)
			return
		}
		h.Set("Content-Type", "text/javascript")
		fmt.Fprintf(w, "window.scripted='%s'", mark)
	case "/moved":
		if plants {
			h.Set("Cache-Control", "max-age=3600")
			http.Redirect(w, r, "/sw", http.StatusMovedPermanently)
			return
		}
		fmt.Fprint(w, "stays")
	case "/dict":
		h.Set("Cache-Control", "max-age=3600")
		h.Set("Use-As-Dictionary", `match="/dicted"`)
		fmt.Fprint(w, strings.Repeat("dictionary", 100))
	case "/dicted":
		fmt.Fprintf(w, "%q", r.Header.Get("Available-Dictionary"))
	case "/sent":
		fmt.Fprintf(w, "%q %q", r.Header.Get("Cookie"), r.Header.Get("Sec-CH-UA-Platform-Version"))
	case "/tls":
		fmt.Fprintf(w, "%s %v", r.Proto, r.TLS != nil && r.TLS.DidResume)
	case "/met": // answers whether a task that plants was called the same
		name := r.URL.Query().Get("name")
		if _, met := s.met.Load(name); met && name != "" {
			fmt.Fprint(w, "MARK")
		}
		if plants {
			s.met.Store(name, true)
		}
	case "/worklet.js":
		h.Set("Content-Type", "text/javascript")
		fmt.Fprint(w, "registerProcessor('p',class extends AudioWorkletProcessor{process(){return true}})")
	case "/cached", "/pixel":
		h.Set("Cache-Control", "max-age=3600")
		if r.URL.Path == "/pixel" { // three wide for who plants
			h.Set("Content-Type", "image/svg+xml")
			fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="5"/>`, map[bool]int{true: 3, false: 7}[plants])
			return
		}
		fmt.Fprint(w, mark)
	case "/preflight":
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Max-Age", "3600")
			if plants {
				h.Set("Access-Control-Allow-Headers", "x-mark")
			}
			return
		}
		fmt.Fprint(w, "passed")
	case "/conn":
		if plants || !used.Load() {
			mark = "none"
		} else {
			mark = "MARK"
		}
		fmt.Fprint(w, mark)
	case "/slow": // its answer would come when the next task runs
		select {
		case <-time.After(150 * time.Millisecond):
			http.SetCookie(w, &http.Cookie{Name: "late", Value: "MARK", MaxAge: 3600})
		case <-r.Context().Done():
		}
	case "/beacon":
		s.beacons.Add(1)
		http.SetCookie(w, &http.Cookie{Name: "beacon", Value: "MARK", MaxAge: 3600})
	case "/auth":
		if u, _, ok := r.BasicAuth(); ok {
			fmt.Fprint(w, "MARK "+u)
			return
		}
		if r.URL.Query().Has("ask") {
			h.Set("WWW-Authenticate", "Basic realm=mark")
		}
		w.WriteHeader(map[bool]int{true: http.StatusUnauthorized, false: http.StatusForbidden}[r.URL.Query().Has("ask")])
	case "/hints":
		fmt.Fprintf(w, "%q", r.Header.Get("Sec-CH-UA-Platform-Version"))
	case "/worker.js":
		h.Set("Content-Type", "text/javascript")
		fmt.Fprint(w, "let n=0;self.onconnect=e=>e.ports[0].postMessage(++n);self.onfetch=e=>{if(e.request.url.endsWith('/sw'))e.respondWith(new Response('MARK'))}")
	case "/sw":
		fmt.Fprint(w, "none")
	case "/download":
		h.Set("Content-Disposition", "attachment; filename=mark.bin")
		fmt.Fprint(w, mark)
	default:
		h.Set("Content-Type", "text/html")
		if r.URL.Query().Has("cookies") {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "MARK"})
			http.SetCookie(w, &http.Cookie{Name: "hidden", Value: "MARK", MaxAge: 3600, HttpOnly: true})
		}
		if r.URL.Query().Has("hints") {
			h.Set("Accept-CH", "Sec-CH-UA-Platform-Version")
		}
		seen := []string{}
		for _, c := range r.Cookies() {
			seen = append(seen, c.Name)
		}
		hints := r.Header.Get("Sec-CH-UA-Platform-Version")
		fmt.Fprintf(w, `<!doctype html><body style="margin:0;height:3000px"><h1>page</h1><p id=sent>%s|%s</p><input id=clip onpaste="window.pasted=[...event.clipboardData.types].join()"><button id=go onclick="window.went&&went()">go</button><a id=file href=/download>file</a><a id=away href=/other>away</a>`+
			`<div id=at style="position:absolute;left:300px;top:300px;width:80px;height:80px">x</div><style>#at:hover{color:rgb(1,2,3)}</style>`, strings.Join(seen, ","), hints)
	}
}
