package outside_test

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"troupe/actors"
)

// What a client is promised whose session was on a node that is lost.
const (
	// afterLease is from the loss of the node to the answer of the first request,
	// with the start of a browser and the page in it.
	afterLease = 25 * time.Second
	// afterStop is the same for a node that was told to stop.
	afterStop = 10 * time.Second
)

// login is a session that somebody has signed in with.
type login struct {
	g      *testCluster
	site   string
	id     string
	worker string
}

// signsIn opens a session on the worker of a node and signs in there: with a cookie
// that scripts cannot see, and with something in the page's storage.
func (g *testCluster) signsIn(m *member) *login {
	g.t.Helper()
	at, err := url.Parse(g.site.url)
	if err != nil {
		g.t.Fatal(err)
	}
	host, _, err := net.SplitHostPort(at.Host)
	if err != nil {
		g.t.Fatal(err)
	}
	l := &login{g: g, site: serveOn(g.t, host, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			http.SetCookie(rw, &http.Cookie{Name: "user", Value: "ada", Path: "/", HttpOnly: true})
			http.Redirect(rw, r, "/home", http.StatusSeeOther)
			return
		}
		user := "nobody"
		if c, err := r.Cookie("user"); err == nil {
			user = c.Value
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<h1>%s at %s</h1>", user, r.URL.Path)
	})}
	x := g.good(g.play(m, on(m.name, fmt.Sprintf(`"session":{"preserve":true},"actions":[{"open":%q},{"evaluate":"localStorage.setItem('cart', '3 apples'); return 1"}]`, l.site+"/login"))))
	if l.id, l.worker = x.SessionID, x.WorkerID; l.id == "" {
		g.t.Fatalf("no session: %v", x)
	}
	return l
}

// looks is what a page says of who looks at it, without opening it.
const looks = `{"evaluate":"return document.querySelector('h1').textContent + ', ' + localStorage.getItem('cart')"}`

// goesOn fails the test unless the session goes on where it was, still signed in.
func (l *login) goesOn(at *member, restored bool) nodeAnswer {
	l.g.t.Helper()
	x := l.g.good(l.g.play(at, fmt.Sprintf(`{"session":{"id":%q},"queueTimeout":10000,"actions":[%s]}`, l.id, looks)))
	if fmt.Sprint(x.Data) != "ada at /home, 3 apples" || x.SessionID != l.id || strings.Contains(x.body, `"restored":true`) != restored {
		l.g.t.Fatalf("at %s the session says, restored %v: %v", at.name, restored, x)
	}
	return x
}

// misses waits until a node knows that so many others are down.
func (g *testCluster) misses(at *member, n int) {
	g.t.Helper()
	g.until(at.name+" knows of the loss", func() bool {
		return strings.Count(g.ask(at, "GET", "/v1/cluster", "").body, `"up":false`) == n
	})
}

// gone fails the test unless the worker of a node, which is back, has nothing of the
// session, and the session is where it was restored.
func (l *login) gone(m *member, worker string) {
	g := l.g
	g.t.Helper()
	began := time.Now()
	g.until("the worker of "+m.name+" is free", func() bool {
		x := g.ask(m, "GET", "/v1/workers", "")
		_, about, _ := strings.Cut(x.body, actors.WorkerID(m.name, 1))
		about, _, _ = strings.Cut(about, "}")
		return strings.Contains(about, `"state":"online"`)
	})
	g.within("back: its worker is free", 15*time.Second, time.Since(began))
	for _, at := range g.nodes {
		if x := l.goesOn(at, false); x.WorkerID != worker {
			g.t.Errorf("from %s the session leads to %s, and was restored on %s", at.name, x.WorkerID, worker)
		}
	}
	named := g.good(g.play(m, fmt.Sprintf(`{"workerId":%q,"session":{"id":%q},"actions":[%s]}`, l.worker, l.id, looks)))
	if named.WorkerID != worker {
		g.t.Errorf("with its old worker it leads to %s", named.WorkerID)
	}
	x := g.good(g.play(m, on(m.name, fmt.Sprintf(`"actions":[{"open":%q},%s]`, l.site+"/home", looks))))
	if fmt.Sprint(x.Data) != "nobody at /home, null" {
		g.t.Errorf("its old worker still has of the session: %v", x)
	}
	g.good(g.play(m, fmt.Sprintf(`{"session":{"id":%q,"close":true}}`, l.id)))
	g.allKnow(g.workers())
	if x := g.play(m, fmt.Sprintf(`{"session":{"id":%q},"actions":[%s]}`, l.id, looks)); x.Code != "session_mismatch" {
		g.t.Errorf("a session that was closed: %v", x)
	}
}

var _ = promise(sessions, "a node with a session is stopped", quick, func(g *testCluster) {
	m, at := g.nodes[1], g.nodes[0]
	l := g.signsIn(m)
	l.goesOn(at, false)
	g.stop(m)
	began := time.Now()
	l.goesOn(at, true)
	g.within("the session goes on elsewhere, signed in as before", afterStop, time.Since(began))
	g.good(g.play(at, fmt.Sprintf(`{"session":{"id":%q,"close":true}}`, l.id)))
})

var _ = promise(sessions, "a node with a session is killed", whole, func(g *testCluster) {
	m, at := g.nodes[1], g.nodes[2]
	l := g.signsIn(m)
	began := time.Now()
	g.kill(m)
	x := l.goesOn(at, true)
	g.within("the session goes on elsewhere, signed in as before", afterLease, time.Since(began))
	g.start(m)
	l.gone(m, x.WorkerID)
})

var _ = promise(sessions, "a node with a session sleeps for 15 s and wakes up", whole, func(g *testCluster) {
	m, at := g.nodes[1], g.nodes[2]
	l := g.signsIn(m)
	began := time.Now()
	g.freeze(m)
	g.misses(at, 1) // what is sent there before is lost with it
	x := l.goesOn(at, true)
	g.within("the session goes on elsewhere, signed in as before", afterLease, time.Since(began))
	time.Sleep(time.Until(began.Add(15 * time.Second))) // as long as it has to sleep
	g.wake(m)
	l.gone(m, x.WorkerID)
})

var _ = promise(sessions, "a node with a session is cut off", whole, func(g *testCluster) {
	g.needNetworks()
	m, at := g.nodes[1], g.nodes[2]
	l := g.signsIn(m)
	l.goesOn(m, false)
	began := time.Now()
	g.cutOff(m)
	g.misses(at, 1)
	x := l.goesOn(at, true)
	g.within("the session goes on elsewhere, signed in as before", afterLease, time.Since(began))
	if y := g.play(m, fmt.Sprintf(`{"session":{"id":%q},"actions":[%s]}`, l.id, looks)); y.status != http.StatusServiceUnavailable || y.Code != "no_quorum" {
		g.t.Errorf("on the other side the session says %v", y)
	}
	g.heal(m)
	l.gone(m, x.WorkerID)
})
