package engine

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// server serves a script's pages, and addresses that behave in some way: see
// each case below.
func (s script) server(t *testing.T) (base, other string) {
	stop := make(chan struct{})
	var faults asked
	var srv, second *httptest.Server // the second is another origin of the same site
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		faults.add(r)
		if ms, err := strconv.Atoi(q.Get("delay")); err == nil {
			select {
			case <-time.After(time.Duration(ms) * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
		switch {
		case r.URL.Path == "/hang": // never answers
			select {
			case <-r.Context().Done():
			case <-stop:
			}
			return
		case r.URL.Path == "/json":
			w.Header().Set("Content-Type", "application/json")
			if q.Has("nostore") {
				w.Header().Set("Cache-Control", "no-store")
			}
			if q.Has("huge") { // more than the browser takes of what nobody reads
				w.Write(bytes.Repeat([]byte(" "), 3<<20))
			}
			fmt.Fprintf(w, `{"method":%q,"query":%q}`, r.Method, r.URL.RawQuery)
			return
		case r.URL.Path == "/echo": // shows what was sent
			r.ParseMultipartForm(1 << 20)
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<pre id=form>%s</pre><pre id=cookies>%s</pre>", r.Form.Encode(), r.Header.Get("Cookie"))
			return
		case r.URL.Path == "/cookie":
			http.SetCookie(w, &http.Cookie{Name: q.Get("name"), Value: q.Get("value"), Path: "/", HttpOnly: q.Has("httponly")})
			fmt.Fprint(w, "set")
			return
		case r.URL.Path == "/redirect":
			http.Redirect(w, r, q.Get("to"), http.StatusFound)
			return
		case r.URL.Path == "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
			return
		case r.URL.Path == "/download":
			w.Header().Set("Content-Disposition", `attachment; filename="`+q.Get("name")+`"`)
			if code, err := strconv.Atoi(q.Get("code")); err == nil {
				w.WriteHeader(code)
			}
			fmt.Fprint(w, "the file")
			return
		case r.URL.Path == "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: one\n\n")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-stop:
			}
			return
		case r.URL.Path == "/halves": // a document that comes in two
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<!doctype html><h1>First</h1>"+strings.Repeat("<!-- -->", 500))
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(500 * time.Millisecond):
			}
			fmt.Fprint(w, "<p id=p>Some text</p>")
			return
		case r.URL.Path == "/endless": // a document that never ends; with bare nothing of it is there
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<!doctype html><title>Live</title>"+strings.Repeat("<!-- -->", 500))
			if !q.Has("bare") {
				fmt.Fprint(w, `<h1>Live</h1><ul><li>one</ul><button onclick="h.textContent = 'clicked'">b</button><p id=h>h</p>`)
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-stop:
			}
			return
		case r.URL.Path == "/binary": // no text in any encoding
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Write([]byte{'A', 0xff, 0xfe, 0x00, 'B'})
			return
		case r.URL.Path == "/text":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprint(w, q.Get("body"))
			return
		case r.URL.Path == "/status":
			code, _ := strconv.Atoi(q.Get("code"))
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"status":%d}`, code)
			return
		case r.URL.Path == "/picture":
			w.Header().Set("Content-Type", "image/svg+xml")
			fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><rect width="100" height="100" fill="%s"/></svg>`, html.EscapeString(q.Get("color")))
			return
		case r.URL.Path == "/image": // a raster picture, which the browser shows in a document of its own
			w.Header().Set("Content-Type", "image/png")
			png.Encode(w, image.NewRGBA(image.Rect(0, 0, 40, 30)))
			return
		case r.URL.Path == "/large": // more than a file may have
			w.Header().Set("Content-Length", strconv.Itoa(MaxUpload+1))
			for n := 0; n <= MaxUpload; n += 1 << 20 {
				if _, err := w.Write(make([]byte, min(1<<20, MaxUpload+1-n))); err != nil {
					return
				}
			}
			return
		case r.URL.Path == "/fault": // breaks off, or answers with something else: see faults
			fault(w, q.Get("kind"))
			return
		case r.URL.Path == "/counted": // how often a fault's address was asked for
			fmt.Fprint(w, faults.count(q.Get("of")))
			return
		case r.URL.Path == "/empty":
			w.WriteHeader(http.StatusNoContent)
			return
		}
		body, ok := s.pages[r.URL.Path]
		if !ok {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<h1>not here</h1>")
			return
		}
		switch filepath.Ext(r.URL.Path) {
		case ".html":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		case ".js":
			w.Header().Set("Content-Type", "text/javascript")
		case ".xhtml":
			w.Header().Set("Content-Type", "application/xhtml+xml")
		case ".svg":
			w.Header().Set("Content-Type", "image/svg+xml")
		case ".xml":
			w.Header().Set("Content-Type", "application/xml")
		}
		if csp := q.Get("csp"); csp != "" {
			w.Header().Set("Content-Security-Policy", csp)
		}
		sites := strings.NewReplacer("{{other}}", "http://localhost:"+port(r.Host), "{{third}}", "http://third.localhost:"+port(r.Host), "{{port}}", second.URL, "{{own}}", "http://127.0.0.1:"+port(r.Host))
		_, _ = sites.WriteString(w, string(body))
	})
	srv, second = httptest.NewUnstartedServer(handler), httptest.NewUnstartedServer(handler)
	second.Start() // the handler knows both before either takes a request
	srv.Start()
	t.Cleanup(func() { close(stop); srv.Close(); second.Close() })
	return srv.URL, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
}

func port(host string) string { _, p, _ := strings.Cut(host, ":"); return p }
