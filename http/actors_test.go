package http_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
	"troupe/persistence"
	"troupe/testkit/leaks"
	"troupe/testkit/paths"
	"troupe/testkit/wait"
)

// fakeActors are scripted actors.
type fakeActors struct {
	execute  func(context.Context, *api.Execute) (*api.Executed, error)
	free     func() // of the last task that was started
	start    func(context.Context, *api.Execute) (*api.Started, error)
	poll     func(context.Context, *api.Poll) (*api.Polled, error)
	follow   func(context.Context, *api.Follow) (*api.Followed, error)
	found    bool // there is a task to cancel
	list     []api.WorkerInfo
	sessions int        // that the account may hold here
	asleep   bool       // no worker is ready
	status   api.Status // zero: two workers are free

	mu   sync.Mutex
	seen []*api.Execute
}

func (c *fakeActors) Execute(ctx context.Context, m *api.Execute) (*api.Executed, error) {
	c.mu.Lock()
	c.seen = append(c.seen, m)
	c.mu.Unlock()
	if c.execute != nil {
		return c.execute(ctx, m)
	}
	return done(m), nil
}

// done is the answer to a task that ended well.
func done(m *api.Execute) *api.Executed {
	return &api.Executed{
		TaskID: m.TaskID, WorkerID: "w1", WorkerName: "worker-1",
		Outcome: &engine.Outcome{End: engine.EndCompleted, Data: []byte(`"done"`)},
	}
}

func (c *fakeActors) Start(ctx context.Context, m *api.Execute, free func()) (*api.Started, error) {
	c.mu.Lock()
	c.seen, c.free = append(c.seen, m), free
	c.mu.Unlock()
	if c.start != nil {
		return c.start(ctx, m)
	}
	return &api.Started{TaskID: m.TaskID, WorkerID: "w1", WorkerName: "worker-1"}, nil
}

// noTask is the actors' answer about a task that nobody has.
var noTask = &api.Refusal{Code: engine.CodeTaskNotFound}

func (c *fakeActors) Do(ctx context.Context, m any) (any, error) {
	switch m := m.(type) {
	case *api.ListWorkers:
		return &api.Workers{Workers: c.list, Sessions: c.sessions}, nil
	case *api.Poll:
		if c.poll != nil {
			return orError(c.poll(ctx, m))
		}
		return &api.Polled{Refusal: noTask}, nil
	case *api.Follow:
		if c.follow != nil {
			return orError(c.follow(ctx, m))
		}
		return &api.Followed{Refusal: noTask}, nil
	case *api.KeptAnswer:
		return &api.AnswerKept{}, nil
	case *api.Cancel:
		return &api.Cancelled{Found: c.found}, nil
	}
	return nil, fmt.Errorf("the stand-in has no answer to %T", m)
}

func orError[R any](r *R, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (c *fakeActors) Status() api.Status {
	if c.asleep {
		return api.Status{Workers: 2, Offline: 2}
	}
	if c.status == (api.Status{}) {
		return api.Status{Workers: 2, Online: 2}
	}
	return c.status
}

// taskCount returns how many tasks have reached the actors.
func (c *fakeActors) taskCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// testAuth lets the token "good" in.
type testAuth struct{}

func (testAuth) Lookup(_ context.Context, token string) (persistence.Account, error) {
	switch token {
	case "good":
		return persistence.Account{ID: "acc1", Name: "local", Plan: "pro"}, nil
	case "small":
		return persistence.Account{ID: "acc2", Name: "small", Plan: "free"}, nil
	case "boss":
		return persistence.Account{ID: "acc3", Name: "ops", Plan: "pro", Operator: true}, nil
	case "ill":
		return persistence.Account{}, persistence.ErrClosed
	default:
		return persistence.Account{}, persistence.ErrNotFound
	}
}

func (d testAuth) LookupDigest(ctx context.Context, sum persistence.Digest) (persistence.Account, error) {
	return digested(ctx, d, sum)
}

// digested looks up one of the tokens above by its digest.
func digested(ctx context.Context, d interface {
	Lookup(context.Context, string) (persistence.Account, error)
}, sum persistence.Digest) (persistence.Account, error) {
	for _, token := range []string{"good", "small", "boss", "ill"} {
		if persistence.DigestOf(token) == sum {
			return d.Lookup(ctx, token)
		}
	}
	return persistence.Account{}, persistence.ErrNotFound
}

// counts is a stand-in for the daily counts.
type counts int64

func (n counts) Read(context.Context, string, time.Time) (int64, error) { return int64(n), nil }
func (n counts) ReadLocal(context.Context, string, time.Time) (int64, error) {
	return int64(n), nil
}
func (counts) Reset(now time.Time) time.Time { return now.Add(90 * time.Minute) }

// memoryFiles keeps files in memory.
type memoryFiles struct {
	mu    sync.Mutex
	blobs map[string]persistence.Blob
	bytes map[string][]byte
}

func newMemoryFiles() *memoryFiles {
	return &memoryFiles{blobs: map[string]persistence.Blob{}, bytes: map[string][]byte{}}
}

func (s *memoryFiles) Put(_ context.Context, b persistence.Blob, r io.Reader) (persistence.Blob, error) {
	all, err := io.ReadAll(r)
	if err != nil {
		return b, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.ID = hex.EncodeToString([]byte{byte(len(s.blobs)), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	b.Size = int64(len(all))
	s.blobs[b.ID], s.bytes[b.ID] = b, all
	return b, nil
}

func (s *memoryFiles) Open(_ context.Context, id string) (persistence.Blob, io.ReadSeekCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.blobs[id]
	if !ok {
		return b, nil, persistence.ErrNotFound
	}
	return b, nopCloser{bytes.NewReader(s.bytes[id])}, nil
}

func (*memoryFiles) Delete(context.Context, string) error          { return nil }
func (*memoryFiles) Sweep(context.Context, time.Time) (int, error) { return 0, nil }
func (nopCloser) Close() error                                     { return nil }

type nopCloser struct{ *bytes.Reader }

// edge is a server under test.
type edge struct {
	*http.Server
	addr    string
	uploads string
	served  chan error
}

// openServer starts a server before actors. What cfg leaves out is filled in.
func openServer(t testing.TB, c http.Actors, change ...func(*http.Config)) *edge {
	t.Helper()
	cfg := http.Config{Actors: c, Auth: testAuth{}, Uploads: t.TempDir() + "/uploads"}
	for _, f := range change {
		f(&cfg)
	}
	s, err := http.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	paths.Hide(t, filepath.Dir(cfg.Uploads))
	e := &edge{Server: s, addr: ln.Addr().String(), uploads: cfg.Uploads, served: make(chan error, 1)}
	go func() { e.served <- s.Serve(paths.Listener{Listener: ln}) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		if err := <-e.served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return e
}

// dial connects to the server, over TLS where tc is given.
func (e *edge) dial(t testing.TB, tc *tls.Config) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", e.addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(hang))
	if tc != nil {
		c = tls.Client(c, tc)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// alone sends each request over a connection of its own, which ends with the answer.
var alone = &nethttp.Transport{DisableKeepAlives: true}

// How tests here wait.
const hang = wait.Hang

var eventually = wait.Until

// beside lets a test run beside others. Those that look at what they leave hear
// of it, and do not take what is this test's for theirs.
func beside(t *testing.T) {
	t.Helper()
	t.Parallel()
	leaks.Check(t)
}

// call sends a request to the edge. On a busy machine one that is large may find no turn to
// be read, for the tests of this program have their turns together: it is sent again, as its
// client would.
func call(t *testing.T, e *edge, method, path, token, body string) (status int, text string) {
	t.Helper()
	eventually(t, "the request is read", func() bool {
		status, text = callOnce(t, e, method, path, token, body)
		return status != nethttp.StatusTooManyRequests || !strings.Contains(text, noTurn)
	})
	return status, text
}

// noTurn is in the answer to a large request that found no turn to be read.
const noTurn = "The service already reads as many requests above"

// callOnce is call, without looking what the answer is.
func callOnce(t *testing.T, e *edge, method, path, token, body string) (int, string) {
	t.Helper()
	req, err := nethttp.NewRequest(method, "http://"+e.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := nethttp.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.StatusCode, string(b)
}
