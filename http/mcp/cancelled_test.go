package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/testkit/wait"
)

// held is a service whose tasks do not end by themselves, and how often one was polled.
func held(t *testing.T) (*Server, *atomic.Int32) {
	polled := new(atomic.Int32)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodDelete:
			fmt.Fprint(w, `{"success":true,"cancelled":true}`)
		case http.MethodPost:
			fmt.Fprint(w, `{"success":true,"async":true,"taskId":"task_7"}`)
		default:
			polled.Add(1)
			select {
			case <-r.Context().Done():
			case <-time.After(20 * time.Second):
			}
		}
	}))
	t.Cleanup(srv.Close)
	at, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Service: &Remote{URL: at, Token: "secret"}, Journal: NewMemory(), Version: "1", Hold: 20 * time.Second, Log: zerolog.Nop()}), polled
}

const (
	waits   = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"run","arguments":{"actions":[{"wait":60000}]}%s}}`
	cancels = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	greets  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
)

// TestCancelledRequestsAreNotAnswered: over standard input, and over HTTP as JSON and as
// events.
func TestCancelledRequestsAreNotAnswered(t *testing.T) {
	t.Run("stdio", func(t *testing.T) {
		s, polled := held(t)
		inRead, inWrite := io.Pipe()
		outRead, outWrite := io.Pipe()
		go func() { _ = s.RunStdio(t.Context(), inRead, outWrite) }()
		lines := make(chan string, 10)
		go func() {
			for sc := bufio.NewScanner(outRead); sc.Scan(); {
				lines <- sc.Text()
			}
		}()
		say := func(m string) { fmt.Fprintln(inWrite, m) }
		say(greets)
		<-lines
		say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		say(fmt.Sprintf(waits, ""))
		wait.Until(t, "the call waits for its task", func() bool { return polled.Load() > 0 })
		say(cancels)
		// What comes next answers another request.
		say(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"help","arguments":{}}}`)
		for {
			line := <-lines
			if strings.Contains(line, `"id":7`) {
				t.Fatalf("the cancelled request is answered: %s", line)
			}
			if strings.Contains(line, `"id":8`) {
				break
			}
		}
		select {
		case line := <-lines:
			t.Fatalf("there is one more message: %s", line)
		case <-time.After(500 * time.Millisecond):
		}
		_ = inWrite.Close()
	})
	for name, meta := range map[string]string{"JSON": "", "events": `,"_meta":{"progressToken":"p"}`} {
		t.Run(name, func(t *testing.T) {
			s, polled := held(t)
			send := func(body string) *httptest.ResponseRecorder {
				r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				r.Header.Set("MCP-Protocol-Version", "2025-06-18")
				w := httptest.NewRecorder()
				s.Handle(w, r, "ada", "here", []byte(body))
				return w
			}
			ended := make(chan *httptest.ResponseRecorder, 1)
			go func() { ended <- send(fmt.Sprintf(waits, meta)) }()
			wait.Until(t, "the call waits for its task", func() bool { return polled.Load() > 0 })
			send(cancels)
			w := <-ended
			if strings.Contains(w.Body.String(), `"id":7`) || strings.Contains(w.Body.String(), `"error"`) {
				t.Errorf("the cancelled request is answered: %d %s", w.Code, w.Body)
			}
			if name == "JSON" && (w.Code != http.StatusNoContent || w.Body.Len() > 0) {
				t.Errorf("%d %q", w.Code, w.Body)
			}
		})
	}
}

// TestErrorsHaveACode: no error of the protocol has the code 0, which is none.
func TestErrorsHaveACode(t *testing.T) {
	s, _ := held(t)
	s.cfg.Policy.Sites = []string{"a.test"}
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"actions":[{"wait":1}]}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none","arguments":{}}}`, `{"jsonrpc":"2.0","id":1,"method":"none"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}`, `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}`, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:y"}}`,
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Troupe-Sites", "b.test") // of which the server's own allow none
		w := httptest.NewRecorder()
		s.Handle(w, r, "ada", "here", []byte(body))
		var is struct{ Error *struct{ Code int } }
		if err := json.Unmarshal(w.Body.Bytes(), &is); err == nil && is.Error != nil && is.Error.Code == 0 {
			t.Errorf("%s: %s", body, w.Body)
		}
	}
}
