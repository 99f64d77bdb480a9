package outside_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestKeysSurviveAKill: what was made with an Idempotency-Key is answered again after the
// service was killed, and made once. A valid token works then at once, beside wrong ones.
//
// Promise: A key is known after a crash (docs/api.md#repeating-a-request).
func TestKeysSurviveAKill(t *testing.T) {
	t.Parallel()
	data := shortFolder(t)
	c, base := serve(t, data, "--workers=1")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	ask := func(token, path, key, body string) (int, string) {
		r, err := http.NewRequest("POST", base+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0, "{}"
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		a, err := alone.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return 0, "{}"
		}
		defer a.Body.Close()
		b, err := io.ReadAll(a.Body)
		if err != nil {
			t.Error(err)
		}
		return a.StatusCode, string(b)
	}
	// What of an answer stays: the rest says what is true when it is given.
	stays := func(path, text string) string {
		t.Helper()
		var x struct {
			TaskID, TicketID, Ticket, Link, Secret string
			Schedule                               struct{ ScheduleID string }
			Batch                                  struct{ BatchID string }
			Endpoint                               struct{ EndpointID string }
		}
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			t.Fatalf("%s: %v: %s", path, err, text)
		}
		return fmt.Sprintf("%+v", x)
	}
	posts := map[string]string{
		"/v1/":                     `{"async":true,"queue":{"startAfter":3600000},"actions":[{"wait":1}]}`,
		"/v1/schedules":            `{"every":3600000,"task":{"actions":[{"wait":1}]}}`,
		"/v1/batches":              `{"task":{"actions":[{"wait":1}]},"items":[{"n":1}]}`,
		"/v1/endpoints":            `{"url":"http://demo.troupe.test/hook"}`,
		"/v1/notice-secret/rotate": `{}`,
	}
	first := map[string]string{}
	for path, body := range posts {
		answers := make(chan string, 8)
		for range cap(answers) { // at once
			go func() {
				status, text := ask(token, path, "one-of-"+path, body)
				if status/100 != 2 {
					t.Errorf("%s: %d %s", path, status, text)
				}
				answers <- text
			}()
		}
		for range cap(answers) {
			text := stays(path, <-answers)
			if first[path] == "" {
				first[path] = text
			}
			if text != first[path] {
				t.Errorf("%s with one key: %s, and %s", path, text, first[path])
			}
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.end(t, hang)
	_, base = serve(t, data, "--workers=1")
	for i := range 45 {
		wrong := fmt.Sprintf("%s%03d", token[:len(token)-3], i)
		if status, text := ask(wrong, "/v1/endpoints", "three", posts["/v1/endpoints"]); status != 401 && status != 429 {
			t.Errorf("a wrong token: %d %s", status, text)
		}
		if status, text := ask(token, "/v1/endpoints", "one-of-/v1/endpoints", posts["/v1/endpoints"]); status/100 != 2 {
			t.Fatalf("the valid token after %d wrong ones: %d %s", i+1, status, text)
		}
	}
	for path, body := range posts {
		status, text := ask(token, path, "one-of-"+path, body)
		if status/100 != 2 || stays(path, text) != first[path] {
			t.Errorf("%s with the same key after a kill: %d %s, and before %s", path, status, text, first[path])
		}
		status, text = ask(token, path, "two-of-"+path, body)
		if status/100 != 2 || path != "/v1/endpoints" && stays(path, text) == first[path] {
			t.Errorf("%s with another key: %d %s", path, status, text)
		}
	}
}
