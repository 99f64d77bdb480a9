package http_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/need"
)

// edge is a server before real actors, whose browsers are scripted: a picture
// of one says which tasks have left a trace in it.
type liveServer struct {
	*edge
	kit *testkit.Kit
	t   *testing.T
}

func openLiveServer(t *testing.T, change ...func(*http.Config)) *liveServer {
	t.Helper()
	k := testkit.New(t, testkit.Options{Workers: 1})
	e := openServer(t, k.Node, append([]func(*http.Config){func(c *http.Config) { c.Live, c.Origins = k.Node, []string{"https://console.example"} }}, change...)...)
	return &liveServer{e, k, t}
}

var (
	acc1 = testkit.Pro("acc1")
	acc2 = testkit.Pro("acc2")
)

// playing begins a task that goes on until end is called.
func (h *liveServer) playing(a api.Account, opts ...testkit.Option) (r *testkit.Request, end func()) {
	h.t.Helper()
	over, begun := make(chan struct{}), make(chan struct{})
	r = h.kit.Start(a, testkit.Task(append(opts, testkit.Waiting(time.Minute), testkit.Within(hang))...), testkit.Script{Do: func(ctx context.Context, _ testkit.Call) *engine.Outcome {
		close(begun)
		select {
		case <-over:
		case <-ctx.Done():
		}
		return &engine.Outcome{End: engine.EndCompleted}
	}})
	<-begun
	return r, func() { close(over); r.Answer() }
}

// ask sends a request with a token and reads the answer into v.
func (h *liveServer) get(method, path, token, body string, v any) int {
	h.t.Helper()
	req, err := nethttp.NewRequest(method, "http://"+h.addr+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	r, err := alone.RoundTrip(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	documented(h.t, method, path, r.StatusCode, r.Header.Get("Content-Type"), b)
	if v != nil {
		if err := json.Unmarshal(b, v); err != nil {
			h.t.Fatalf("%s: %v", b, err)
		}
	}
	return r.StatusCode
}

type made struct{ ID, Ticket, Link, Path string }

func (h *liveServer) ticket(token, object string) (m made) {
	h.t.Helper()
	if status := h.get("POST", "/v1/tickets", token, fmt.Sprintf(`{"object":%q}`, object), &m); status != 200 {
		h.t.Fatalf("a ticket for %s: %d", object, status)
	}
	return m
}

func (h *liveServer) link(token, object string) (m made) {
	h.t.Helper()
	if status := h.get("POST", "/v1/links", token, fmt.Sprintf(`{"object":%q,"label":"for the review"}`, object), &m); status != 200 {
		h.t.Fatalf("a link for %s: %d", object, status)
	}
	return m
}

// look opens a live picture; a status of zero means that it is open.
func (h *liveServer) dialLive(target string, protocols []string, headers ...string) (*websocket.Conn, int, problem) {
	h.t.Helper()
	head := nethttp.Header{}
	for _, line := range headers {
		k, v, _ := strings.Cut(line, ": ")
		head.Set(k, v)
	}
	d := websocket.Dialer{Subprotocols: protocols, HandshakeTimeout: hang}
	c, r, err := d.Dial("ws://"+h.addr+target, head)
	if err != nil {
		if r == nil {
			h.t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		var p problem
		_ = json.Unmarshal(b, &p)
		documented(h.t, "GET", target, r.StatusCode, r.Header.Get("Content-Type"), b)
		return nil, r.StatusCode, p
	}
	h.t.Cleanup(func() { c.Close() })
	_ = c.SetReadDeadline(time.Now().Add(hang))
	return c, 0, problem{}
}

const bearerGood = "Authorization: Bearer good"

// shows reads until a picture names the task.
func shows(t *testing.T, c *websocket.Conn, task string) {
	t.Helper()
	for {
		kind, b, err := c.ReadMessage()
		if err != nil {
			t.Fatalf("no picture of %s: %v", task, err)
		}
		if kind == websocket.BinaryMessage && strings.Contains(string(b), task) {
			return
		}
	}
}

// ends reads until the socket is closed, and says why it was.
func ends(t *testing.T, c *websocket.Conn) string {
	t.Helper()
	for {
		if _, _, err := c.ReadMessage(); err != nil {
			if e, ok := err.(*websocket.CloseError); ok {
				return fmt.Sprint(e.Code, " ", e.Text)
			}
			return err.Error()
		}
	}
}

// TestLivePictures: by a token, a ticket in the address and a link beside the
// protocol, from what is told first to the end of the task.
func TestLivePictures(t *testing.T) {
	t.Parallel()
	h := openLiveServer(t)
	r, end := h.playing(acc1)
	ticket, link := h.ticket("good", r.ID), h.link("good", "w1")
	if want := "/live#w1/" + link.Link; link.Path != want {
		t.Errorf("the path of a link is %q, want %q", link.Path, want)
	}
	var sockets []*websocket.Conn
	for name, way := range map[string]func() (*websocket.Conn, int, problem){
		"a token": func() (*websocket.Conn, int, problem) { return h.dialLive("/v1/live/w1", nil, bearerGood) },
		"a ticket": func() (*websocket.Conn, int, problem) {
			return h.dialLive("/v1/live/"+r.ID+"?ticket="+ticket.Ticket, nil)
		},
		"a ticket beside": func() (*websocket.Conn, int, problem) {
			return h.dialLive("/v1/live/"+r.ID, []string{"troupe.live", ticket.Ticket})
		},
		"a link": func() (*websocket.Conn, int, problem) {
			return h.dialLive("/v1/live/w1", []string{"troupe.live", link.Link})
		},
		"the operator's": func() (*websocket.Conn, int, problem) {
			return h.dialLive("/v1/live/"+r.ID, nil, "Authorization: Bearer boss")
		},
		"a page that may, elsewhere": func() (*websocket.Conn, int, problem) {
			return h.dialLive("/v1/live/w1", nil, bearerGood, "Origin: https://console.example")
		},
		"a page of ours": func() (*websocket.Conn, int, problem) {
			return h.dialLive("/v1/live/w1", nil, bearerGood, "Origin: http://"+h.addr)
		},
	} {
		c, status, p := way()
		if status != 0 {
			t.Fatalf("%s: %d %+v", name, status, p)
		}
		_, b, err := c.ReadMessage()
		var begin struct {
			Type, WorkerID, TaskID string
			Width, Rate            int
		}
		if json.Unmarshal(b, &begin) != nil || err != nil || begin.Type != "begin" || begin.WorkerID != "w1" || begin.TaskID != r.ID || begin.Width != 640 || begin.Rate < 5 {
			t.Errorf("%s: first comes %s (%v)", name, b, err)
		}
		shows(t, c, r.ID)
		sockets = append(sockets, c)
	}
	var list struct {
		Links []struct {
			ID, Label string
			Watching  int
		}
	}
	if h.get("GET", "/v1/links", "good", "", &list); len(list.Links) != 1 || list.Links[0].ID != link.ID || list.Links[0].Watching != 1 || list.Links[0].Label != "for the review" {
		t.Errorf("the links are %+v", list)
	}
	if h.get("GET", "/v1/links", "small", "", &list); len(list.Links) != 0 {
		t.Errorf("another account's are %+v", list)
	}
	if n := h.kit.Engine.Viewers("w1"); n != 1 {
		t.Errorf("the browser is looked at %d times", n)
	}
	if n := h.Streams().Stats().Viewers; n != len(sockets) {
		t.Errorf("%d look, want %d", n, len(sockets))
	}
	eventually(t, "the pictures are counted", func() bool { // when they have left, so the last one may be here before
		s := h.Streams().Stats()
		return s.Pictures >= int64(len(sockets)) && s.Bytes > s.Pictures
	})
	end()
	for _, c := range sockets {
		if why := ends(t, c); why != "4000 task_ended" {
			t.Errorf("it ends with %q", why)
		}
	}
	eventually(t, "nobody looks", func() bool { return h.Streams().Stats().Viewers == 0 && h.kit.Engine.Viewers("w1") == 0 })
}

// TestLivePicturesAreRefused: to whoever may not see them, before anything is
// shown.
func TestLivePicturesAreRefused(t *testing.T) {
	t.Parallel()
	h := openLiveServer(t)
	r, end := h.playing(acc1)
	defer end()
	own, revoked := h.ticket("good", "w1"), h.link("good", "w1")
	var expired made
	if status := h.get("POST", "/v1/tickets", "good", `{"object":"w1","ttl":1000}`, &expired); status != 200 {
		t.Fatalf("a ticket for a second: %d", status)
	}
	time.Sleep(time.Second)
	other, link := h.ticket("good", r.ID), h.link("good", "w1")
	if status := h.get("DELETE", "/v1/links/"+revoked.ID, "small", "", nil); status != 404 {
		t.Errorf("somebody else revokes a link: %d", status)
	}
	if status := h.get("DELETE", "/v1/links/"+revoked.ID, "good", "", nil); status != 200 {
		t.Errorf("revoked: %d", status)
	}
	beside := func(s string) []string { return []string{"troupe.live", s} }
	for name, c := range map[string]struct {
		target    string
		protocols []string
		headers   []string
		status    int
		code      string
	}{
		"nothing":                   {"/v1/live/w1", nil, nil, 401, "unauthorized"},
		"a token in the address":    {"/v1/live/w1?token=good&access_token=good", nil, nil, 401, "unauthorized"},
		"a token as a ticket":       {"/v1/live/w1?ticket=good", nil, nil, 401, "unauthorized"},
		"a token beside":            {"/v1/live/w1", beside("good"), nil, 401, "unauthorized"},
		"a ticket for another":      {"/v1/live/w1?ticket=" + other.Ticket, nil, nil, 401, "unauthorized"},
		"a ticket that has expired": {"/v1/live/w1?ticket=" + expired.Ticket, nil, nil, 401, "unauthorized"},
		"a link that was revoked":   {"/v1/live/w1", beside(revoked.Link), nil, 401, "unauthorized"},
		"a link in the address":     {"/v1/live/w1?ticket=" + link.Link, nil, nil, 401, "unauthorized"},
		"another protocol":          {"/v1/live/w1", []string{"other", link.Link}, nil, 401, "unauthorized"},
		"somebody else's page":      {"/v1/live/w1?ticket=" + own.Ticket, nil, []string{"Origin: https://attacker.example"}, 403, "foreign_origin"},
		"a page of no origin":       {"/v1/live/w1?ticket=" + own.Ticket, nil, []string{"Origin: null"}, 403, "foreign_origin"},
		"somebody else":             {"/v1/live/w1", nil, []string{"Authorization: Bearer small"}, 404, "not_found"},
		"somebody else's task":      {"/v1/live/" + r.ID, nil, []string{"Authorization: Bearer small"}, 404, "not_found"},
		"no such worker":            {"/v1/live/w9", nil, []string{bearerGood}, 404, "not_found"},
	} {
		if _, status, p := h.dialLive(c.target, c.protocols, c.headers...); status != c.status || p.Code != c.code {
			t.Errorf("%s: %d %+v", name, status, p)
		}
	}
	if status := h.get("GET", "/v1/live/w1", "good", "", nil); status != 426 {
		t.Errorf("without a handshake: %d", status)
	}
	for object, want := range map[string]int{r.ID: 404, "w1": 404, "account": 400} {
		if status := h.get("POST", "/v1/links", "small", fmt.Sprintf(`{"object":%q}`, object), nil); status != want {
			t.Errorf("a link to another's %s: %d", object, status)
		}
	}
	for body, want := range map[string]string{
		`[]`: "not an object", `{}`: "object is missing", `{"object":"w1","ttl":1000}`: "60000 to 86400000", `{"object":"w1","ttl":86400001}`: "ttl wants",
		`{"object":"w1","label":7}`: "label wants", `{"object":"w1","label":"` + strings.Repeat("ü", 101) + `"}`: "at most 100", `{"object":"w1","for":"bob"}`: `no field "for"`,
	} {
		var p problem
		if status := h.get("POST", "/v1/links", "good", body, &p); status != 400 || !strings.Contains(p.Error, want) {
			t.Errorf("%s: %d %+v", body, status, p)
		}
	}
	if n := h.kit.Engine.Viewers("w1"); n != 0 || h.Streams().Stats().Viewers != 0 {
		t.Errorf("the browser is looked at %d times", n)
	}
}

// TestLivePicturesEnd: at the end of a link, when it is revoked, when the client
// speaks or has too many, and when the service stops.
func TestLivePicturesEnd(t *testing.T) {
	need.Time(t)
	t.Parallel()
	store := persistence.NewMemory()
	defer store.Close()
	h := openLiveServer(t, func(c *http.Config) { c.Tickets = store })
	r, end := h.playing(acc1)
	defer end()
	open := func(protocols ...string) *websocket.Conn {
		t.Helper()
		head := []string{bearerGood}
		if protocols != nil {
			head = nil
		}
		c, status, p := h.dialLive("/v1/live/w1", protocols, head...)
		if status != 0 {
			t.Fatalf("%d %+v", status, p)
		}
		shows(t, c, r.ID)
		return c
	}
	revoked, brief := h.link("good", "w1"), linkOfAnotherNode(t, store, "good", "w1", 4*time.Second) // that is enough to be let in
	a, b := open("troupe.live", revoked.Link), open("troupe.live", brief)
	h.get("DELETE", "/v1/links/"+revoked.ID, "good", "", nil)
	if why := ends(t, a); why != "4000 revoked" {
		t.Errorf("a revoked link: %s", why)
	}
	speaks := open()
	_ = speaks.WriteMessage(websocket.TextMessage, []byte(`{"click":[1,1]}`))
	if why := ends(t, speaks); why != "1003 view_only" {
		t.Errorf("a client that speaks: %s", why)
	}
	if why := ends(t, b); why != "4000 expired" {
		t.Errorf("a link whose time is over: %s", why)
	}
	eventually(t, "nobody looks", func() bool { return h.Streams().Stats().Viewers == 0 })

	var all []*websocket.Conn
	for range 20 {
		all = append(all, open())
	}
	if _, status, p := h.dialLive("/v1/live/w1", nil, bearerGood); status != 429 || p.Code != "rate_limited" {
		t.Errorf("one more than may be: %d %+v", status, p)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	go func() { // so that all of them say goodbye
		for _, c := range all[1:] {
			_, _, _ = c.ReadMessage()
		}
	}()
	if err := h.Shutdown(ctx); err != nil {
		t.Errorf("the service stops: %v", err)
	}
	if why := ends(t, all[0]); why != "4000 draining" {
		t.Errorf("when the service stops: %s", why)
	}
	eventually(t, "nobody looks", func() bool { return h.Streams().Stats().Viewers == 0 })
}

// TestLivePicturesNeedAnAnswer: a client that is there and says nothing, not even
// to the pings, is not shown pictures for ever.
func TestLivePicturesNeedAnAnswer(t *testing.T) {
	t.Parallel()
	h := openLiveServer(t, func(c *http.Config) { c.Heartbeat = 50 * time.Millisecond })
	_, end := h.playing(acc1)
	defer end()
	silent, status, p := h.dialLive("/v1/live/w1", nil, bearerGood)
	if status != 0 {
		t.Fatalf("%d %+v", status, p)
	}
	silent.SetPingHandler(func(string) error { return nil })
	if why := ends(t, silent); strings.HasPrefix(why, "4000") || strings.Contains(why, "timeout") {
		t.Errorf("one that does not answer: %s", why)
	}
	eventually(t, "nobody looks", func() bool { return h.Streams().Stats().Viewers == 0 })
}
