package http_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
)

// TestCompressedAnswers: a large answer is compressed for clients that say so, and means
// the same; a small one, a stream and what has a tag of its content are not.
func TestCompressedAnswers(t *testing.T) {
	data := []byte(`"` + strings.Repeat("many words that come again. ", 2000) + `"`)
	small := false
	c := &fakeActors{execute: func(_ context.Context, m *api.Execute) (*api.Executed, error) {
		x := done(m)
		if !small {
			x.Outcome = &engine.Outcome{End: engine.EndCompleted, Data: data}
		}
		return x, nil
	}}
	e := openServer(t, c)
	play := func(accept string) (coding, vary string, plain []byte, sent int) {
		t.Helper()
		conn := e.dial(t, nil)
		if accept != "" {
			accept = "\r\nAccept-Encoding: " + accept
		}
		_, _ = io.WriteString(conn, strings.Replace(taskRequest(), "\r\n", accept+"\r\n", 1))
		r, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		var in io.Reader = bytes.NewReader(b)
		switch r.Header.Get("Content-Encoding") {
		case "gzip":
			in, err = gzip.NewReader(in)
		case "zstd":
			in, err = zstd.NewReader(in)
		}
		if err != nil {
			t.Fatal(err)
		}
		if plain, err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
		return r.Header.Get("Content-Encoding"), r.Header.Get("Vary"), plain, len(b)
	}
	for accept, want := range map[string]string{
		"": "", "identity": "", "br": "", "gzip": "gzip", "gzip, deflate, br": "gzip", "gzip, deflate, br, zstd": "zstd", "GZIP;q=0.5": "gzip", "gzip;q=0": "", "gzip;q=0, *": "",
		"*": "gzip", "*;q=0": "", "gzip;q=1.0, zstd;q=0.5": "gzip", "zstd": "zstd", "gzip; q=x": "",
	} {
		coding, vary, plain, sent := play(accept)
		var a struct{ Data json.RawMessage }
		if err := json.Unmarshal(plain, &a); err != nil || !bytes.Equal(a.Data, data) || coding != want || !strings.Contains(vary, "Accept-Encoding") {
			t.Errorf("%q: %q %q %v %.100s", accept, coding, vary, err, plain)
		}
		if want != "" && sent > len(plain)/10 {
			t.Errorf("%q: %d bytes of %d", accept, sent, len(plain))
		}
	}
	small = true
	if coding, vary, _, _ := play("gzip"); coding != "" || vary != "" {
		t.Errorf("a small answer: %q %q", coding, vary)
	}
	status, _, h := e.ask(t, "GET /openapi.json", "Host: test", "Accept-Encoding: gzip")
	if status != 200 || h["Content-Encoding"] == nil {
		t.Errorf("the document of the API: %d %v", status, h)
	}
	if _, _, h := e.ask(t, "GET /docs", "Host: test", "Accept-Encoding: zstd"); h["Content-Encoding"] != nil {
		t.Errorf("what has a tag: %v", h)
	}
}

// TestPlainHTTPOnTLS: a client that forgot the s gets a sentence in plain HTTP.
func TestPlainHTTPOnTLS(t *testing.T) {
	server, roots := certificate(t)
	e := openServer(t, &fakeActors{}, func(cfg *http.Config) { cfg.TLS = server })
	for _, line := range []string{"GET /healthz", "POST /v1/", "PUT /v1/flows/a", "DELETE /v1/tasks/x", "OPTIONS /v1/", "HEAD /"} {
		conn := e.dial(t, nil)
		_, _ = io.WriteString(conn, line+" HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n")
		r, p := readAnswer(t, conn)
		if r.StatusCode != 400 || !strings.Contains(p.Error, "https://") || r.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %+v", line, r.StatusCode, p)
		}
		if !closed(conn) {
			t.Errorf("%s: the connection stays open", line)
		}
	}
	conn := e.dial(t, nil)
	_, _ = io.WriteString(conn, "\x00\x01garbage\r\n\r\n")
	if b, _ := io.ReadAll(conn); bytes.Contains(b, []byte("HTTP")) {
		t.Errorf("what is no request is answered with %q", b)
	}
	secure := e.dial(t, roots)
	_, _ = fmt.Fprint(secure, "GET /healthz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
	if r, err := nethttp.ReadResponse(bufio.NewReader(secure), nil); err != nil || r.StatusCode != 200 {
		t.Errorf("with TLS: %v %v", r, err)
	}
}
