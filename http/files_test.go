package http_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
	"troupe/persistence"
)

// fetch gets an address below the server as it stands, without cleaning it.
func (e *edge) fetch(t testing.TB, method, path, rang string) (*nethttp.Response, string) {
	t.Helper()
	req, err := nethttp.NewRequest(method, "http://"+e.addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Opaque = path
	if rang != "" {
		req.Header.Set("Range", rang)
	}
	r, err := alone.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(body)
}

func TestFiles(t *testing.T) {
	files := newMemoryFiles()
	e := openServer(t, &fakeActors{}, func(c *http.Config) { c.Files = files })
	keep := http.Keep(files, "https://files.example/x/", time.Hour, nil, zerolog.Nop())
	put := func(name, kind string, inline bool, data string) string {
		url, err := keep(context.Background(), engine.File{Account: "acc1", Name: name, ContentType: kind, Inline: inline}, strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		id, ok := strings.CutPrefix(url, "https://files.example/x/")
		if b := files.blobs[id]; !ok || b.Account != "acc1" || time.Until(b.Expires) < 59*time.Minute {
			t.Fatalf("%s: %+v", url, b)
		}
		return "/files/" + id
	}
	const png = "\x89PNG not really"
	picture := put("shot.png", "image/png", true, png)
	page := put(`ev"il größe.html`, "text/html; charset=utf-8", false, "<script>alert(1)</script>")
	trace := put("trace.html", "text/html; charset=utf-8", true, "<p>steps</p>")
	log := put("console.json", "application/json", true, "{}")
	lying := put("page.svg", "image/svg+xml", true, "<svg onload='alert(1)'/>")

	const nothing = "sandbox; default-src 'none'"
	for path, want := range map[string]struct{ kind, disposition, body, policy string }{
		picture: {"image/png", "inline", png, nothing},
		page:    {"application/octet-stream", `attachment; filename*=utf-8''ev%22il%20gr%C3%B6%C3%9Fe.html`, "<script>alert(1)</script>", nothing},
		lying:   {"application/octet-stream", "attachment; filename=page.svg", "<svg onload='alert(1)'/>", nothing},
		log:     {"application/json", "inline", "{}", nothing},
		trace:   {"text/html; charset=utf-8", "inline", "<p>steps</p>", nothing + "; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
	} {
		r, body := e.fetch(t, "GET", path, "")
		h := r.Header
		if r.StatusCode != 200 || body != want.body || h.Get("Content-Type") != want.kind || h.Get("Content-Disposition") != want.disposition ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Security-Policy") != want.policy {
			t.Errorf("%s: %d %q %v", path, r.StatusCode, body, h)
		}
		r, body = e.fetch(t, "HEAD", path, "")
		if r.StatusCode != 200 || body != "" || r.ContentLength != int64(len(want.body)) {
			t.Errorf("HEAD %s: %d, %d bytes, %q", path, r.StatusCode, r.ContentLength, body)
		}
	}

	for rang, want := range map[string]string{
		"bytes=1-3": "206 PNG", "bytes=8-": "206 ly"[:4] + png[8:], "bytes=-2": "206 ly", "bytes=0-999": "206 " + png,
		"bytes=99-": "416 ", "bytes=x": "416 ", "bytes=0-1,3-4": "200 " + png, "lines=1-2": "200 " + png,
	} {
		r, body := e.fetch(t, "GET", picture, rang)
		if r.StatusCode == 416 {
			body = ""
		}
		if got := fmt.Sprint(r.StatusCode, " ", body); got != want {
			t.Errorf("%s: %q, want %q", rang, got, want)
		}
	}
}

// TestFilesOnlyByName: there is no way out of the folder, and no list of it.
func TestFilesOnlyByName(t *testing.T) {
	files := newMemoryFiles()
	files.blobs["..%2fsecret"] = files.blobs[""]
	e := openServer(t, &fakeActors{}, func(c *http.Config) { c.Files = files })
	for _, path := range []string{
		"/files", "/files/", "/files/.", "/files/../secret", "/files/%2e%2e/secret", "/files/%2e%2e%2fsecret",
		"/files/..%5csecret", "/files/..%252fsecret", "/files/%00", "/files/a%00.png", "/files//etc/passwd", "/files/%2fetc%2fpasswd",
		"/files/a/b", "/files/.hidden", "/files/" + strings.Repeat("a", 4000), "/files/0123456789abcdef0123456789abcdef",
	} {
		if r, body := e.fetch(t, "GET", path, ""); r.StatusCode != 404 || !strings.Contains(body, `"not_found"`) {
			t.Errorf("%s: %d %s", path, r.StatusCode, body)
		}
	}
	if r, body := e.fetch(t, "GET", "/files/..", ""); r.StatusCode != 404 { // not another word for /
		t.Errorf("/files/..: %d %s", r.StatusCode, body)
	}
}

// fullFiles takes nothing.
type fullFiles struct {
	*memoryFiles
	err error
}

func (s fullFiles) Put(context.Context, persistence.Blob, io.Reader) (persistence.Blob, error) {
	return persistence.Blob{}, s.err
}

// TestFilesThatCannotBeKept: the task hears what kind of fault it is, and the log
// which folder of the service it is about.
func TestFilesThatCannotBeKept(t *testing.T) {
	for _, row := range []struct {
		why  error
		code engine.Code
	}{
		{persistence.Unwritten(syscall.ENOSPC), engine.CodeStorageFull},
		{persistence.Unwritten(syscall.EROFS), engine.CodeStorageUnwritable},
		{persistence.ErrNoQuorum, engine.CodeNoQuorum},
		{errors.New("no such bucket"), engine.CodeInternal},
	} {
		var log bytes.Buffer
		files := fullFiles{newMemoryFiles(), fmt.Errorf("open /secret/folder: %w", row.why)}
		keep := http.Keep(files, "https://files.example", time.Hour, nil, zerolog.New(&log))
		_, err := keep(context.Background(), engine.File{Account: "acc1", Name: "shot.png"}, strings.NewReader("x"))
		var p *engine.Problem
		if !errors.As(err, &p) || p.Code != row.code || strings.Contains(err.Error(), "secret") || !strings.Contains(log.String(), "/secret/folder") {
			t.Errorf("%v is told of as %v, and the log has %s", row.why, err, log.String())
		}
	}
}

// TestWhatHasRunIsNotToBeRepeated: an action that failed for want of space is told of
// with the code of a refusal, and unlike that it has run.
func TestWhatHasRunIsNotToBeRepeated(t *testing.T) {
	c := &fakeActors{execute: func(_ context.Context, m *api.Execute) (*api.Executed, error) {
		return &api.Executed{TaskID: m.TaskID, WorkerID: "w1", WorkerName: "worker-1", Outcome: &engine.Outcome{
			End: engine.EndStopped, Failures: []engine.Failure{{Path: "0", Code: engine.CodeStorageFull, Text: "The file could not be kept"}},
		}}, nil
	}}
	status, p := openServer(t, c).post(t, "application/json", strings.NewReader(task))
	if status != 200 || p.Code != string(engine.CodeStorageFull) || p.Retryable == nil || *p.Retryable {
		t.Errorf("the answer is %d %+v", status, p)
	}
}
