package outside_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// overSocket asks on a private socket.
func overSocket(socket, path string) (status int, body string, err error) {
	c := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}}}
	r, err := c.Get("http://troupe" + path)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return r.StatusCode, string(b), err
}

// soakSite has a page that shows a number and takes a file.
func soakSite(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<title>soak</title><h1>number %s</h1><input type=file id=f><input id=name><button id=b onclick="b.textContent='pressed'">press</button>`,
			r.URL.Query().Get("n"))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// mixed plays tasks of every kind for one account and knows how each must end.
type mixed struct {
	base, token, site string
	kept              atomic.Int64 // answers that the store keeps for a while
	pictures          atomic.Int64

	mu    sync.Mutex
	count map[string]int
}

// kinds are the kinds of tasks, the frequent ones more than once.
var kinds = []string{"plain", "plain", "plain", "plain", "fills", "session", "later", "upload", "picture", "fails", "cancelled", "too late", "goes away"}

func (m *mixed) play(pick *rand.Rand, n int64) error {
	kind := kinds[pick.IntN(len(kinds))]
	m.mu.Lock()
	if m.count == nil {
		m.count = map[string]int{}
	}
	m.count[kind]++
	m.mu.Unlock()
	if err := m.one(kind, n, pick); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}

func (m *mixed) ends() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m.count)) {
		fmt.Fprintf(&b, "%s %d, ", k, m.count[k])
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func (m *mixed) one(kind string, n int64, pick *rand.Rand) error {
	open := fmt.Sprintf(`{"open":"%s/?n=%d"}`, m.site, n)
	number := fmt.Sprintf(`"data":"number %d"`, n)
	task := func(more, actions string) string {
		return `{"queueTimeout":120000,` + more + `"actions":[` + actions + `]}`
	}
	switch kind {
	case "plain":
		return m.wants(200, number, task("", open+`,{"getText":"h1"}`))
	case "fills":
		return m.wants(200, `"data":"pressed"`, task("", open+`,{"fill":["#name","ada"]},{"click":"#b"},{"getText":"#b"}`))
	case "picture":
		m.pictures.Add(1)
		return m.wants(200, "/files/", task("", open+`,{"screenshot":"viewport"}`))
	case "fails":
		return m.wants(200, `"code":"element_not_found"`, task("", open+`,{"click":"#nothing","options":{"timeout":50}}`))
	case "too late":
		return m.wants(408, `"code":"task_timeout"`, task(`"timeout":300,`, `{"wait":5000}`))
	case "upload":
		return m.upload(open)
	case "session":
		return m.session(n, open, task)
	case "later", "cancelled":
		return m.later(kind == "cancelled", number, open, task)
	case "goes away":
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(pick.IntN(200))*time.Millisecond)
		defer cancel()
		status, got, err := m.ask(ctx, "POST", "/v1/", "application/json", strings.NewReader(task("", open+`,{"wait":3000}`)))
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return fmt.Errorf("%d, %w: %s", status, err, got)
	}
	return errors.New("there is no such kind")
}

// ask sends one request over a connection of its own.
func (m *mixed) ask(ctx context.Context, method, path, content string, body io.Reader) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, m.base+path, body)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+m.token)
	req.Header.Set("Content-Type", content)
	r, err := alone.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return r.StatusCode, string(b), err
}

// wants plays a task and looks at its answer.
func (m *mixed) wants(status int, text, task string) error {
	got, body, err := m.ask(context.Background(), "POST", "/v1/", "application/json", strings.NewReader(task))
	if err != nil || got != status || !strings.Contains(body, text) {
		return fmt.Errorf("%d, %v: %s, want %d with %s", got, err, body, status, text)
	}
	return nil
}

func (m *mixed) upload(open string) error {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	_ = form.WriteField("payload", `{"queueTimeout":120000,"actions":[`+open+`,{"uploadFile":["#f","$file:0"]},{"evaluate":"return await document.querySelector('#f').files[0].text()"}]}`)
	f, err := form.CreateFormFile("files", "note.txt")
	if err != nil {
		return err
	}
	_, _ = io.WriteString(f, "what is uploaded")
	_ = form.Close()
	status, got, err := m.ask(context.Background(), "POST", "/v1/", form.FormDataContentType(), &b)
	if err != nil || status != 200 || !strings.Contains(got, `"data":"what is uploaded"`) {
		return fmt.Errorf("%d, %v: %s", status, err, got)
	}
	return nil
}

// session logs in, goes on and closes.
func (m *mixed) session(n int64, open string, task func(more, actions string) string) error {
	var a of
	// Half of the workers may be reserved: others must be done first.
	for end := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
		_, got, err := m.ask(context.Background(), "POST", "/v1/", "application/json",
			strings.NewReader(task(`"session":{"preserve":true},`, open+fmt.Sprintf(`,{"evaluate":"sessionStorage.n=%d; return 1"}`, n))))
		if err != nil {
			return err
		}
		if a, err = parsed(got); err != nil {
			return err
		}
		if a.SessionID != "" && a.Success {
			break
		}
		if a.Code != "session_limit" || time.Now().After(end) {
			return fmt.Errorf("the start: %s", got)
		}
	}
	err := m.wants(200, fmt.Sprintf(`"data":"%d"`, n), task(`"session":{"id":"`+a.SessionID+`"},`, `{"evaluate":"return sessionStorage.n"}`))
	return errors.Join(err, m.wants(200, `"success":true`, task(`"session":{"id":"`+a.SessionID+`","close":true},`, "")))
}

// later starts a task and waits for its end, or cancels it.
func (m *mixed) later(cancel bool, number, open string, task func(more, actions string) string) error {
	actions, want := open+`,{"getText":"h1"}`, number
	if cancel {
		actions, want = open+`,{"wait":20000}`, `"code":"cancelled"`
	}
	_, got, err := m.ask(context.Background(), "POST", "/v1/", "application/json", strings.NewReader(task(`"async":true,`, actions)))
	if err != nil {
		return err
	}
	a, err := parsed(got)
	if err != nil || a.TaskID == "" {
		return fmt.Errorf("the start: %w: %s", err, got)
	}
	m.kept.Add(1)
	if cancel {
		if status, got, err := m.ask(context.Background(), "DELETE", "/v1/tasks/"+a.TaskID, "", nil); err != nil || status != 200 {
			return fmt.Errorf("the cancel: %d, %w: %s", status, err, got)
		}
	}
	status, got, err := m.ask(context.Background(), "GET", "/v1/get-result?wait=60000&taskId="+a.TaskID, "", nil)
	if err != nil || status != 200 || !strings.Contains(got, want) {
		return fmt.Errorf("the poll: %d, %w: %s", status, err, got)
	}
	return nil
}

// settle waits until all workers are at rest and clean.
func (m *mixed) settle(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(hang); ; time.Sleep(50 * time.Millisecond) {
		_, got, err := m.ask(context.Background(), "GET", "/v1/workers", "", nil)
		if err == nil && !strings.Contains(got, `"busy"`) && !strings.Contains(got, `"reserved"`) && !strings.Contains(got, `"offline"`) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the workers do not come to rest: %v: %s", err, got)
		}
	}
	// A claim waits for a worker that is not clean yet.
	for range 4 {
		if err := m.wants(200, `"data":42`, `{"queueTimeout":60000,"actions":[{"evaluate":"return 42"}]}`); err != nil {
			t.Error(err)
		}
	}
}
