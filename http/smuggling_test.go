package http_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// TestNothingIsSmuggled: a request of which two servers could disagree where it
// ends is refused, and nothing after it on its connection is read as another.
// Otherwise what one client sends through a proxy could become the beginning of
// the next client's request.
func TestNothingIsSmuggled(t *testing.T) {
	beside(t)
	const (
		line  = "POST /v1/ HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\n"
		inner = "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"
	)
	length := fmt.Sprintf("Content-Length: %d\r\n", len(task))
	chunks := func(size string) string { return size + "\r\n" + task + "\r\n0\r\n\r\n" }
	size := fmt.Sprintf("%x", len(task))
	for name, sent := range map[string]string{
		"two lengths":                         line + length + "Content-Length: 0\r\n\r\n" + task,
		"two lengths, the other way":          line + "Content-Length: 0\r\n" + length + "\r\n" + task,
		"a list of lengths":                   line + fmt.Sprintf("Content-Length: %d, 0\r\n\r\n", len(task)) + task,
		"a list of the same length":           line + fmt.Sprintf("Content-Length: %d, %[1]d\r\n\r\n", len(task)) + task,
		"a length with a sign":                line + fmt.Sprintf("Content-Length: +%d\r\n\r\n", len(task)) + task,
		"a length in hexadecimal":             line + fmt.Sprintf("Content-Length: 0x%x\r\n\r\n", len(task)) + task,
		"a length and more":                   line + fmt.Sprintf("Content-Length: %d 0\r\n\r\n", len(task)) + task,
		"a length without end":                line + "Content-Length: 18446744073709551616\r\n\r\n" + task,
		"no length":                           line + "Content-Length: \r\n\r\n" + task,
		"a space before the colon, length":    line + fmt.Sprintf("Content-Length : %d\r\n\r\n", len(task)) + task,
		"a space before the colon, chunks":    line + "Transfer-Encoding : chunked\r\n\r\n" + chunks(size),
		"a tab before the colon, chunks":      line + "Transfer-Encoding\t: chunked\r\n" + length + "\r\n" + task,
		"length, then chunks":                 line + length + "Transfer-Encoding: chunked\r\n\r\n" + chunks(size),
		"chunks, then length":                 line + "Transfer-Encoding: chunked\r\n" + length + "\r\n" + chunks(size),
		"chunks in capitals, and length":      line + "TRANSFER-ENCODING: CHUNKED\r\n" + length + "\r\n" + chunks(size),
		"chunks twice":                        line + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks(size),
		"chunks, then nothing":                line + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + chunks(size),
		"chunks and identity":                 line + "Transfer-Encoding: chunked, identity\r\n\r\n" + chunks(size),
		"identity and length":                 line + "Transfer-Encoding: identity\r\n" + length + "\r\n" + task,
		"compressed chunks":                   line + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunks(size),
		"an unknown encoding":                 line + "Transfer-Encoding: xchunked\r\n\r\n" + chunks(size),
		"an unknown encoding, and length":     line + "Transfer-Encoding: xchunked\r\n" + length + "\r\n" + task,
		"a vertical tab":                      line + "Transfer-Encoding: \x0bchunked\r\n" + length + "\r\n" + task,
		"an encoding in quotes":               line + "Transfer-Encoding: \"chunked\"\r\n" + length + "\r\n" + task,
		"an encoding on the next line":        line + "Transfer-Encoding:\r\n chunked\r\n" + length + "\r\n" + task,
		"a length on the next line":           line + "Content-Length:\r\n " + fmt.Sprint(len(task)) + "\r\n\r\n" + task,
		"a folded field":                      line + "X-A: b\r\n Content-Length: 0\r\n" + length + "\r\n" + task,
		"a field before the first":            "POST /v1/ HTTP/1.1\r\n X-A: b\r\nHost: test\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\n" + length + "\r\n" + task,
		"a bare CR in a field":                line + "X-A: b\rTransfer-Encoding: chunked\r\n" + length + "\r\n" + task,
		"a NUL in a field":                    line + "X-A: b\x00\r\n" + length + "\r\n" + task,
		"a NUL in a name":                     line + "Content-Length\x00: 0\r\n" + length + "\r\n" + task,
		"a field without a colon":             line + "X-A\r\n" + length + "\r\n" + task,
		"a chunk's size with a sign":          line + "Transfer-Encoding: chunked\r\n\r\n" + chunks("+"+size),
		"a chunk's size with a sign, a form":  strings.Replace(line, "application/json", "multipart/form-data; boundary=b", 1) + "Transfer-Encoding: chunked\r\n\r\n" + chunks("+"+size),
		"a chunk's size in the language of C": line + "Transfer-Encoding: chunked\r\n\r\n" + chunks("0x"+size),
		"a chunk's size that is too large":    line + "Transfer-Encoding: chunked\r\n\r\n" + chunks("1"+strings.Repeat("0", 16-len(size))+size),
		"a chunk that is longer than it says": line + "Transfer-Encoding: chunked\r\n\r\n1\r\n" + task + "\r\n0\r\n\r\n",
		"a chunk that ends with CR alone":     line + "Transfer-Encoding: chunked\r\n\r\n" + size + "\r" + task + "\r\n0\r\n\r\n",
		"an extension that ends with LF":      line + "Transfer-Encoding: chunked\r\n\r\n" + size + ";a\n" + task + "\r\n0\r\n\r\n",
		"chunks of HTTP/1.0":                  strings.Replace(line, "HTTP/1.1", "HTTP/1.0", 1) + "Transfer-Encoding: chunked\r\n\r\n" + chunks(size),
		"two hosts":                           line + "Host: other\r\n" + length + "\r\n" + task,
		"HTTP/2":                              "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"HTTP/3.0":                            strings.Replace(line, "HTTP/1.1", "HTTP/3.0", 1) + length + "\r\n" + task,
		"a space in the line":                 strings.Replace(line, "/v1/", "/v1/ x", 1) + length + "\r\n" + task,
	} {
		t.Run(name, func(t *testing.T) {
			c := &fakeActors{}
			e := openServer(t, c)
			conn := e.dial(t, nil)
			_, _ = io.WriteString(conn, sent+inner)
			_ = conn.SetReadDeadline(time.Now().Add(hang))
			got, err := io.ReadAll(conn)
			answer := string(got)
			if !strings.HasPrefix(answer, "HTTP/1.1 4") && !strings.HasPrefix(answer, "HTTP/1.1 5") || strings.Count(answer, "HTTP/1.1 ") != 1 || c.taskCount() != 0 {
				t.Errorf("%d tasks, %v, answers:\n%s", c.taskCount(), err, answer)
			}
			if timeout, ok := err.(interface{ Timeout() bool }); ok && timeout.Timeout() {
				t.Error("the connection stays open")
			}
		})
	}
}

// TestOneRequestIsOne: no header and no parameter makes another request out of
// one, and no upgrade leads past what looks at requests.
func TestOneRequestIsOne(t *testing.T) {
	beside(t)
	e := openServer(t, &fakeActors{found: true}) // so that a cancellation would be one: 200
	const good = "Authorization: Bearer good"
	for _, name := range []string{"X-HTTP-Method-Override: DELETE", "X-HTTP-Method: DELETE", "X-Method-Override: DELETE", "X-Original-URL: /v1/tasks/task_1", "X-Rewrite-URL: /v1/tasks/task_1"} {
		if status, code, _ := e.ask(t, "POST /v1/tasks/task_1?_method=DELETE", "Host: test", good, name, "Content-Length: 0"); status != 405 {
			t.Errorf("%s: %d %s", name, status, code)
		}
		if status, code, _ := e.ask(t, "GET /v1/nowhere", "Host: test", good, name); status != 404 {
			t.Errorf("%s of a path that is none: %d %s", name, status, code)
		}
	}
	for _, to := range []string{"h2c", "websocket", "TLS/1.0", "h2c, websocket"} {
		if status, code, _ := e.ask(t, "GET /healthz", "Host: test", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "Upgrade: "+to); status != 200 {
			t.Errorf("an upgrade to %s: %d %s", to, status, code)
		}
	}
	if status, code, _ := e.ask(t, "GET /v1/workers", "Host: test", "Connection: Authorization, close", "Authorization: Bearer bad", good); status != 401 {
		t.Errorf("two tokens, of which the second is good: %d %s", status, code)
	}
}
