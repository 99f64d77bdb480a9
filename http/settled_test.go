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

// bare reads the next answer of a connection, whatever it has.
func bare(t *testing.T, c net.Conn) (*nethttp.Response, int) {
	t.Helper()
	resp, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp, resp.StatusCode
}

// TestPathsThatChangeByNormalisingAreNothing: at each route. A proxy in front of the
// service that lets requests through by their paths, and reads one otherwise than the
// service, would let through what it must not.
func TestPathsThatChangeByNormalisingAreNothing(t *testing.T) {
	beside(t)
	e := openServer(t, &fakeActors{})
	c := e.dial(t, nil)
	n := 0
	for _, r := range http.Routes() {
		path := r.Path
		if before, rest, ok := strings.Cut(path, "{"); ok {
			_, after, _ := strings.Cut(rest, "}")
			path = before + "x" + after
		}
		last := strings.LastIndexByte(path[:max(len(path)-1, 1)], '/')
		for _, p := range []string{
			"/." + path, "/x/.." + path, "/.." + path, "/" + path, "/%2e" + path, "/x/%2E%2e" + path, "/x/..;" + path, "/x%2f.." + path,
			path[:last+1] + "./" + path[last+1:], path[:last+1] + "/" + path[last+1:], path[:last] + "%2f" + path[last+1:],
			path[:last] + "%5c" + path[last+1:], path[:last] + "/%252e%252e" + path[last:], path + "/..", path + "/.", path + "/../" + path[last+1:], path + "%00", path + "%",
		} {
			if !strings.HasPrefix(p, "/") {
				continue
			}
			fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\n\r\n", nethttp.MethodGet, p)
			resp, status := bare(t, c)
			if status != nethttp.StatusNotFound {
				t.Errorf("%s: %d", p, status)
			}
			if n++; resp.Close {
				c = e.dial(t, nil)
			}
		}
	}
	if n < 500 {
		t.Errorf("%d paths were tried", n)
	}
	for _, p := range []string{"/healthz", "/%68ealthz", "/v1/capacity?x=/../", "/readyz?writes=true"} { // what changes nothing is as it was
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\n\r\n", p)
		if _, status := bare(t, c); status == nethttp.StatusNotFound {
			t.Errorf("%s: %d", p, status)
		}
	}
}
