package engine

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// faultyAnswers are what a faulty server sends before it closes the connection.
var faultyAnswers = map[string]string{
	"none":            "",
	"head":            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-",
	"status":          "HTTP/1.1 2",
	"malformed":       "what is this?\r\n\r\n<h1>half</h1>",
	"lengths":         "HTTP/1.1 200 OK\r\nContent-Length: 13\r\nContent-Length: 14\r\n\r\n<h1>half</h1>",
	"large head":      "HTTP/1.1 200 OK\r\nX-Large: " + strings.Repeat("x", 600<<10) + "\r\n\r\n",
	"switched":        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<h1>half</h1>",
	"no body":         "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n",
	"short":           "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<!doctype html><h1>half</h1>",
	"long":            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 14\r\n\r\n<h1>whole</h1>and more",
	"chunks cut":      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n<h1>half</h1>\r\n",
	"chunks broken":   "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n<h1>half</h1>\r\nzzz\r\n",
	"reset":           "",
	"reset body":      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<!doctype html><h1>half</h1>",
	"download":        "HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=a.bin\r\nContent-Length: 1000\r\n\r\nhalf",
	"download chunks": "HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=a.bin\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
	"hanging":         "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<!doctype html><img src=/hang><h1>half</h1>",
}

// fault answers in the way that is named, and closes the connection.
func fault(w http.ResponseWriter, kind string) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = io.WriteString(c, faultyAnswers[kind])
	if strings.HasPrefix(kind, "reset") {
		// The browser has read what was sent when it asks for this.
		_ = c.(*net.TCPConn).SetLinger(0)
	}
}

// asked counts the requests for faults, by method.
type asked struct {
	mu sync.Mutex
	n  map[string]int
}

func (a *asked) add(r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n == nil {
		a.n = map[string]int{}
	}
	a.n[r.Method+" "+r.URL.Query().Get("id")]++
}

func (a *asked) count(of string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n[of]
}

// TestFaultsAreErrorsToPages: whatever fault a server has, a page that asks it hears
// of an error in every way of asking, and reads nothing.
func TestFaultsAreErrorsToPages(t *testing.T) {
	t.Parallel()
	s := script{pages: map[string][]byte{"/page.html": []byte("<!doctype html><h1>page</h1>")}}
	base, _ := s.server(t)
	for kind := range faultyAnswers {
		if kind == "long" || kind == "hanging" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			in := newProxied(t)
			o := play(t, in, `{"timeout":60000,"actions":[{"open":"`+base+`/page.html"},{"evaluate":"const at=(id)=>'/fault?kind=`+kind+`&id='+id, said={};`+
				`for (const method of ['GET','POST']) said[method]=await fetch(at('`+kind+`'),{method}).then(r=>r.text()).then(t=>'read '+t,()=>'failed');`+
				`said.xhr=await new Promise(r=>{const x=new XMLHttpRequest();x.onerror=()=>r('failed');x.onload=()=>r('read '+x.responseText);x.open('GET',at('x'));x.send()});`+
				`said.beacon=await fetch(at('y'),{mode:'no-cors',cache:'no-store'}).then(r=>r.text()).then(t=>'read '+t,()=>'failed');`+
				`const tag=(name)=>new Promise(r=>{const e=document.createElement(name);e.onerror=()=>r('failed');e.onload=()=>r('loaded');e.src=at(name);document.body.append(e)});`+
				`said.img=await tag('img');said.script=await tag('script');`+
				`return said"},{"open":"`+base+`/counted?of=`+url.QueryEscape("POST "+kind)+`"},{"getText":"body"}],"config":{"trace":true}}`, TaskEnv{})
			if len(o.Failures) > 0 || len(o.Steps) != 4 {
				t.Fatal(failuresOf(o))
			}
			want := `{"GET":"failed","POST":"failed","xhr":"failed","beacon":"failed","img":"failed","script":"failed"}`
			if got := string(o.Steps[1].Result); got != want {
				t.Errorf("the page has %s", got)
			}
			if string(o.Data) != `"1"` {
				t.Errorf("the form was sent %s times", o.Data)
			}
		})
	}
}
