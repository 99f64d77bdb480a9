package outside_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// way is how the clients behave whose requests are sent.
type way string

const (
	taken    way = "taken"    // they send, and read all
	notRead  way = "unread"   // they send, and read nothing
	dripping way = "dripping" // they send all but the end, and of that a byte now and then
)

// longest is how long requests of one way are sent and held: by then what is there is there.
const longest = 2500 * time.Millisecond

// send sends so many requests at once, and holds them until the service takes no more for
// them. Then it weighs the service while they are held. Where answers are taken, one of them
// at least is waited for, whose status is want. What is said is how often which status came;
// 0 is for those that had no answer yet.
func (k *besieged) send(n int, how way, endless bool, want int, raw []byte) (x toll, said map[int]int) {
	k.t.Helper()
	said, k.said = map[int]int{}, map[int]string{}
	var mu sync.Mutex
	var done, bytes atomic.Int64
	var conns []net.Conn
	over := make(chan struct{})
	began := k.processor()
	d := net.Dialer{Timeout: hang, Control: func(_, _ string, c syscall.RawConn) error {
		if how == taken {
			return nil
		}
		return c.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<10) })
	}}
	var all sync.WaitGroup
	for range n {
		c, err := d.Dial("tcp", k.addr)
		if err != nil {
			k.t.Fatal(err)
		}
		conns = append(conns, c)
		all.Go(func() {
			if how == dripping {
				const end = 200
				if _, err := c.Write(raw[:len(raw)-end]); err != nil {
					return
				}
				for i := range end - 1 {
					select {
					case <-over:
						return
					case <-time.After(50 * time.Millisecond):
					}
					if _, err := c.Write(raw[len(raw)-end+i:][:1]); err != nil {
						return
					}
				}
				return
			}
			sent := make(chan struct{})
			go func() { // what is refused is answered before all of it was sent
				defer close(sent)
				_, _ = c.Write(raw)
			}()
			if how == notRead {
				<-sent
				return
			}
			r := bufio.NewReader(c)
			res, err := http.ReadResponse(r, nil)
			if err == nil {
				mu.Lock()
				said[res.StatusCode]++
				mu.Unlock()
				b, _ := io.ReadAll(io.LimitReader(res.Body, 300))
				mu.Lock()
				k.said[res.StatusCode] = string(b)
				mu.Unlock()
				_, err = io.Copy(io.Discard, tallied{res.Body, &bytes})
			}
			if err == nil || endless {
				done.Add(1)
			}
			<-over
			_ = c.Close()
			<-sent
		})
	}
	x.peak = k.resident()
	const most = 1 << 30 // the machine is there for other tests, too
	fatal := false
	settled := time.Now()
	answered := func() bool {
		mu.Lock()
		defer mu.Unlock()
		all := 0
		for _, times := range said {
			all += times
		}
		return how != taken || said[want] > 0 || all == n
	}
	for end, patient := settled.Add(longest), settled.Add(hang); (time.Now().Before(end) && time.Since(settled) < 150*time.Millisecond) || !answered() && time.Now().Before(patient); time.Sleep(2 * time.Millisecond) {
		now := k.resident()
		if now > x.peak+(256<<10) || how == taken && !endless && done.Load() < int64(n) {
			settled = time.Now()
		}
		x.peak = max(x.peak, now)
		if x.peak > k.rest.peak+most {
			x.live, fatal = x.peak, true
			break
		}
		if how == taken && done.Load() == int64(n) {
			break
		}
	}
	x.files = k.descriptors()
	x.processor = k.processor() - began
	if how == taken {
		x.processor /= time.Duration(max(1, done.Load(), bytes.Load()>>24)) // a part of a large answer is work, too
	} else {
		x.processor /= time.Duration(n)
	}
	if !fatal {
		k.othersNoticeNothing()
		x.live = k.left()
	}
	x.peak = max(x.peak, k.resident())
	close(over)
	for _, c := range conns {
		if how == notRead { // how each answer begins is there to be read
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			line := make([]byte, 12)
			status := 0
			if _, err := io.ReadFull(c, line); err == nil {
				status, _ = strconv.Atoi(string(line[9:]))
			}
			said[status]++
		}
		_ = c.Close()
	}
	all.Wait()
	return x, said
}

// tallied counts what is read.
type tallied struct {
	io.Reader
	n *atomic.Int64
}

func (c tallied) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// raw writes a request down.
func raw(method, target, host string, headers []string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, host)
	if !slices.ContainsFunc(headers, func(line string) bool { return strings.HasPrefix(line, "Connection: ") }) {
		b.WriteString("Connection: close\r\n")
	}
	for _, line := range headers {
		b.WriteString(line + "\r\n")
	}
	if method != http.MethodGet {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	const heads = 15 << 10 // with some room for what the service may add
	fmt.Fprintf(&b, "X-Rest: %s\r\n\r\n", strings.Repeat("x", max(0, heads-b.Len())))
	b.Write(body)
	return b.Bytes()
}
