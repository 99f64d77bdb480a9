package engine

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/net/dns/dnsmessage"

	"troupe/engine/browser"
	"troupe/engine/egress"
	"troupe/testkit/need"
)

// turncoat is a resolver whose names stand for the first address once, and for
// the second from then on.
func turncoat(first, then string) (r *net.Resolver, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			size := make([]byte, 2)
			if _, err := io.ReadFull(theirs, size); err != nil {
				return
			}
			b := make([]byte, int(size[0])<<8|int(size[1]))
			var m dnsmessage.Message
			if _, err := io.ReadFull(theirs, b); err != nil || m.Unpack(b) != nil || len(m.Questions) != 1 {
				return
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				a := then
				if asked.Add(1) == 1 {
					a = first
				}
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()}}}
			}
			if b, err := m.Pack(); err == nil {
				_, _ = theirs.Write(append([]byte{byte(len(b) >> 8), byte(len(b))}, b...))
			}
		}()
		return ours, nil
	}}, asked
}

// TestGHSA_2pmr_289p_44r3 (Gotenberg, DNS rebinding): a page whose name stands
// for another address the next time does not get there, as the same origin or
// otherwise.
func TestGHSA_2pmr_289p_44r3(t *testing.T) {
	need.Browser(t)
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		_, _ = io.WriteString(w, "secret")
	}))
	t.Cleanup(inside.Close)
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	l, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Skipf("the same port on another loopback address: %v", err)
	}
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // so that the name is looked up again
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<h1>attacker</h1>")
	}))
	site.Listener.Close()
	site.Listener = l
	site.Start()
	t.Cleanup(site.Close)

	resolver, asked := turncoat("127.0.0.2", "127.0.0.1")
	out, err := egress.Start(egress.Config{Resolver: resolver, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	dir, err := os.MkdirTemp("", "troupe-rebinding-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	in, err := NewChromium(browser.Options{Dir: dir, Log: zerolog.Nop()}, out).Launch(ctx, "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	url := "http://rebind.example:" + port + "/"
	o := play(t, in.(*instance), `{"config":{"continueOnError":true},"timeout":30000,"actions":[{"open":"`+url+`"},{"getText":"h1","options":{"push":"all"}},
		{"evaluate":"try{return await (await fetch('/again',{cache:'no-store'})).text()}catch(e){return 'failed'}","options":{"push":"all"}},
		{"evaluate":"return await new Promise(r=>{const w=new WebSocket('ws://'+location.host);w.onopen=()=>r('open');w.onerror=()=>r('failed')})","options":{"push":"all"}},
		{"open":"`+url+`later"},{"uploadFile":["h1","`+url+`"]},{"getSavedData":"all"}]}`, TaskEnv{})
	if string(o.Data) != `{"all":["attacker","failed","failed"]}` || len(o.Failures) != 2 {
		t.Errorf("the page has %s; %v", o.Data, failuresOf(o))
	}
	for _, f := range o.Failures {
		if !strings.Contains(f.Text, "outbound rules") && f.Code != CodeNavigationFailed {
			t.Errorf("%+v", f)
		}
	}
	if n := reached.Load(); n != 0 || asked.Load() < 4 {
		t.Errorf("it was reached %d times; the name was asked for %d times", n, asked.Load())
	}
}
