package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"troupe/testkit/need"
)

// TestOneKeyAtSeveralNodes: all nodes get requests with one Idempotency-Key at the same
// moment. It is carried out once, and each of them, then and later, is answered with the same.
//
// Promise: Requests with one key that reach several nodes at once are carried out once (docs/api.md#repeating-a-request).
func TestOneKeyAtSeveralNodes(t *testing.T) {
	need.Time(t)
	t.Parallel()
	members := shared(t)
	emptied(t, members[0])
	var nodes []*httpNode
	for _, m := range members {
		nodes = append(nodes, openHTTPNode(t, m, 1))
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	token := nodes[0].token("ada", "pro")
	ask := func(at *httpNode, path, key, body string) (int, string) {
		r, err := http.NewRequestWithContext(ctx, "POST", at.base+path, bytes.NewReader([]byte(body)))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer a.Body.Close()
		b, _ := io.ReadAll(a.Body)
		return a.StatusCode, string(b)
	}
	for _, c := range []struct{ path, body, in, id string }{
		{"/v1/", `{"async":true,"queue":{"startAfter":3600000},"actions":[{"wait":1}]}`, "", "taskId"},
		{"/v1/schedules", `{"every":3600000,"task":{"actions":[{"wait":1}]}}`, "schedule", "scheduleId"},
		{"/v1/batches", `{"task":{"actions":[{"wait":1}]},"items":[{}]}`, "batch", "batchId"},
		{"/v1/notice-secret/rotate", `{}`, "", "secret"},
	} {
		made := map[string]bool{}
		for round := range 3 {
			key := fmt.Sprintf("%s-%d", c.id, round)
			var mu sync.Mutex
			ids := map[string]int{}
			one := func(at *httpNode) {
				status, text := ask(at, c.path, key, c.body)
				var x map[string]any
				if status/100 != 2 || json.Unmarshal([]byte(text), &x) != nil {
					t.Errorf("%s at %s: %d %s", c.path, at.member.Name(), status, text)
					return
				}
				if c.in != "" {
					x, _ = x[c.in].(map[string]any)
				}
				mu.Lock()
				defer mu.Unlock()
				ids[fmt.Sprint(x[c.id])]++
			}
			var all sync.WaitGroup
			for range 2 {
				for _, at := range nodes {
					all.Go(func() { one(at) })
				}
			}
			all.Wait()
			for _, at := range nodes {
				one(at)
			}
			if len(ids) != 1 {
				t.Errorf("%s with one key has made %v", c.path, ids)
			}
			for id := range ids {
				if made[id] {
					t.Errorf("%s: two keys have made %s", c.path, id)
				}
				made[id] = true
			}
		}
	}
}
