package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"troupe/engine/browser"
)

// TestDownloadsOfATaskHaveABudget: a page that sends file after file fills neither
// the browser's folder nor the service's, and is told of in the trace.
func TestDownloadsOfATaskHaveABudget(t *testing.T) {
	t.Parallel()
	const files, size = 10, 60 << 20 // a page gets so many without a click
	var asked, ended, sent atomic.Int64
	over := make(chan struct{})
	var turns sync.Mutex // one file after the other: of ten at once none might arrive as a whole
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a id=a>files</a>`)
			return
		case "/over":
			select {
			case <-over:
			case <-r.Context().Done():
			}
			return
		}
		n, _ := strconv.Atoi(r.URL.Query().Get("size"))
		w.Header().Set("Content-Disposition", `attachment; filename="f.bin"`)
		w.Header().Set("Content-Length", strconv.Itoa(n))
		asked.Add(1)
		turns.Lock()
		defer turns.Unlock()
		for b := make([]byte, 1<<20); n > 0; n -= len(b) {
			k, err := w.Write(b[:min(n, len(b))])
			if sent.Add(int64(k)); err != nil {
				break
			}
		}
		if ended.Add(1) == files {
			close(over)
		}
	}))
	t.Cleanup(srv.Close)
	var kept, count atomic.Int64
	save := func(_ context.Context, f File, r io.Reader) (string, error) {
		n, err := io.Copy(io.Discard, r)
		kept.Add(n)
		count.Add(1)
		return "http://files.test/" + f.Name, err
	}
	task := `{"config":{"trace":true},"timeout":100000,"actions":[{"open":"%s/"},{"evaluate":"for (let i = 0; i < %d; i++) { const a = document.createElement('a'); a.href = '/f' + i + '?size=%d'; a.download = 'f' + i; a.click(); await new Promise(r => setTimeout(r, 30)) } %s","options":{"timeout":90000}},{"getText":"#a"}]}`
	o := play(t, newInstance(t), fmt.Sprintf(task, srv.URL, files, size, "await fetch('/over')"), TaskEnv{SaveFile: save})
	if string(o.Data) != `"files"` {
		t.Fatalf("%s %+v", o.Data, o.Failures)
	}
	var notes []string
	for _, s := range o.Steps {
		notes = append(notes, s.Notes...)
	}
	if n := kept.Load(); n > browser.MaxDownloaded || n < size {
		t.Errorf("%d MiB in %d files of one task were kept; asked for were %d, sent %d MiB", n>>20, count.Load(), asked.Load(), sent.Load()>>20)
	}
	if !strings.Contains(strings.Join(notes, "\n"), "one task downloads at most 200 MiB") {
		t.Errorf("the trace notes %q", notes)
	}
}

// copies are the bytes and the number of copies that a browser has of files with a
// name.
func copies(t *testing.T, name string) (bytes int64, n int) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(shared.dir, "*", "tmp", "up-*", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		if info, err := os.Stat(p); err == nil {
			bytes, n = bytes+info.Size(), n+1
		}
	}
	return bytes, n
}

// TestUploadsAreCopiedOnce: a file of the request that is used again and again has
// one copy, and pages get it each time.
func TestUploadsAreCopiedOnce(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<input type=file id=f multiple onchange="window.n=(window.n||0)+1">`)
	}))
	t.Cleanup(srv.Close)
	path := filepath.Join(t.TempDir(), "0")
	if err := os.WriteFile(path, make([]byte, 6<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	task, err := Parse([]byte(fmt.Sprintf(`{"timeout":60000,"actions":[{"open":"%s"},{"loop":{"repeat":60,"do":[{"uploadFile":["#f","$file:0"]}]}},{"evaluate":"return [document.querySelector('#f').files.length, document.querySelector('#f').files[0].size]"}]}`, srv.URL)),
		[]Upload{{Name: "copied-once.bin", Type: "application/octet-stream", Path: path, Size: 6 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), task.Timeout)
	defer cancel()
	o := newInstance(t).Play(ctx, task, TaskEnv{})
	if string(o.Data) != fmt.Sprintf("[1,%d]", 6<<20) {
		t.Errorf("%s %+v", o.Data, o.Failures)
	}
	if bytes, n := copies(t, "copied-once.bin"); n != 1 {
		t.Errorf("there are %d copies with %d MiB", n, bytes>>20)
	}
}

// TestUploadsByURLHaveABudget: what is fetched again and again is bounded in a task;
// copies of earlier tasks of the session make room for those of later ones.
func TestUploadsByURLHaveABudget(t *testing.T) {
	t.Parallel()
	const size = 24 << 20
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fetched-again.bin" {
			_, _ = w.Write(make([]byte, size))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<input type=file id=f>`)
	}))
	t.Cleanup(srv.Close)
	in := newInstance(t)
	for range 2 {
		o := play(t, in, fmt.Sprintf(`{"timeout":90000,"actions":[{"open":"%[1]s/"},{"loop":{"repeat":12,"do":[{"uploadFile":["#f","%[1]s/fetched-again.bin"]}]}}]}`, srv.URL), TaskEnv{})
		const fit = browser.MaxUploaded / size
		if len(o.Failures) != 12-fit || o.Failures[0].Code != CodeStorageQuota || *o.Failures[0].Iteration != fit {
			t.Errorf("%s %v", o.Data, failuresOf(o))
		}
		if bytes, n := copies(t, "fetched-again.bin"); bytes > browser.MaxUploaded || n == 0 {
			t.Errorf("there are %d copies with %d MiB", n, bytes>>20)
		}
	}
}

// TestFilesOfATaskHaveABudget: in bytes and in number.
func TestFilesOfATaskHaveABudget(t *testing.T) {
	t.Parallel()
	save := bounded(func(_ context.Context, f File, r io.Reader) (string, error) {
		_, err := io.Copy(io.Discard, r)
		return f.Name, err
	})
	zeros := func(n int64) io.Reader { return io.LimitReader(zero{}, n) }
	wants := func(n int64, kept bool) {
		t.Helper()
		_, err := save(context.Background(), File{Name: "a"}, zeros(n))
		var p *Problem
		if (err == nil) != kept || err != nil && (!errors.As(err, &p) || p.Code != CodeStorageQuota) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	wants(maxKept-10, true)
	wants(11, false)
	wants(10, true)
	wants(1, false)
	for range maxKeptFiles - 2 {
		wants(0, true)
	}
	wants(0, false)
}

type zero struct{}

func (zero) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
