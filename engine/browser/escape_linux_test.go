package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"troupe/engine/browser"
	"troupe/testkit/need"
)

func init() { playOnIsland = runIsland }

// escape is a page that asks for everything a page can ask for. Each name says by
// what it is asked for. It is on localhost, where everything is allowed that needs
// a secure origin, and its last request says that it has tried all.
const escape = `<!doctype html><title>x</title>
<meta http-equiv="x-dns-prefetch-control" content="on">
<link rel="dns-prefetch" href="//dns-prefetch.test"><link rel="preconnect" href="http://preconnect.test"><link rel="preconnect" href="https://preconnect-tls.test" crossorigin>
<link rel="prefetch" href="http://prefetch.test/"><link rel="prerender" href="http://prerender.test/"><link rel="preload" as="image" href="http://preload.test/"><link rel="modulepreload" href="http://modulepreload.test/">
<link rel="icon" href="http://icon.test/"><link rel="manifest" href="http://manifest.test/" crossorigin><link rel="search" type="application/opensearchdescription+xml" href="http://search.test/">
<script type="speculationrules">{"prefetch":[{"urls":["https://speculation.test/"],"eagerness":"immediate"}],"prerender":[{"urls":["/prerendered"],"eagerness":"immediate"}]}</script>
<a href="http://anchor.test/">a</a><a id=p href="#x" ping="http://ping.test/">p</a><img src="http://image.test/"><img src="https://image-tls.test/"><img src="http://192.0.2.1/"><img src="http://[2001:db8::1]/"><img src="ftp://ftp.test/">
<img src="http://hidden.local/"><img src="http://bare/"><embed type="application/pdf" src="http://pdf.test/a.pdf"><object data="http://object.test/"></object><iframe src="http://frame.test/"></iframe>
<script>
const all = [];
const go = f => { try { all.push(Promise.resolve(f()).catch(() => {})) } catch {} };
go(() => p.click());
go(() => fetch('http://fetch.test/', {mode: 'no-cors'}));
go(() => fetch('http://fetch-local.test/', {mode: 'no-cors', targetAddressSpace: 'local'}));
go(() => fetchLater('http://fetch-later.test/', {activateAfter: 0}));
go(() => navigator.sendBeacon('http://beacon.test/', 'x'));
go(() => new WebSocket('ws://socket.test/'));
go(() => new WebSocket('wss://socket-tls.test/'));
go(() => new EventSource('http://events.test/'));
go(() => navigator.serviceWorker.register('/worker.js'));
go(() => new SharedWorker('/shared.js'));
for (const u of ['https://transport.test:4433/', 'https://192.0.2.2:4433/', 'https://127.0.0.1:4433/']) go(() => { const t = new WebTransport(u); t.closed.catch(() => {}); return t.ready });
for (const policy of ['all', 'relay']) go(async () => {
	const pc = new RTCPeerConnection({iceTransportPolicy: policy, iceServers: [
		{urls: ['stun:stun.test', 'stun:192.0.2.3:3478', 'stun:8.8.8.8:53', 'stun:[2001:db8::3]:3478']},
		{urls: ['turn:turn.test?transport=udp', 'turn:turn-tcp.test?transport=tcp', 'turns:turns.test', 'turn:192.0.2.4:3478?transport=tcp'], username: 'a', credential: 'b'}]});
	pc.createDataChannel('x'); pc.addTransceiver('audio');
	await pc.setLocalDescription(await pc.createOffer());
	const other = new RTCPeerConnection(); other.createDataChannel('y');
	await other.setRemoteDescription(pc.localDescription); await other.setLocalDescription(await other.createAnswer()); await pc.setRemoteDescription(other.localDescription);
	for (const c of ['candidate:1 1 udp 2113937151 192.0.2.5 5000 typ host', 'candidate:2 1 tcp 1518280447 192.0.2.6 9 typ host tcptype active', 'candidate:3 1 tcp 1518280447 192.0.2.6 5001 typ host tcptype passive', 'candidate:4 1 udp 2113937151 0f5f6a2c-7d2b-4d4e-9d5c-1f1f1f1f1f1f.local 5000 typ host', 'candidate:5 1 udp 2113937151 127.0.0.1 5002 typ host', 'candidate:6 1 tcp 1518280447 127.0.0.1 5003 typ host tcptype passive', 'candidate:7 1 udp 2113937151 ::1 5004 typ host'])
		await pc.addIceCandidate({candidate: c, sdpMid: '0'}).catch(() => {});
	await new Promise(r => setTimeout(r, 1000));
});
go(() => navigator.credentials.get({identity: {providers: [{configURL: 'https://fedcm.test/c.json', clientId: 'a'}]}}));
go(() => navigator.credentials.get({publicKey: {challenge: new Uint8Array(8), rpId: 'related.test'}}));
go(() => new PaymentRequest([{supportedMethods: 'https://pay.test/m'}], {total: {label: 'a', amount: {currency: 'EUR', value: '1'}}}).canMakePayment());
go(() => navigator.serviceWorker.ready.then(r => r.pushManager.subscribe({userVisibleOnly: true, applicationServerKey: new Uint8Array(65)})));
go(() => navigator.serviceWorker.ready.then(r => r.backgroundFetch.fetch('a', ['http://background.test/'])));
go(() => { const s = new webkitSpeechRecognition; s.start() });
go(() => speechSynthesis.speak(new SpeechSynthesisUtterance('x')));
go(() => new PresentationRequest('https://present.test/').getAvailability());
go(() => { const a = new Audio('http://audio.test/'); a.play(); a.remote && a.remote.watchAvailability(() => {}) });
go(() => navigator.geolocation.getCurrentPosition(() => {}));
go(() => import('http://import.test/'));
go(() => CSS.supports('a') || document.head.append(Object.assign(document.createElement('style'), {textContent: '@import "http://style.test/"; @font-face{font-family:f;src:url(http://font.test/)} p{font-family:f}'})));
go(() => { const l = document.createElement('link'); l.rel = 'dns-prefetch'; l.href = 'https://dns-prefetch-later.test'; document.head.append(l) });
go(() => { const f = document.createElement('iframe'); f.src = 'https://frame-tls.test/'; document.body?.append(f) });
go(() => fetch('/reports'));
go(() => open('http://popup.test/'));
go(() => { blocked.test });
addEventListener('load', () => go(() => new Image().src = 'http://late.test/'));
Promise.race([Promise.allSettled(all), new Promise(r => setTimeout(r, 2500))]).then(() => fetch('http://done.test/', {mode: 'no-cors'}));
</script><p>x`

// tried must have come to the proxy, or the page has not tried it.
var tried = strings.Fields(`beacon.test csp.test done.test events.test fetch.test font.test frame-tls.test frame.test image-tls.test image.test import.test
	inshared.test inworker.test late.test modulepreload.test object.test ping.test popup.test prefetch.test preload.test socket-inshared.test
	socket-inworker.test socket-tls.test socket.test style.test turn-tcp.test turns.test 192.0.2.4 192.0.2.6`)

// contexts is how many contexts play the page: one with the browser's proxy, and one
// with its own, as workers have it that share a browser.
const contexts = 2

// recordingProxy is the proxy of the browser in the isolated network: it writes down what it is asked
// for, and answers itself.
type recordingProxy struct {
	mu    sync.Mutex
	asked map[string]int
	done  chan struct{}
}

func (s *recordingProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	s.mu.Lock()
	s.asked[host]++
	if host == "done.test" && s.asked[host] == contexts {
		close(s.done)
	}
	s.mu.Unlock()
	h := w.Header()
	switch {
	case r.Method == http.MethodConnect:
		http.Error(w, "no", http.StatusBadGateway)
		return
	case host != "localhost":
		h.Set("Access-Control-Allow-Origin", "*")
		return
	}
	switch r.URL.Path {
	case "/":
		h.Add("Link", `<http://early.test>; rel=preconnect, <//early-dns.test>; rel=dns-prefetch, <http://early-image.test/>; rel=preload; as=image`)
		w.WriteHeader(http.StatusEarlyHints)
		h.Set("Content-Type", "text/html")
		h.Set("Reporting-Endpoints", `a="https://reporting.test/", b="http://localhost/report"`)
		h.Set("Report-To", `{"group":"n","max_age":9999,"endpoints":[{"url":"https://report-to.test/"}]}`)
		h.Set("NEL", `{"report_to":"n","max_age":9999,"success_fraction":1.0,"failure_fraction":1.0}`)
		h.Set("Content-Security-Policy", "script-src 'unsafe-inline' *; media-src 'none'; report-uri http://csp.test/; report-to a")
		h.Set("Content-Security-Policy-Report-Only", "img-src 'none'; report-uri http://csp.test/")
		h.Set("Alt-Svc", `h3="alt.test:443"; ma=9999, h2="alt2.test:443"; ma=9999`)
		io.WriteString(w, escape)
	case "/worker.js", "/shared.js":
		h.Set("Content-Type", "text/javascript")
		fmt.Fprintf(w, "fetch('http://in%s.test/',{mode:'no-cors'}).catch(()=>{}); try{new WebSocket('ws://socket-in%s.test/')}catch{}", r.URL.Path[1:7], r.URL.Path[1:7])
	default:
		h.Set("Content-Type", "text/html")
		io.WriteString(w, "<title>x</title>")
	}
}

// isolatedRun is what happened in the isolated network.
type isolatedRun struct {
	Error   string
	Escaped []string // what was sent, but not to the proxy
	Proxied int      // connections to the proxy
	Asked   []string // hosts that the proxy was asked for
}

func runIsland(dir string) {
	v := func() (v isolatedRun) {
		fail := func(err error) isolatedRun { v.Error = err.Error(); return v }
		seen, err := isolatedNetwork(dir)
		if err != nil {
			return fail(err)
		}
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return fail(err)
		}
		s := &recordingProxy{asked: map[string]int{}, done: make(chan struct{})}
		go http.Serve(l, s)
		ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
		defer cancel()
		o := options(dir)
		o.Proxy = l.Addr().String()
		b, err := browser.Launch(ctx, o)
		if err != nil {
			return fail(err)
		}
		defer b.Close()
		var all []*browser.Context
		for _, proxy := range [contexts]string{"", o.Proxy} {
			c, err := b.NewContext(ctx, proxy)
			if err != nil {
				return fail(err)
			}
			all = append(all, c)
			tab, err := c.Tab(ctx)
			if err == nil {
				err = tab.Navigation.Open(ctx, "http://localhost/")
			}
			if err != nil {
				return fail(err)
			}
		}
		select {
		case <-s.done:
		case <-ctx.Done():
			return fail(errors.New("the page has not come to its end"))
		}
		for _, c := range all { // what is sent at the end of a page, too
			if err := c.Close(ctx); err != nil {
				return fail(err)
			}
		}
		b.Close()
		v.Escaped, v.Proxied = seen.besides(o.Proxy)
		s.mu.Lock()
		defer s.mu.Unlock()
		for host := range s.asked {
			v.Asked = append(v.Asked, host)
		}
		return v
	}()
	json.NewEncoder(os.Stdout).Encode(v)
	os.Exit(0)
}

// TestNothingLeavesButThroughTheProxy: a browser in a network where everything is
// seen sends no packet but to its proxy, whatever a page does: no question for a
// name, nothing over UDP, nothing of its own.
func TestNothingLeavesButThroughTheProxy(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	dir, err := os.MkdirTemp("", "isolated")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o711) // the browser's user must reach its folder
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), isolatedDir+"="+dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	out, err := cmd.Output()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("networks of their own can be made by root only")
	}
	var v isolatedRun
	if err := errors.Join(err, json.Unmarshal(out, &v)); err != nil || v.Error != "" {
		t.Fatalf("%v %s %s", err, v.Error, out)
	}
	slices.Sort(v.Escaped)
	for _, e := range v.Escaped {
		t.Errorf("it went around the proxy: %s", e)
	}
	slices.Sort(v.Asked)
	t.Logf("%d connections to the proxy, for %s", v.Proxied, strings.Join(v.Asked, " "))
	if v.Proxied == 0 {
		t.Error("the packets were not seen")
	}
	for _, host := range tried {
		if !slices.Contains(v.Asked, host) {
			t.Errorf("%s was not asked for", host)
		}
	}
}
