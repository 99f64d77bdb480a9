package notice

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/clock"
)

var ada = api.Account{ID: "ada~1", Plan: engine.Pro}

// network answers for all receivers.
type network struct {
	mu     sync.Mutex
	answer func(r *http.Request) (int, error)
	got    []received
}

type received struct {
	id, host string
	at       time.Time
	status   int
	header   http.Header
	body     []byte
}

func (w *network) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	answer := w.answer
	w.mu.Unlock()
	status, err := answer(r)
	w.mu.Lock()
	w.got = append(w.got, received{r.Header.Get("webhook-id"), r.URL.Host, time.Now(), status, r.Header, body})
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

func (w *network) set(answer func(*http.Request) (int, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = answer
}

func (w *network) all() []received {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]received(nil), w.got...)
}

func always(status int) func(*http.Request) (int, error) {
	return func(*http.Request) (int, error) { return status, nil }
}

var errDown = errors.New("connection refused")

// bed is a store and a network that stay while the service is started again.
type bed struct {
	t     *testing.T
	store persistence.Store
	seal  *persistence.Seal
	net   *network
	disk  *records.Store
	wall  clock.Clock
	// result writes results in notices; nil: none is in any.
	result func(*api.Polled) ([]byte, error)
	*Notices
}

func inBubble(t *testing.T, f func(*bed)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bed{t: t, store: persistence.NewMemory(), net: &network{answer: always(204)}}
		seal, err := persistence.NewSeal(make([]byte, 32))
		b.seal = seal
		if err != nil {
			t.Fatal(err)
		}
		if b.disk, err = records.Open(records.Config{Store: b.store, Seal: seal, Log: zerolog.Nop()}); err != nil {
			t.Fatal(err)
		}
		b.start()
		f(b)
		b.Stop()
		_ = b.store.Close()
	})
}

func (b *bed) start() {
	b.t.Helper()
	b.Notices = New(Config{Records: b.disk, Clock: &b.wall, Client: &http.Client{Transport: b.net}, Result: b.result, Log: zerolog.Nop()})
	if err := b.Start(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	synctest.Wait()
}

// end ends a task that names receivers.
func (b *bed) end(task string, to ...string) {
	b.t.Helper()
	var all []engine.Notify
	for _, host := range to {
		all = append(all, engine.Notify{URL: "https://" + host + "/hook", Events: []engine.NoticeEvent{engine.NoticeEnd}})
	}
	sealed, err := b.disk.SealNotify(task, all)
	if err != nil {
		b.t.Fatal(err)
	}
	t := records.Task{ID: task, Account: ada.ID, Status: api.TaskComplete, Started: time.Now(), Ended: time.Now(), Notify: sealed}
	if err := b.disk.EndTask(b.t.Context(), t, nil, &engine.Outcome{End: engine.EndCompleted}, ""); err != nil {
		b.t.Fatal(err)
	}
	b.Ended(ada.ID, task)
	synctest.Wait()
}

func (b *bed) list(waiting bool) []api.Notice {
	b.t.Helper()
	l, err := b.List(b.t.Context(), &api.ListNotices{Account: ada, Waiting: waiting, Most: 100})
	if err != nil {
		b.t.Fatal(err)
	}
	return l.Notices
}

// verified checks a request with the library of the specification, at the time of its
// arrival.
func (b *bed) verified(r received, secret string) error {
	w, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		b.t.Fatal(err)
	}
	return w.Verify(r.body, r.header)
}

func (b *bed) secretOf(rotate bool) *api.NoticeSecretTold {
	b.t.Helper()
	s, err := b.Secret(b.t.Context(), &api.NoticeSecret{Account: ada, Rotate: rotate})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}
