package http_test

import (
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
	"troupe/http/gate"
	"troupe/testkit/need"
)

// TestRequestsNeverWaitForEachOther: requests that hold large bodies while they wait for room
// for their answers leave room for one of these, so each is answered or refused at once. They
// are repeats of a key, and calls of models, whose tools send requests of their own.
func TestRequestsNeverWaitForEachOther(t *testing.T) {
	beside(t)
	large := strings.Repeat(" ", 700<<10)
	for name, way := range map[string]struct{ path, body string }{
		"repeats of a key": {"/v1/", large + task},
		"looks of a model": {"/mcp", large + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{"task":"task_1"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			const patience = time.Minute // who waits for each other waits until its end
			e := openServer(t, &loadActors{}, small(gate.Limits{Account: 32 << 20, Strangers: 1 << 20, All: 128 << 20}), func(c *http.Config) { c.RequestTimeout = patience })
			began := time.Now()
			var all sync.WaitGroup
			var mu sync.Mutex
			answers := map[string]int{}
			for range 40 {
				all.Go(func() {
					req, err := nethttp.NewRequestWithContext(t.Context(), "POST", "http://"+e.addr+way.path, strings.NewReader(way.body))
					if err != nil {
						t.Error(err)
						return
					}
					for k, v := range map[string]string{"Authorization": "Bearer good", "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Idempotency-Key": "k"} {
						req.Header.Set(k, v)
					}
					res, err := alone.RoundTrip(req)
					if err != nil {
						t.Error(err)
						return
					}
					b, _ := io.ReadAll(res.Body)
					res.Body.Close()
					mu.Lock()
					defer mu.Unlock()
					answers[fmt.Sprint(res.StatusCode)]++
					if res.StatusCode == 200 && strings.Contains(string(b), "too_many_waiting") || res.StatusCode == 429 && res.Header.Get("Retry-After") == "" {
						t.Errorf("%d %.300s", res.StatusCode, b)
					}
				})
			}
			all.Wait()
			t.Logf("%v in %s", answers, time.Since(began))
			if answers["200"] == 0 || answers["200"]+answers["429"] != 40 || time.Since(began) > patience {
				t.Errorf("answered with %v in %s", answers, time.Since(began))
			}
			eventually(t, "all is given back", func() bool { return e.Reading("acc1") == 0 })
		})
	}
}

// TestMessagesOfModelsWeighWithTheirCopies: what a model sends counts as often as it is in
// memory while its tool runs.
func TestMessagesOfModelsWeighWithTheirCopies(t *testing.T) {
	need.NoRace(t)
	beside(t)
	began, end := make(chan struct{}), make(chan struct{})
	e := openServer(t, &fakeActors{start: func(_ context.Context, m *api.Execute) (*api.Started, error) {
		close(began)
		<-end
		return &api.Started{TaskID: m.TaskID, Refusal: api.Refuse(engine.CodeNoWorkerAvailable, "")}, nil
	}})
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"snapshot":"none","actions":[{"set":{"x":"` + strings.Repeat("x", 500<<10) + `"}}]}}}`
	over := make(chan struct{})
	go func() {
		tooMany(t, e, "POST", "/mcp", "good", "application/json", body)
		close(over)
	}()
	select {
	case <-began:
	case <-over:
		t.Fatal("the tool ran no task")
	}
	if n := e.Reading("acc1"); n < 6*int64(len(body)) {
		t.Errorf("a message of %d KiB weighs %d KiB", len(body)>>10, n>>10)
	}
	close(end)
	<-over
	eventually(t, "all is given back", func() bool { return e.Reading("acc1") == 0 })
}
