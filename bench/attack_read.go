package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// largeResult ends a list with a result of 14 MB.
const largeResult = `{"evaluate":"return 'x'.repeat(14e6)"}`

// numbers is a list that does nothing, of so many bytes, whose values take most memory for
// their text.
func numbers(size int) string {
	return `{"actions":[{"set":{"n":[` + strings.Repeat("1,", min(size/2, 131_000)-200) + `1]}}]}`
}

// readAttacks are those that have the service read, keep or parse much for little.
var readAttacks = []attack{
	{name: "12 checks of a list that runs 16 flows of 240 KB", prepare: func(a *attacker) error {
		for i := range 16 {
			if _, err := a.ask("PUT", fmt.Sprintf("/v1/flows/f%d", i), numbers(240_000)); err != nil {
				return err
			}
		}
		return nil
	}, play: func(a *attacker) error {
		runs := list(16, func(i int) string { return fmt.Sprintf(`{"run":"f%d"}`, i) })
		return a.atOnce(12, "POST", "/v1/validate", `{"actions":[`+runs+`]}`)
	}},
	{name: "a model's request with 40 looks at 14 MB", plan: "pro", prepare: (*attacker).keepResult, play: func(a *attacker) error {
		return a.atOnce(1, "POST", "/mcp", `[`+list(40, func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"look","arguments":{"task":%q,"maxTokens":200000}}}`, i, a.kept)
		})+`]`)
	}},
	{name: "a model's request with 20,000 lists of tools", play: func(a *attacker) error {
		return a.atOnce(1, "POST", "/mcp", `[`+list(20_000, func(int) string { return `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` })+`]`)
	}},
	{name: "60 repeats of a request with 14 MB", prepare: func(a *attacker) error {
		return a.repeats(1)
	}, play: func(a *attacker) error { return a.repeats(60) }},
	{name: "40 polls of 14 MB", plan: "pro", prepare: (*attacker).keepResult, play: func(a *attacker) error {
		return a.atOnce(40, "GET", "/v1/get-result?wait=5000&taskId="+a.kept, "")
	}},
	{name: "30 questions about a batch that failed with 11 MB", plan: "pro", prepare: func(a *attacker) error {
		return a.keepBatch(`{"config":{"trace":true,"continueOnError":false},"actions":[{"evaluate":"return 'x'.repeat(11e6)"},{"evaluate":"throw 1"}]}`) // a trace keeps what a failed task had
	}, play: func(a *attacker) error {
		return a.atOnce(30, "GET", "/v1/batches/"+a.kept, "")
	}},
	{name: "4 readers of a batch's results of 14 MB", plan: "pro", prepare: func(a *attacker) error {
		return a.keepBatch(`{"actions":[` + largeResult + `]}`)
	}, play: func(a *attacker) error {
		return a.unread(4, "/v1/batches/"+a.kept+"/results")
	}},
	{name: "3 lists of 60 schedules of 250 KB", plan: "pro", prepare: func(a *attacker) error {
		for range 60 {
			if _, err := a.ask("POST", "/v1/schedules", `{"every":3600000,"task":`+numbers(250_000)+`}`); err != nil {
				return err
			}
		}
		return nil
	}, play: func(a *attacker) error { return a.atOnce(3, "GET", "/v1/schedules", "") }},
	{name: "60 exports of a profile of 900 KB", prepare: func(a *attacker) error {
		_, err := a.ask("PUT", "/v1/profiles/x", `{"cookies":[],"origins":[{"origin":"https://a.test","localStorage":[{"name":"a","value":"`+strings.Repeat("x", 900_000)+`"}]}]}`)
		return err
	}, play: func(a *attacker) error { return a.atOnce(60, "GET", "/v1/profiles/x", "") }},
	{name: "40 streams of events with 14 MB that nobody reads", plan: "pro", prepare: (*attacker).keepResult, play: func(a *attacker) error {
		return a.unread(40, "/v1/tasks/"+a.kept+"/events")
	}},
	{name: "1,000 requests for documents that nobody reads", play: func(a *attacker) error {
		return a.unread(1000, "/docs/api")
	}},
	{name: "batches of 1 MB that are cancelled at once, for 20 s", plan: "pro", play: func(a *attacker) error {
		items := list(4, func(int) string { return `{"n":"` + strings.Repeat("x", 240_000) + `"}` })
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
			b, err := a.ask("POST", "/v1/batches", `{"task":{"actions":[{"wait":60000}]},"items":[`+items+`]}`)
			if err != nil {
				return err // refused, which is what is wanted
			}
			if _, err := a.ask("POST", "/v1/batches/"+fieldOf(b, "batchId")+"/cancel", `{}`); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "a result of 14 MB in an account with a secret", before: func(program, dir string) error {
		cmd := exec.Command(program, "secret", "set", "password", "--account", "bench", "--origin", "https://a.test", "--data", dir)
		cmd.Stdin = strings.NewReader("correct horse battery")
		if _, err := cmd.Output(); err != nil {
			return fmt.Errorf("setting a secret: %w: %s", err, stderrOf(err))
		}
		return nil
	}, play: func(a *attacker) error {
		return a.task(`{"timeout":35000,"actions":[{"evaluate":"return Array.from({length: 4e5}, (_, i) => ({name: 'a' + i, is: i}))"}]}`)
	}},
}

// ask sends a request and gives its answer, which is no refusal.
func (a *attacker) ask(method, path, body string, headers ...string) ([]byte, error) {
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(a.ctx, method, "http://"+a.addr+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+a.client.token)
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := a.client.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	a.mu.Lock()
	a.answer, a.said = max(a.answer, int64(len(b))), fmt.Sprintf("%d %.200s", res.StatusCode, b)
	a.mu.Unlock()
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s was answered with %d: %.300s", method, path, res.StatusCode, b)
	}
	return b, err
}

// atOnce sends the same request many times. Those that are refused are no fault.
func (a *attacker) atOnce(n int, method, path, body string, headers ...string) error {
	var all sync.WaitGroup
	for range n {
		all.Go(func() { _, _ = a.ask(method, path, body, headers...) })
	}
	all.Wait()
	return a.ctx.Err()
}

// unread sends the same request over many connections, and reads no answer for a while.
func (a *attacker) unread(n int, path string) error {
	request := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, a.addr, a.client.token)
	conns := make([]net.Conn, 0, n)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for range n {
		c, err := (&net.Dialer{}).DialContext(a.ctx, "tcp", a.addr)
		if err != nil {
			return err
		}
		conns = append(conns, c)
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(4 << 10)
		}
		if _, err := c.Write(request); err != nil {
			return err
		}
	}
	select {
	case <-time.After(15 * time.Second):
	case <-a.ctx.Done():
	}
	return nil
}

// repeats sends a request with one key many times.
func (a *attacker) repeats(n int) error {
	return a.atOnce(n, "POST", "/v1/", `{"timeout":30000,"queueTimeout":30000,"actions":[`+largeResult+`]}`, "Idempotency-Key", "once")
}

// keepResult has the service keep a large result.
func (a *attacker) keepResult() error {
	b, err := a.ask("POST", "/v1/", `{"async":true,"queueTimeout":30000,"actions":[`+largeResult+`]}`)
	if err != nil {
		return err
	}
	a.kept = fieldOf(b, "taskId")
	_, err = a.ask("GET", "/v1/get-result?wait=60000&taskId="+a.kept, "")
	return err
}

// keepBatch has it keep a batch of five items, with what the task of each gives.
func (a *attacker) keepBatch(task string) error {
	b, err := a.ask("POST", "/v1/batches", `{"task":`+task+`,"items":[`+list(5, func(i int) string { return fmt.Sprintf(`{"n":%d}`, i) })+`]}`)
	if err != nil {
		return err
	}
	a.kept = fieldOf(b, "batchId")
	b, err = a.ask("GET", "/v1/batches/"+a.kept+"?wait=60000", "")
	if err == nil && !bytes.Contains(b, []byte(`"ended"`)) {
		err = errors.New("the batch does not end")
	}
	return err
}

// fieldOf is a text in an answer, or in an object of it.
func fieldOf(b []byte, name string) string {
	var all map[string]any
	if json.Unmarshal(b, &all) != nil {
		return ""
	}
	if s, ok := all[name].(string); ok {
		return s
	}
	for _, v := range all {
		if inner, ok := v.(map[string]any); ok {
			if s, ok := inner[name].(string); ok {
				return s
			}
		}
	}
	return ""
}
