package outside_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/fasthttp/websocket"
)

// A client that is attached to a session of another node than the one that it is connected to.

// address is where a client connects to at a node, with a ticket of that node.
func (l *login) address(at *member, ticket string) string {
	l.g.t.Helper()
	x := l.g.ask(at, "POST", "/v1/sessions/"+l.id+"/tickets", ticket)
	_, url, _ := strings.Cut(x.body, `"url":"`)
	url, _, _ = strings.Cut(url, `"`)
	if x.status != http.StatusCreated || !strings.HasPrefix(url, strings.Replace(at.base, "http", "ws", 1)) {
		l.g.t.Fatalf("a ticket at %s: %v", at.name, x)
	}
	return url
}

// attaches connects again until the session is there again.
func (l *login) attaches(address string, within time.Duration) *rawClient {
	l.g.t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(200 * time.Millisecond) {
		d := websocket.Dialer{HandshakeTimeout: hang}
		ws, answer, err := d.Dial(address, nil)
		if err == nil {
			l.g.t.Cleanup(func() { ws.Close() })
			return &rawClient{t: l.g.t, ws: ws}
		}
		why := err.Error()
		if answer != nil {
			b := make([]byte, 4096)
			n, _ := answer.Body.Read(b)
			why = string(b[:n])
		}
		if time.Now().After(end) || !strings.Contains(why, `"session_elsewhere"`) {
			l.g.t.Fatalf("attach again: %s", why)
		}
	}
}

// sees fails the test unless a client finds the session signed in.
func (l *login) sees(c *rawClient) {
	l.g.t.Helper()
	page, _ := c.page()
	a := c.call(page, "Runtime.evaluate", fmt.Sprintf(`{"expression":"fetch('%s').then(r => r.text()).then(s => s + location.href + localStorage.getItem('cart'))","awaitPromise":true}`, l.site+"/home"))
	for _, want := range []string{"ada at /home", l.site + "/home", "3 apples"} {
		if !strings.Contains(string(a.Result), want) {
			l.g.t.Fatalf("the client finds %s, %+v: want %q", a.Result, a.Error, want)
		}
	}
}

func (c *rawClient) endsWith(code int, word string) {
	c.t.Helper()
	if got, why := c.ended(); got != code || !strings.HasPrefix(why, word+": ") {
		c.t.Errorf("the socket is closed with %d %q, want %d %s", got, why, code, word)
	}
}

var _ = promise(sessions, "clients attach by other nodes, and the node of the session is stopped", short, func(g *testCluster) {
	m, at, beside := g.nodes[1], g.nodes[0], g.nodes[2]
	l := g.signsIn(m)
	again := l.address(at, `{"reuse":true}`)
	once := strings.Replace(l.address(beside, `{}`), beside.base[len("http"):], at.base[len("http"):], 1) // a ticket of another node
	c := l.attaches(once, 0)
	if status, text := refusedAttach(g.t, once, nil); status != 401 {
		g.t.Errorf("the ticket a second time: %d %s", status, text)
	}
	l.sees(c)
	page, _ := c.page()
	if a := c.call(page, "Page.captureScreenshot", ""); len(a.Result) < 1000 {
		g.t.Errorf("a screenshot: %d bytes, %+v", len(a.Result), a.Error)
	}
	large := strings.Repeat("x", 5<<20)
	if a := c.call(page, "Runtime.evaluate", fmt.Sprintf(`{"expression":"'%s' + 1","returnByValue":true}`, large)); len(a.Result) < len(large) {
		g.t.Errorf("a large command: %d bytes, %+v", len(a.Result), a.Error)
	}
	stranger := http.Header{"Authorization": {"Bearer " + g.newToken("mallory", "pro")}}
	for _, by := range g.nodes { // knowing a session is not having it
		address := strings.Replace(by.base, "http", "ws", 1) + "/v1/sessions/" + l.id + "/cdp?takeover=true&queueTimeout=0"
		if status, text := refusedAttach(g.t, address, stranger); status != 404 {
			g.t.Errorf("another account takes the session over at %s: %d %s", by.name, status, text)
		}
	}
	l.sees(c)
	other := l.attaches(l.address(beside, `{}`)+"&takeover=true", 0)
	c.endsWith(4001, "taken_over")
	l.sees(other)
	other.call("", "Browser.close", "")
	other.endsWith(1000, "closed")
	c = l.attaches(again+"&queueTimeout=5000", 0)
	l.sees(c)
	g.stop(m)
	c.endsWith(4002, "draining")
	began := time.Now()
	c = l.attaches(again+"&queueTimeout=10000", afterStop)
	l.sees(c)
	g.within("the client goes on, signed in as before", afterStop, time.Since(began))
	if x := g.ask(beside, "DELETE", "/v1/sessions/"+l.id, ""); x.status != 200 {
		g.t.Errorf("closed by another node: %v", x)
	}
	c.endsWith(4000, "session_ended")
})

var _ = promise(sessions, "a node with a session that a client is attached to is killed", whole, func(g *testCluster) {
	m, at := g.nodes[1], g.nodes[2]
	l := g.signsIn(m)
	again := l.address(at, `{"reuse":true}`)
	c := l.attaches(again, 0)
	l.sees(c)
	began := time.Now()
	g.kill(m)
	c.endsWith(4009, "node_lost")
	g.within("the client hears of it", 5*time.Second, time.Since(began))
	c = l.attaches(again+"&queueTimeout=20000", afterLease)
	l.sees(c)
	g.within("the client goes on, signed in as before", afterLease, time.Since(began))
	c.call("", "Browser.close", "")
	c.endsWith(1000, "closed")
	g.good(g.play(at, fmt.Sprintf(`{"session":{"id":%q,"close":true},"queueTimeout":5000}`, l.id)))
})
