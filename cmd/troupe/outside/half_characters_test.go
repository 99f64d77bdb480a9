package outside_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// TestHalfCharacters: a page writes halves of surrogate pairs into all that is read of it. By
// whatever way that leaves the service, strict readers take it, and the halves are U+FFFD.
func TestHalfCharacters(t *testing.T) {
	need.Time(t)
	t.Parallel()
	var mu sync.Mutex
	notices := map[string]string{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		notices[r.Header.Get("webhook-id")] = string(body)
	}))
	t.Cleanup(receiver.Close)
	c, base := serve(t, filepath.Join(shortFolder(t), "data"), "--workers=1", "--allow-cidr=127.0.0.1/32")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	const actions = `"actions":[{"open":"http://demo.troupe.test/"},` +
		`{"evaluate":"const h='half '+String.fromCharCode(0xd83d); document.title=h; document.body.innerHTML='<h1></h1><a href=\"#\"></a>'; document.querySelector('h1').textContent=h; document.querySelector('a').textContent=h; return {[h]:h}"},` +
		`{"getText":"h1"},` +
		`{"evaluate":"throw new Error('half '+String.fromCharCode(0xdc00))"}]`
	// Where halves of the page's texts are, in whatever encoding of JSON.
	strict := func(way, text string) {
		t.Helper()
		values := 0
		for in := jsontext.NewDecoder(strings.NewReader(text)); ; values++ {
			if _, err := in.ReadValue(); err == io.EOF {
				break
			} else if err != nil {
				t.Errorf("%s: a strict reader says %v: %.700q", way, err, text)
				return
			}
		}
		if values == 0 || !strings.Contains(text, "half \ufffd") && !strings.Contains(text, `half \ufffd`) {
			t.Errorf("%s has no half characters of the page: %.700q", way, text)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", base+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	feed, err := alone.RoundTrip(r)
	if err != nil || feed.StatusCode != 200 {
		t.Fatalf("the events: %v, %v", feed, err)
	}
	defer feed.Body.Close()
	events := make(chan string, 1000)
	go func() {
		defer close(events)
		lines := bufio.NewScanner(feed.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				events <- data
			}
		}
	}()

	_, text, err := post(base, token, `{"queueTimeout":20000,"config":{"trace":true},`+actions+`}`)
	if err != nil {
		t.Fatal(err)
	}
	strict("a synchronous answer", text)
	_, text, err = post(base, token, `{"async":true,"queue":{},"notify":[{"url":"`+receiver.URL+`","events":["end"],"include":"result"}],`+actions+`}`)
	if err != nil {
		t.Fatal(err)
	}
	task := read(t, text).TaskID
	_, text = get(t, base, token, "/v1/get-result?wait=20000&taskId="+task)
	strict("a poll", text)
	wait.Until(t, "the notice has come", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(notices) == 1
	})
	mu.Lock()
	for _, text := range notices {
		strict("a notice", text)
	}
	mu.Unlock()
	_, text, err = post2(base+"/v1/batches", token, `{"task":{`+actions+`},"items":[{"n":1}]}`)
	var made struct{ Batch struct{ BatchID string } }
	if err != nil || json.Unmarshal([]byte(text), &made) != nil || made.Batch.BatchID == "" {
		t.Fatalf("%s %v", text, err)
	}
	wait.Until(t, "the batch has ended", func() bool {
		_, text := get(t, base, token, "/v1/batches/"+made.Batch.BatchID)
		return strings.Contains(text, `"status":"ended"`)
	})
	_, text = get(t, base, token, "/v1/batches/"+made.Batch.BatchID+"/results")
	strict("the results of a batch", text)

	tool := func(name, arguments string) string {
		t.Helper()
		_, text, err := post2(base+"/mcp", token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Split(text, "data: "); len(lines) > 1 { // as a stream
			text = lines[len(lines)-1]
		}
		return text
	}
	strict("the answer of a tool", tool("run", `{`+actions+`}`))

	steps := 0
	for data := range events {
		if !strings.Contains(data, "half ") {
			continue
		}
		strict("an event", data)
		if steps++; steps == 2 {
			break
		}
	}
	if steps < 2 {
		t.Errorf("%d events have texts of the page", steps)
	}
}

// post2 sends JSON to an address, and takes answers of either kind that tools give.
func post2(url, token, body string) (status int, text string, err error) {
	r, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	a, err := alone.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	return a.StatusCode, string(b), err
}
