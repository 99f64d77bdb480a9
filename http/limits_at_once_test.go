package http_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestLimitsAtOnce: however many requests come at once, never more links and endpoints are there
// than the limit. Schedules, tickets of several nodes, flows, profiles and secrets have tests beside
// their own code.
func TestLimitsAtOnce(t *testing.T) {
	e := openCallKit(t)
	for _, c := range []struct{ path, body, word, list string }{
		{"/v1/links", `{"object":"` + e.task + `","label":"%d"}`, `"id":"lnk_`, "/v1/links"},
		{"/v1/endpoints", `{"url":"https://example.com/%d"}`, `"endpointId"`, "/v1/endpoints"},
	} {
		var work sync.WaitGroup
		var mu sync.Mutex
		made, refused := e.count(c.list, c.word), 0
		for i := range 130 {
			work.Go(func() {
				status, _, text, _ := e.send("POST", c.path, fmt.Sprintf(c.body, i), bearerGood)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case status < 300:
					made++
				case strings.Contains(text, "limit") || status == 403 || status == 429 || status == 400:
					refused++
				default:
					t.Errorf("POST %s: %d %s", c.path, status, text)
				}
			})
		}
		work.Wait()
		if there := e.count(c.list, c.word); there != made || there > 100 || refused == 0 {
			t.Errorf("%s: %d are there, %d were made, %d refused", c.path, there, made, refused)
		}
	}
}
