package egress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

var waysToAsk = map[string]asker{"the kernel's answer": askDiag, "the kernel's table": askTable}

// TestOtherUsersDoNotComeIn: neither by a door nor by the main entrance, however
// it is found out who they are; and who is gone is nobody.
func TestOtherUsersDoNotComeIn(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "reached") })
	for name, ask := range waysToAsk {
		t.Run(name, func(t *testing.T) {
			if !works(ask) {
				t.Skip("this system does not tell it so")
			}
			log := new(told)
			p := start(t, Config{AllowPrivate: true, Log: zerolog.New(log), ask: ask})
			d := open(t, p)
			for what, addr := range map[string]string{"the door": d.Addr(), "the main entrance": p.Addr()} {
				if status, body, _ := get(t, through(t, addr), s.URL); status != 200 || body != "reached" {
					t.Errorf("%s: %d %q", what, status, body)
				}
				as(t, 4242, func() { knock(t, what+", by another user", addr, s.URL) })
				own := admitOnly(p, uint32(os.Geteuid())+1)
				knock(t, what+", by one who was let in before", addr, s.URL)
				admitOnly(p, own...)
			}
			if n := strings.Count(log.String(), "another user of this machine"); n != 1 {
				t.Errorf("it is told %d times: %s", n, log)
			}

			c, err := net.Dial("tcp", d.Addr())
			if err != nil {
				t.Fatal(err)
			}
			from, to := addrPort(c.LocalAddr()), addrPort(c.RemoteAddr())
			if user, err := ask(from, to); err != nil || user != uint32(os.Geteuid()) {
				t.Errorf("an own socket is that of %d, %v", user, err)
			}
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n")
			c.Close()
			if user, err := ask(from, to); !errors.Is(err, errNoCaller) {
				t.Errorf("a socket that is closed is that of %d, %v", user, err)
			}
			if user, err := ask(to, to); !errors.Is(err, errNoCaller) {
				t.Errorf("one that listens is that of %d, %v", user, err)
			}
		})
	}
}

// told is what was logged.
type told struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *told) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *told) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// knock asks for a page, and must not get as much as an answer.
func knock(t *testing.T, what, addr, url string) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(c, "GET "+url+"/ HTTP/1.1\r\nHost: x\r\n\r\n") // it may be closed by now
	b, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) || len(b) > 0 {
		t.Errorf("%s: %q, %v", what, b, err)
	}
}

// admitOnly lets nobody else in, and returns who was let in before.
func admitOnly(p *Proxy, users ...uint32) []uint32 {
	p.callers.mu.Lock()
	defer p.callers.mu.Unlock()
	before := p.callers.users
	p.callers.users = users
	return before
}

// as has something done by a thread whose sockets are another user's. That takes
// root; without it nothing is done.
func as(t *testing.T, user int, do func()) {
	if os.Geteuid() != 0 {
		t.Log("only root can make sockets of other users")
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		_ = unix.Setfsuid(user)
		if now, err := unix.SetfsuidRetUid(-1); err != nil || now != user {
			t.Errorf("the thread is of %d, %v", now, err)
		}
		do()
	}()
	<-done
}

// TestTableOfSockets: what is not the socket is not taken for it.
func TestTableOfSockets(t *testing.T) {
	from, to := addrPort(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 0x1234}), addrPort(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 0x5678})
	line := func(local, remote, user, inode string) string {
		return "   1: " + local + " " + remote + " 01 00000000:00000000 00:00000000 00000000 " + user + " 0 " + inode + " 1 0 20 4 30 10 -1\n"
	}
	const a, b = "0100007F:1234", "0100007F:5678"
	if [2]byte(to.Addr().AsSlice()[:2]) != [2]byte{127, 0} {
		t.Fatal(to)
	}
	for text, want := range map[string]uint32{
		line(a, b, "1000", "77"):                                  1000,
		line(b, a, "0", "78") + line(a, b, "1000", "77"):          1000,
		line(a, "00000000:0000", "0", "1") + line(a, b, "5", "2"): 5,
		line(a, b, "1000", "0"):                                   0,
		line(b, a, "1000", "77"):                                  0,
		line("0200007F:1234", b, "1000", "77"):                    0,
		line(a, b, "-1", "77"):                                    0,
		line(a, b, "99999999999", "77"):                           0,
		"":                                                        0,
		"   1: " + a + " " + b + " 01\n":                          0,
	} {
		user, err := inTable(strings.NewReader(text), from, to)
		if want == 0 && !errors.Is(err, errNoCaller) || want != 0 && (err != nil || user != want) {
			t.Errorf("%q: %d, %v", text, user, err)
		}
	}
}

// BenchmarkCaller shows what it costs to know who comes in, for each connection.
func BenchmarkCaller(b *testing.B) {
	s := serve(b, func(http.ResponseWriter, *http.Request) {})
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	from, to := addrPort(c.LocalAddr()), addrPort(c.RemoteAddr())
	for name, ask := range waysToAsk {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := ask(from, to); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
