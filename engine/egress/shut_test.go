package egress

import (
	"bufio"
	"io"
	"net/http"
	"testing"
	"time"
)

// TestShutEndsWhatIsUnderWay: nothing goes through a door that is shut, whether it has
// begun or not, until the next bound.
func TestShutEndsWhatIsUnderWay(t *testing.T) {
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
	c, r, _ := speak(t, d.Addr(), connect(s.Listener.Addr().String()))
	io.WriteString(c, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
	ended := make(chan error, 1)
	go func(r *bufio.Reader) {
		_, err := http.ReadResponse(r, nil)
		ended <- err
	}(r)
	<-arrived
	d.Shut()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("an answer came through a door that is shut")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a tunnel outlived the door")
	}
	for _, client := range []*http.Client{through(t, d.Addr()), d.Client()} {
		if res, err := client.Get(s.URL); err == nil {
			res.Body.Close()
			t.Errorf("an answer through a door that is shut: %s", res.Status)
		}
	}
	if status, body, _ := get(t, through(t, other.Addr()), s.URL); status != 200 || body != "answer" {
		t.Errorf("another door: %d %q", status, body)
	}
	d.Renew()
	if _, err := through(t, d.Addr()).Get(s.URL); err == nil {
		t.Error("Renew opens a door that is shut")
	}
	d.Bound(0, func() {})
	if status, body, _ := get(t, through(t, d.Addr()), s.URL); status != 200 || body != "answer" {
		t.Errorf("after the next bound: %d %q", status, body)
	}
}
