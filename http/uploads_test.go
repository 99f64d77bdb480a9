package http_test

import (
	"context"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/http"
	"troupe/http/admin"
)

// sendForm posts a form to any address.
func (e *edge) sendForm(t testing.TB, target, token string, parts ...part) (int, problem) {
	t.Helper()
	kind, body := form(parts...)
	req, err := nethttp.NewRequest("POST", "http://"+e.addr+target, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", kind)
	r, err := alone.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	return r.StatusCode, judge(t, r)
}

// TestFormsOnlyWhereFilesAreUsed: a form that is sent to any other way is refused
// unread, and leaves the uploads of other accounts alone.
func TestFormsOnlyWhereFilesAreUsed(t *testing.T) {
	beside(t)
	begun, over := make(chan string, 1), make(chan struct{})
	c := &fakeActors{execute: func(_ context.Context, m *api.Execute) (*api.Executed, error) {
		begun <- m.Task.Files[0].Path
		<-over
		return done(m), nil
	}}
	e := openServer(t, c, func(cfg *http.Config) { cfg.Admin = &admin.Admin{} })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if status, p := e.sendForm(t, "/v1/", "small", part{name: "payload", data: []byte(task)}, part{name: "files", file: "a.txt", data: []byte("kept")}); status != 200 {
			t.Errorf("the task of the other account: %d %+v", status, p)
		}
	}()
	upload := <-begun
	for _, w := range http.Routes() {
		if w.Method != "POST" || w.Path == "/v1" || w.Path == "/v1/" || w.Path == "/v1/execute" || w.Path == "/v1/validate" || w.Path == "/v1/runs/{runId}/again" || w.Path == "/v1/sessions/{sessionId}/files" {
			continue
		}
		target := strings.ReplaceAll(w.Path, "{order}", "worker/list")
		status, p := e.sendForm(t, target, "boss", part{name: "payload", data: []byte(`{"object":"account"}`)}, part{name: "files", file: "b.txt", data: []byte("x")})
		if status != 415 || p.Code != "unsupported_media_type" || !strings.Contains(p.Error, "application/json") || strings.Contains(p.Error, "multipart") {
			t.Errorf("a form to %s: %d %+v", target, status, p)
		}
		if b, err := os.ReadFile(upload); err != nil || string(b) != "kept" {
			t.Errorf("after a form to %s the other account's upload is %q: %v", target, b, err)
		}
	}
	close(over)
	<-ended
	if left, err := os.ReadDir(e.uploads); err != nil || len(left) > 0 {
		t.Errorf("left are %v: %v", left, err)
	}
}

// TestFolderOfUploads: a folder of uploads is one of its own, below that of all.
func TestFolderOfUploads(t *testing.T) {
	beside(t)
	root := t.TempDir()
	for _, id := range []string{"", ".", "..", "a/b", "../a", "/", "a\\b", ".hidden", "a\x00b", strings.Repeat("a", 300)} {
		if dir, err := http.UploadFolder(root, id); err == nil {
			t.Errorf("the id %q gets the folder %s", id, dir)
		}
	}
	id := actors.NewTaskID(time.Now())
	dir, err := http.UploadFolder(root, id)
	if err != nil || dir != filepath.Join(root, id) {
		t.Fatalf("%q: %q, %v", id, dir, err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info, err)
	}
	if _, err := http.UploadFolder(root, id); err == nil {
		t.Error("a folder that is there is handed out a second time")
	}
}
