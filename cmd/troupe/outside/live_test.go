package outside_test

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"troupe/testkit/leaks"
)

// TestNobodySeesAnothersBrowser lets two accounts play in turn on the one worker
// of a service, each on pages of its own colour, while both look at the worker
// whenever they are let.
func TestNobodySeesAnothersBrowser(t *testing.T) {
	t.Parallel()
	leaks.Check(t)
	dir, err := os.MkdirTemp("", "tr") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := operatorCLI{t, filepath.Join(dir, "data")}
	tokens := map[string]string{"red": d.says("token", "create", "--account=ada", "--plan=pro"), "blue": d.says("token", "create", "--account=bob", "--plan=pro")}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<body style='background:%s'>", r.URL.Path[1:])
	}))
	t.Cleanup(site.Close)
	_, base := serve(t, d.data, "--workers=1", "--allow-cidr=127.0.0.1/32", "--log-level=error")
	_, list := fetch(t, base+"/v1/workers", tokens["red"])
	worker := regexp.MustCompile(`"workerId":"([^"]+)"`).FindStringSubmatch(list)
	if worker == nil {
		t.Fatal("there is no worker")
	}

	stop := make(chan struct{})
	var looking sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]map[string]int{}
	for own, token := range tokens {
		seen[own] = map[string]int{}
		looking.Go(func() {
			for {
				c, _, err := websocket.DefaultDialer.Dial(strings.Replace(base, "http", "ws", 1)+"/v1/live/"+worker[1], http.Header{"Authorization": {"Bearer " + token}})
				for err == nil {
					_ = c.SetReadDeadline(time.Now().Add(hang))
					var kind int
					var b []byte
					if kind, b, err = c.ReadMessage(); err == nil && kind == websocket.BinaryMessage {
						mu.Lock()
						seen[own][shade(b)]++
						mu.Unlock()
					}
				}
				if c != nil {
					c.Close()
				}
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
	}
	few := func() bool { // to say anything about
		mu.Lock()
		defer mu.Unlock()
		return seen["red"]["red"] < 2 || seen["blue"]["blue"] < 2
	}
	for i := 0; i < 3 || few() && i < 20; i++ {
		for own, token := range tokens {
			if status, got, err := post(base, token, `{"queueTimeout":10000,"actions":[{"open":"`+site.URL+`/`+own+`"},{"wait":350}]}`); err != nil || status != 200 || !strings.Contains(got, `"success":true,"taskId"`) {
				t.Fatalf("%d %s %v", status, got, err)
			}
		}
	}
	close(stop)
	looking.Wait()
	for own, other := range map[string]string{"red": "blue", "blue": "red"} {
		if n := seen[own]; n[other] > 0 || n["other"] > 0 || n[own] < 2 {
			t.Errorf("who plays on %s pages has seen %v", own, n)
		}
	}
}

// shade is the colour in the middle of a picture.
func shade(picture []byte) string {
	img, err := jpeg.Decode(bytes.NewReader(picture))
	if err != nil {
		return err.Error()
	}
	size := img.Bounds().Size()
	r, g, b, _ := img.At(size.X/2, size.Y/2).RGBA()
	switch {
	case min(r, g, b) > 60000:
		return "white"
	case r > 50000 && max(g, b) < 10000:
		return "red"
	case b > 50000 && max(r, g) < 10000:
		return "blue"
	}
	return "other"
}
