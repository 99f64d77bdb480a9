package http_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine"
	"troupe/http"
	"troupe/persistence"
)

const mib = 1 << 20

// bounded gives plans so many MiB and files.
func bounded(l *persistence.Ledger, mebi int64, files int) func(*http.Config) {
	return func(c *http.Config) {
		c.Ledger, c.Limits, c.Counts = l, engine.DefaultLimits(), counts(0)
		for _, p := range engine.Plans {
			of := c.Limits[p]
			of.StorageBytes, of.StorageFiles = mebi*mib, files
			c.Limits[p] = of
		}
	}
}

// stored is how many bytes lie below a folder.
func stored(t testing.TB, dir string) (n int64) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// halfForm announces a form of so many bytes and sends the first of them.
func (e *edge) halfForm(t testing.TB, token string, announced, sent int) net.Conn {
	t.Helper()
	c := e.dial(t, nil)
	begin := "--x\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a\"\r\n\r\n"
	_, _ = fmt.Fprintf(c, "POST /v1/ HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n%s%s",
		token, announced, begin, strings.Repeat("a", sent-len(begin)))
	return c
}

// TestUnfinishedForms: forms that never end take no more room than their account
// may have, what is beyond is refused before it is read, and nobody else is.
func TestUnfinishedForms(t *testing.T) {
	beside(t)
	l := persistence.NewLedger(0, nil)
	e := openServer(t, &fakeActors{}, bounded(l, 64, 100))
	var held []net.Conn
	for range 3 {
		held = append(held, e.halfForm(t, "good", 20*mib, mib))
	}
	eventually(t, "three forms are on their way", func() bool { return l.Of("acc1").HeldBytes == 60*mib })
	for range 5 {
		c := e.halfForm(t, "good", 20*mib, 64<<10)
		r, p := readAnswer(t, c)
		if r.StatusCode != 429 || p.Code != "storage_quota" || !*p.Retryable || r.Header.Get("Retry-After") == "" {
			t.Errorf("one more form: %d %+v", r.StatusCode, p)
		}
	}
	if n := stored(t, e.uploads); n > 60*mib {
		t.Errorf("unfinished forms hold %d bytes", n)
	}
	small := []part{{name: "payload", data: []byte(task)}, {name: "files", file: "a", data: make([]byte, 5*mib)}}
	if status, p := e.sendForm(t, "/v1/", "small", small...); status != 200 {
		t.Errorf("another account: %d %+v", status, p)
	}
	if status, p := e.sendForm(t, "/v1/", "good", small...); status != 429 || p.Code != "storage_quota" {
		t.Errorf("the account with its unfinished forms: %d %+v", status, p)
	}
	for _, c := range held {
		c.Close()
	}
	eventually(t, "nothing is held for the account", func() bool { return l.Of("acc1") == persistence.Kept{} && stored(t, e.uploads) == 0 })
	if status, p := e.sendForm(t, "/v1/", "good", small...); status != 200 {
		t.Errorf("afterwards: %d %+v", status, p)
	}
	eventually(t, "nothing is held", func() bool { return l.All() == persistence.Kept{} })
}

// TestFormsInChunks: what announces no length is counted as it comes.
func TestFormsInChunks(t *testing.T) {
	beside(t)
	l := persistence.NewLedger(0, nil)
	e := openServer(t, &fakeActors{}, bounded(l, 10, 3))
	send := func(parts ...part) (int, problem) {
		t.Helper()
		kind, body := form(parts...)
		return e.post(t, kind, io.MultiReader(body)) // whose length nobody knows
	}
	payload := part{name: "payload", data: []byte(task)}
	if status, p := send(payload, part{name: "files", file: "a", data: make([]byte, 9*mib)}); status != 200 {
		t.Errorf("within: %d %+v", status, p)
	}
	if status, p := send(payload, part{name: "files", file: "a", data: make([]byte, 15*mib)}); status != 429 || p.Code != "storage_quota" {
		t.Errorf("beyond: %d %+v", status, p)
	}
	one := part{name: "files", file: "a", data: []byte("a")}
	if status, p := send(payload, one, one, one, one); status != 429 || p.Code != "storage_quota" {
		t.Errorf("too many files: %d %+v", status, p)
	}
	eventually(t, "nothing is held", func() bool { return l.All() == persistence.Kept{} && stored(t, e.uploads) == 0 })
}

// TestServiceAtItsLimit: where the service has no room, nobody is let in, with the
// code of a full disk.
func TestServiceAtItsLimit(t *testing.T) {
	beside(t)
	l := persistence.NewLedger(4*mib, nil)
	e := openServer(t, &fakeActors{}, bounded(l, 64, 0))
	if _, err := l.Hold("others", persistence.Allowance{}, 4*mib, 1); err != nil {
		t.Fatal(err)
	}
	status, p := e.sendForm(t, "/v1/", "good", part{name: "payload", data: []byte(task)}, part{name: "files", file: "a", data: make([]byte, mib)})
	if status != 503 || p.Code != "storage_full" || !*p.Retryable {
		t.Errorf("%d %+v", status, p)
	}
}

// TestUploadsOfLaterTasks: uploads count until their task has ended, and an account
// that keeps too much starts no task whose result would be kept.
func TestUploadsOfLaterTasks(t *testing.T) {
	beside(t)
	c := &fakeActors{}
	l := persistence.NewLedger(0, nil)
	e := openServer(t, c, bounded(l, 3, 10))
	later := strings.Replace(task, "{", `{"async":true,`, 1)
	if status, p := e.sendForm(t, "/v1/", "good", part{name: "payload", data: []byte(later)}, part{name: "files", file: "a", data: make([]byte, 2*mib)}); status != 200 {
		t.Fatalf("%d %+v", status, p)
	}
	if k := l.Of("acc1"); k.HeldBytes != 2*mib || k.HeldFiles != 1 || stored(t, e.uploads) != 2*mib {
		t.Errorf("of a running task is kept %+v, on the disk %d", k, stored(t, e.uploads))
	}
	var u struct {
		Storage struct{ Bytes, Files, UploadingBytes int64 }
		Limits  struct{ StorageBytes, StorageFiles int64 }
	}
	if status, b := call(t, e, "GET", "/v1/usage", "good", ""); status != 200 || json.Unmarshal([]byte(b), &u) != nil ||
		u.Storage.Bytes != 2*mib || u.Storage.Files != 1 || u.Storage.UploadingBytes != 2*mib || u.Limits.StorageBytes != 3*mib || u.Limits.StorageFiles != 10 {
		t.Errorf("%d %s", status, b)
	}
	full, err := l.Hold("acc1", persistence.Allowance{}, mib, 1)
	if err != nil {
		t.Fatal(err)
	}
	if status, p := e.post(t, "application/json", strings.NewReader(later)); status != 429 || p.Code != "storage_quota" {
		t.Errorf("another one for later: %d %+v", status, p)
	}
	if status, p := e.post(t, "application/json", strings.NewReader(task)); status != 200 {
		t.Errorf("one that keeps nothing: %d %+v", status, p)
	}
	full.Release()
	c.free() // the task has ended
	eventually(t, "nothing is held", func() bool { return l.All() == persistence.Kept{} && stored(t, e.uploads) == 0 })
}

// TestFilesOfTasksAreCounted: a task gets files kept until its account has too
// many, with the code that says so.
func TestFilesOfTasksAreCounted(t *testing.T) {
	beside(t)
	l := persistence.NewLedger(0, nil)
	keep := http.Keep(persistence.NewAccounted(persistence.NewMemoryFiles(), l), "https://files.example", time.Hour,
		func(p engine.Plan) persistence.Allowance {
			return persistence.Allowance{Bytes: map[engine.Plan]int64{engine.Pro: 1000}[p], Files: 3}
		}, zerolog.Nop())
	try := func(account string, size int) error {
		_, err := keep(t.Context(), engine.File{Account: account, Plan: engine.Pro, Name: "a"}, bytes.NewReader(make([]byte, size)))
		return err
	}
	for _, tc := range []struct {
		account string
		size    int
		kept    bool
	}{{"ada", 600, true}, {"ada", 600, false}, {"bob", 600, true}, {"ada", 300, true}, {"ada", 100, true}, {"ada", 0, false}} {
		err := try(tc.account, tc.size)
		p, _ := err.(*engine.Problem)
		if tc.kept != (err == nil) || err != nil && (p == nil || p.Code != engine.CodeStorageQuota) {
			t.Errorf("%d bytes of %s: %v", tc.size, tc.account, err)
		}
	}
	if k := l.Of("ada"); k != (persistence.Kept{Bytes: 1000, Files: 3}) {
		t.Errorf("of ada is kept %+v", k)
	}
}
