package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"troupe/testkit/need"
)

// Cells are several clusters that are joined, each with accounts of its own: docs/decisions/0036
// has the design. It is not built. What is here plays it with real nodes and with the gateways
// of the engine, and with a network between the places that is slow and can be cut.

var cellDistance = flag.Duration("cell-distance", 80*time.Millisecond, "the way to another place and back in the simulation of cells")

// A request to another cell is answered by a receipt at once, or it did not arrive.
const cellReceipt = time.Second

func cellSubject(name string) string { return "troupe.cell." + name + ".http" }

// serve answers the requests of other cells for accounts that are at home here, by the node
// that takes them: first that they have arrived.
func (c *cells) serve(place *cell, n *httpNode, conn *nats.Conn) {
	_, err := conn.QueueSubscribe(cellSubject(place.name), "edges", func(m *nats.Msg) {
		go func() {
			_ = m.Respond(nil)
			answer, err := passOn(n.base, m.Data)
			if err != nil {
				answer = []byte("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")
			}
			_ = m.Respond(answer)
		}()
	})
	if err == nil {
		err = conn.Flush()
	}
	if err != nil {
		c.t.Error(err)
	}
}

// passOn sends a request to a node as it was sent by a client, and gives the answer.
func passOn(base string, request []byte) ([]byte, error) {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(base + r.RequestURI)
	if err != nil {
		return nil, err
	}
	r.URL, r.RequestURI = to, ""
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), "~")
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return httputil.DumpResponse(res, true)
}

// edge takes a client's request. A token says the home of its account before a tilde.
func (c *cells) edge(place *cell, n *httpNode, conn *nats.Conn) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := httputil.DumpRequest(r, true)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		home, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "~")
		var answer []byte
		if home == place.name {
			answer, err = passOn(n.base, request)
		} else {
			answer, err = c.askCell(r.Context(), conn, home, request)
		}
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, `{"success":false,"code":"no_quorum","error":"the home of this account, %s, is not reached: %v"}`, home, err)
			return
		}
		res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
	})
}

// askCell sends a request to another cell, and waits for its answer, once it is known that
// the request has arrived.
func (c *cells) askCell(ctx context.Context, conn *nats.Conn, home string, request []byte) ([]byte, error) {
	inbox := nats.NewInbox()
	answers, err := conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	if err := conn.PublishRequest(cellSubject(home), inbox, request); err != nil {
		return nil, err
	}
	m, err := answers.NextMsg(c.receipt)
	if err != nil {
		return nil, err
	}
	if m.Header.Get("Status") == "503" {
		return nil, errors.New("no node of it is there")
	}
	if m, err = answers.NextMsgWithContext(ctx); err != nil {
		return nil, err
	}
	return m.Data, nil
}

// ask sends a request to a place for an account that is at home in another one, or there.
func (c *cells) ask(at, home int, method, path, body string) reply {
	place := c.all[at]
	h := *place.nodes[0]
	h.base = place.edges[0].URL
	return h.ask(method, path, c.all[home].name+"~"+c.all[home].token, body)
}

// reaches reports whether a place gets an answer from another one. While the way between them
// opens again, the answer may be lost after the receipt.
func (c *cells) reaches(at, home int) bool {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*c.receipt)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", c.all[at].edges[0].URL+"/v1/usage", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.all[home].name+"~"+c.all[home].token)
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == 200
}

// TestCells: tasks run at the home of their account, wherever they arrive. While the places
// do not reach each other, each goes on by itself, what arrives elsewhere is refused, and
// afterwards all is as before.
func TestCells(t *testing.T) {
	need.All(t)
	t.Parallel()
	c := newCells(t)
	c.receipt = 4 * time.Second // tests of other packages keep the processors busy
	c.join()
	const task = `{"actions":[{"wait":0}],"queueTimeout":10000}`
	for at := range c.all {
		for home := range c.all {
			r := c.ask(at, home, "POST", "/v1/", task)
			if r.status != 200 || !r.Success || !strings.Contains(r.text, `"workerName":"`+c.all[home].name) {
				t.Errorf("a task of %s at %s: %d %s", c.all[home].name, c.all[at].name, r.status, r.text)
			}
		}
	}
	// A start at home is found from elsewhere.
	started := c.ask(0, 0, "POST", "/v1/", `{"async":true,"actions":[{"wait":0}],"queueTimeout":10000}`)
	soon(t, "its end is told elsewhere", func() bool {
		r := c.ask(1, 0, "GET", "/v1/get-result?taskId="+started.TaskID, "")
		return r.status == 200 && r.Status == "complete"
	})
	used := func(home int) int64 { return c.ask(home, home, "GET", "/v1/usage", "").Used }
	counted := []int64{3, 2}
	for home, n := range counted {
		soon(t, "the tasks so far are counted", func() bool { return used(home) == n })
	}

	mend := c.cut()
	for home := range c.all {
		if r := c.ask(home, home, "POST", "/v1/", task); r.status != 200 {
			t.Errorf("at home while the places are cut off: %d %s", r.status, r.text)
		}
		if r := c.ask(1-home, home, "POST", "/v1/", task); r.status != 503 || r.Code != "no_quorum" || !strings.Contains(r.text, c.all[home].name) {
			t.Errorf("elsewhere while the places are cut off: %d %s", r.status, r.text)
		}
		if r := c.all[home].nodes[1].ask("POST", "/v1/", c.all[home].token, `{"async":true,"actions":[{"wait":0}],"queueTimeout":10000}`); r.status != 200 {
			t.Errorf("a start at home while the places are cut off: %d %s", r.status, r.text)
		}
	}
	mend()
	soon(t, "the places reach each other again", func() bool { return c.reaches(0, 1) && c.reaches(1, 0) })
	for home := range c.all {
		if r := c.ask(1-home, home, "POST", "/v1/", task); r.status != 200 {
			t.Errorf("after the cut: %d %s", r.status, r.text)
		}
	}
	// A refused request may still arrive: its message was on its way. It is as with any
	// client that got no answer, and its key tells.
	for home := range c.all {
		soon(t, "the tasks are counted", func() bool {
			n := used(home) - counted[home]
			return n == 3 || n == 4
		})
	}
}

// BenchmarkCells measures what the places cost each other: a task and a durable start at home
// before they are joined and after, a task that arrives elsewhere, what crosses while
// nothing happens, and how soon a request is refused while they are cut off.
func BenchmarkCells(b *testing.B) {
	const rounds = 60
	c := newCells(b)
	median := func(ask func() reply) float64 {
		var took []float64
		for range rounds {
			began := time.Now()
			if r := ask(); r.status != 200 {
				b.Fatalf("%d %s", r.status, r.text)
			}
			took = append(took, float64(time.Since(began).Microseconds())/1000)
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	eu := c.all[0]
	const task, start = `{"actions":[{"wait":0}],"queueTimeout":10000}`, `{"async":true,"actions":[{"wait":0}],"queueTimeout":10000}`
	home := func(body string) func() reply {
		return func() reply { return eu.nodes[0].ask("POST", "/v1/", eu.token, body) }
	}
	for b.Loop() {
		if c.ways != nil {
			b.Fatal("run it with -benchtime 1x: the places are joined once")
		}
		median(home(task))
		b.ReportMetric(median(home(task)), "home-before-ms")
		b.ReportMetric(median(home(start)), "start-before-ms")
		c.join()
		b.ReportMetric(median(home(task)), "home-ms")
		b.ReportMetric(median(home(start)), "start-ms")
		b.ReportMetric(median(func() reply { return c.ask(0, 0, "POST", "/v1/", task) }), "home-by-edge-ms")
		b.ReportMetric(median(func() reply { return c.ask(1, 0, "POST", "/v1/", task) }), "elsewhere-ms")
		crossed := func() (n int64) {
			for _, w := range c.ways {
				n += w.bytes.Load()
			}
			return n
		}
		before, began := crossed(), time.Now()
		time.Sleep(10 * time.Second) // nothing happens
		b.ReportMetric(float64(crossed()-before)/time.Since(began).Seconds(), "idle-B/s")
		c.cut()
		began = time.Now()
		if r := c.ask(1, 0, "POST", "/v1/", task); r.status != 503 {
			b.Fatalf("%d %s", r.status, r.text)
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "refused-ms")
		b.ReportMetric(median(home(task)), "home-cut-ms")
		b.ReportMetric(median(home(start)), "start-cut-ms")
	}
}
