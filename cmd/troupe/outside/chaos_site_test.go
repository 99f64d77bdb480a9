package outside_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// chaosSite serves what pages and servers do that mean no good, or are broken.
// It tells of what each page was asked for with.
func chaosSite(t *testing.T) (url string, shown <-chan string) {
	t.Helper()
	asked := make(chan string, 1000)
	gone := make(chan struct{})
	mux := http.NewServeMux()
	for path, page := range map[string]string{
		"/{$}":    `<h1>here</h1><button id=b onclick="b.textContent='pressed'">press</button>`,
		"/memory": `<h1>x</h1><script>const all=[];setInterval(()=>{for(let i=0;i<8;i++)all.push(new Uint8Array(1<<20).fill(7))},20)</script>`,
		"/loop":   `<h1>x</h1><script>onload=()=>setTimeout(()=>{for(;;);},50)</script>`,
		"/alerts": `<h1>x</h1><script>onload=()=>setTimeout(()=>{for(let i=0;i<50;i++){alert(i);confirm(i)}document.querySelector('h1').textContent='calm'},20)</script>`,
		"/popups": `<h1>x</h1><button id=b>b</button><script>b.onclick=()=>{for(let i=0;i<1000;i++)window.open('about:blank')}</script>`,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			asked <- r.URL.RawQuery
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, page)
		})
	}
	mux.HandleFunc("GET /silent", func(_ http.ResponseWriter, r *http.Request) { // never answers
		select {
		case <-r.Context().Done():
		case <-gone:
		}
	})
	mux.HandleFunc("GET /endless", func(w http.ResponseWriter, r *http.Request) { pour(w, r, gone, 64<<10, time.Millisecond) })
	mux.HandleFunc("GET /trickle", func(w http.ResponseWriter, r *http.Request) { pour(w, r, gone, 1, 100*time.Millisecond) })
	mux.HandleFunc("GET /huge", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=huge.bin")
		w.Header().Set("Content-Length", fmt.Sprint(5<<30))
		block := make([]byte, 256<<10)
		for range 5 << 30 / len(block) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(func() {
		close(gone)
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL, asked
}

// pour sends a page that has no end.
func pour(w http.ResponseWriter, r *http.Request, gone <-chan struct{}, n int, wait time.Duration) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	block := make([]byte, n)
	for i := range block {
		block[i] = ' '
	}
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-gone:
			return
		case <-time.After(wait):
		}
	}
}
