package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"troupe/persistence"
)

// TestSessionFilesAreBounded: a session has so many files and no more, one with a known name takes the
// place of the other, and what ends leaves none of them, of this session
// alone; what pages have sent stays.
func TestSessionFilesAreBounded(t *testing.T) {
	store, files := persistence.NewMemory(), persistence.NewMemoryFiles()
	defer store.Close()
	f, ctx := persistence.NewSessionFiles(store, files), t.Context()
	give := func(session, name, text string) (persistence.SessionFile, error) {
		return f.Give(ctx, session, persistence.Blob{Account: "ada~1", Label: name, ContentType: "text/plain", Expires: time.Now().Add(time.Hour)}, strings.NewReader(text))
	}
	var last persistence.SessionFile
	for i := range persistence.MaxSessionFiles {
		var err error
		if last, err = give("sess_1", fmt.Sprint("f", i), "one"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := give("sess_1", "more", "one"); !errors.Is(err, persistence.ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
	again, err := give("sess_1", last.Name, "other")
	if err != nil {
		t.Fatal(err)
	}
	beside, err := give("sess_11", "f1", "beside")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{last.Name, again.ID} {
		found, r, err := f.Open(ctx, "ada~1", "sess_1", name)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(r); found.ID != again.ID || string(b) != "other" {
			t.Errorf("%s is %+v %q", name, found, b)
		}
		r.Close()
	}
	if n := blobs(t, ctx, files); n != persistence.MaxSessionFiles+1 {
		t.Errorf("%d files are kept", n)
	}
	for who, of := range map[string][2]string{"another session": {"ada~1", "sess_11"}, "another account": {"ada~2", "sess_1"}} {
		if _, err := f.Find(ctx, of[0], of[1], again.ID); !errors.Is(err, persistence.ErrNotFound) {
			t.Errorf("%s finds it: %v", who, err)
		}
	}
	sent, err := files.Put(ctx, persistence.Blob{Account: "ada~1", Label: "f1", ContentType: "text/plain", Expires: time.Now().Add(time.Hour)}, strings.NewReader("sent"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Sent(ctx, "ada~1", "sess_1", sent.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := give("sess_1", last.Name, "a third time"); err != nil {
		t.Errorf("a download counts as given: %v", err)
	}
	if found, err := f.Find(ctx, "ada~1", "sess_1", "f1"); err != nil || found.Download {
		t.Errorf("f1 is %+v, %v: want what was given", found, err)
	}
	if found, err := f.Find(ctx, "ada~1", "sess_1", sent.ID); err != nil || !found.Download || found.Size != 4 {
		t.Errorf("the download is %+v, %v", found, err)
	}
	for range persistence.MaxSessionDownloads {
		b, err := files.Put(ctx, persistence.Blob{Account: "ada~1", Label: "more", Expires: time.Now().Add(time.Hour)}, strings.NewReader("x"))
		if err == nil {
			err = f.Sent(ctx, "ada~1", "sess_2", b.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sent(ctx, "ada~1", "sess_2", sent.ID); err != nil {
		t.Fatal(err)
	}
	all, err := f.List(ctx, "ada~1", "sess_2")
	if err != nil || len(all) != persistence.MaxSessionDownloads || all[0].ID == sent.ID {
		t.Errorf("%d downloads are listed, the first %+v: %v", len(all), all[0], err)
	}
	if err := f.End(ctx, "ada~1", "sess_1"); err != nil {
		t.Fatal(err)
	}
	if all, err := f.List(ctx, "ada~1", "sess_1"); err != nil || len(all) > 0 {
		t.Errorf("after the end: %v %v", all, err)
	}
	if _, _, err := files.Open(ctx, sent.ID); err != nil {
		t.Errorf("the download has ended with the session: %v", err)
	}
	if _, _, err := files.Open(ctx, beside.ID); err != nil || blobs(t, ctx, files) != 2+persistence.MaxSessionDownloads {
		t.Errorf("the end of another session: %v, %d", err, blobs(t, ctx, files))
	}
	if err := f.EndAll(ctx, "ada~1"); err != nil || blobs(t, ctx, files) != 1+persistence.MaxSessionDownloads {
		t.Errorf("the end of the account: %v, %d are left", err, blobs(t, ctx, files))
	}
}

func blobs(t *testing.T, ctx context.Context, files persistence.Files) (n int) {
	t.Helper()
	for _, err := range files.(persistence.Lister).All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
