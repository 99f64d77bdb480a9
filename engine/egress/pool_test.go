package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"troupe/testkit/wait"
)

// lateServer is faulty: with the second request of a connection it sends an answer
// that was due to the first, and that only the first may have.
func lateServer(t *testing.T) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				first := ""
				r := bufio.NewReader(c)
				for {
					q, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					who := q.URL.Query().Get("who")
					body := "for " + who
					if first != "" {
						body = "late, for " + first
					} else {
						first = who
					}
					fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/?who="
}

// TestNoConnectionIsSharedBetweenTasks: what a faulty server sends for one task is
// never another's answer, whoever fetches: a browser or the service.
func TestNoConnectionIsSharedBetweenTasks(t *testing.T) {
	t.Parallel()
	url := lateServer(t)
	p := start(t, Config{AllowPrivate: true})
	one, two := open(t, p), open(t, p)
	browser := through(t, one.Addr())
	if _, body, _ := get(t, browser, url+"ada"); body != "for ada" {
		t.Fatalf("the first request is answered %q", body)
	}
	if _, body, _ := get(t, browser, url+"ada2"); body != "late, for ada" {
		t.Fatalf("connections are not kept within a task: %q", body)
	}
	check := func(what string, c *http.Client, who string) {
		t.Helper()
		if _, body, _ := get(t, c, url+who); body != "for "+who {
			t.Errorf("%s gets %q", what, body)
		}
	}
	check("another door", through(t, two.Addr()), "bob")
	check("the door that was opened with the proxy", through(t, p.Addr()), "main")
	check("what another door fetches", two.Client(), "carl")
	check("what the same door fetches", one.Client(), "ada3")
	one.Renew()
	check("the next task", through(t, one.Addr()), "dora")
	check("what the next task fetches", one.Client(), "emil")
	if _, body, _ := get(t, one.Client(), url+"emil2"); body != "late, for emil" {
		t.Errorf("connections are not kept within a task that fetches: %q", body)
	}
}

// TestRenewEndsWhatIsUnderWay: a request, a tunnel and a fetch of the task before
// end at once, and leave nothing behind for the next.
func TestRenewEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 3), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			arrived <- struct{}{}
			<-release
		}
		io.WriteString(w, "answer")
	})
	defer close(release)
	p := start(t, Config{AllowPrivate: true})
	d, other := open(t, p), open(t, p)
	ended := make(chan error, 3)
	fetch := func(c *http.Client) {
		resp, err := c.Get(s.URL + "/wait")
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		ended <- err
	}
	go fetch(through(t, d.Addr()))
	go fetch(d.Client())
	c, r, _ := speak(t, d.Addr(), connect(s.Listener.Addr().String()))
	io.WriteString(c, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
	go func() {
		_, err := http.ReadResponse(r, nil)
		ended <- err
	}()
	elsewhere := make(chan error, 1)
	for range 3 {
		<-arrived
	}
	old := d.e.connections()
	d.Renew()
	for range 3 {
		select {
		case err := <-ended:
			if err == nil {
				t.Error("an answer came after the end of its task")
			}
		case <-time.After(10 * time.Second):
			t.Fatal("a request outlived its task")
		}
	}
	if status, body, _ := get(t, through(t, d.Addr()), s.URL); status != 200 || body != "answer" {
		t.Errorf("the next task: %d %q", status, body)
	}
	wait.Until(t, "the connections of before are closed", func() bool {
		old.mu.Lock()
		defer old.mu.Unlock()
		return len(old.conns) == 0
	})
	go func() { _, err := through(t, other.Addr()).Get(s.URL); elsewhere <- err }()
	if err := <-elsewhere; err != nil {
		t.Errorf("another door: %v", err)
	}
	d.Close()
	d.Renew() // nothing happens to a door that is closed
	if _, err := d.Client().Get(s.URL); err == nil {
		t.Error("a closed door fetches after Renew")
	}
}
