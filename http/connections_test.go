package http_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"testing"

	"troupe/http"
)

// TestLingeringConnectionsKeepTheirPlaces: a connection that was refused, and whose client still
// sends, counts until it is closed. So there is one limit, and who is let in is served.
func TestLingeringConnectionsKeepTheirPlaces(t *testing.T) {
	const most = 2
	e := openServer(t, &fakeActors{}, func(c *http.Config) { c.MaxConns = most })
	var sending []net.Conn
	for range most {
		c := e.dial(t, nil)
		fmt.Fprint(c, "what is no request\r\n\r\n")
		if r, err := nethttp.ReadResponse(bufio.NewReader(c), nil); err != nil || r.StatusCode != 400 {
			t.Fatalf("the answer is %v, %v", r, err)
		}
		sending = append(sending, c)
	}
	ask := func() string {
		c := e.dial(t, nil)
		defer c.Close()
		fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
		b, _ := io.ReadAll(c)
		status, _, _ := strings.Cut(string(b), "\r\n")
		return status
	}
	others := make(chan string)
	for range 2 * most {
		go func() { others <- ask() }()
	}
	for range 2 * most {
		if status := <-others; status != "" && status != "HTTP/1.1 200 OK" { // over the limit, it is closed without a word
			t.Errorf("beside %d that are not closed yet, one is answered %q", most, status)
		}
	}
	for _, c := range sending {
		c.Close()
	}
	eventually(t, "there is room again", func() bool { return ask() == "HTTP/1.1 200 OK" })
}
