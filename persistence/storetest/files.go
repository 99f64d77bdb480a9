package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"troupe/persistence"
)

// RunFiles checks files. Open gives empty ones.
func RunFiles(t *testing.T, open func(t *testing.T) persistence.Files) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, *fileStore)
	}{
		{"a file is read as it was kept", fileReadsBack},
		{"a large file is read from anywhere", fileSeeks},
		{"a file that could not be kept whole is not there", fileWholeOrNot},
		{"identifiers are the store's own", fileIDs},
		{"a deleted file is gone", fileDeletes},
		{"files expire", filesExpire},
		{"a context that has ended changes nothing", fileContext},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, &fileStore{t, open(t)}) })
	}
}

// fileStore are files with which failures end the test.
type fileStore struct {
	t     *testing.T
	files persistence.Files
}

func (s *fileStore) keep(b persistence.Blob, content string) persistence.Blob {
	s.t.Helper()
	b, err := s.files.Put(ctx, b, strings.NewReader(content))
	if err != nil {
		s.t.Fatalf("Put: %v", err)
	}
	return b
}

func (s *fileStore) open(id string) (persistence.Blob, io.ReadSeekCloser) {
	s.t.Helper()
	b, r, err := s.files.Open(ctx, id)
	if err != nil {
		s.t.Fatalf("Open(%q): %v", id, err)
	}
	s.t.Cleanup(func() { r.Close() })
	return b, r
}

func (s *fileStore) absent(id string) {
	s.t.Helper()
	b, r, err := s.files.Open(ctx, id)
	if err == nil {
		r.Close()
	}
	if !errors.Is(err, persistence.ErrNotFound) {
		s.t.Fatalf("Open(%q) = %+v, %v; want ErrNotFound", id, b, err)
	}
}

func (s *fileStore) sweep(now time.Time, want int) {
	s.t.Helper()
	if n, err := s.files.Sweep(ctx, now); n != want || err != nil {
		s.t.Fatalf("Sweep = %d, %v; want %d", n, err, want)
	}
}

func fileReadsBack(t *testing.T, s *fileStore) {
	when := time.Now().Add(time.Hour).UTC()
	for _, durable := range []bool{false, true} {
		in := persistence.Blob{Account: "bob", Label: "../../a\x00ü\n\"", ContentType: "image/png", Inline: true, Expires: when, Durable: durable}
		b := s.keep(in, "picture")
		if b.Size != 7 || time.Since(b.Created) > time.Minute || b.Account != "bob" || b.Label != in.Label {
			t.Fatalf("Put = %+v", b)
		}
		got, r := s.open(b.ID)
		got.Durable = durable
		if !got.Created.Equal(b.Created) || !got.Expires.Equal(b.Expires) {
			t.Fatalf("times of %+v; want %+v", got, b)
		}
		got.Created, got.Expires = b.Created, b.Expires
		if content, err := io.ReadAll(r); err != nil || string(content) != "picture" || got != b {
			t.Fatalf("Open = %q, %+v, %v; want %+v", content, got, err, b)
		}
	}
	empty := s.keep(persistence.Blob{}, "")
	_, r := s.open(empty.ID)
	if content, err := io.ReadAll(r); err != nil || len(content) != 0 || !empty.Expires.IsZero() {
		t.Fatalf("an empty file is %q, %v", content, err)
	}
}

func fileSeeks(t *testing.T, s *fileStore) {
	content := make([]byte, 3<<20+12345)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range content {
		content[i] = byte(random.Uint32())
	}
	// Readers that give little at a time are common.
	b, err := s.files.Put(ctx, persistence.Blob{}, iotest.HalfReader(bytes.NewReader(content)))
	if err != nil || b.Size != int64(len(content)) {
		t.Fatalf("Put = %+v, %v", b, err)
	}
	_, r := s.open(b.ID)
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
		t.Fatalf("read %d bytes, %v; want those %d", len(got), err, len(content))
	}
	part := make([]byte, 1000)
	for range 20 {
		at := random.Int64N(b.Size - int64(len(part)))
		if to, err := r.Seek(at, io.SeekStart); err != nil || to != at {
			t.Fatalf("Seek(%d) = %d, %v", at, to, err)
		}
		if _, err := io.ReadFull(r, part); err != nil || !bytes.Equal(part, content[at:at+int64(len(part))]) {
			t.Fatalf("the part at %d is another: %v", at, err)
		}
	}
	if at, err := r.Seek(-10, io.SeekEnd); err != nil || at != b.Size-10 {
		t.Fatalf("Seek from the end = %d, %v", at, err)
	}
	if rest, err := io.ReadAll(r); err != nil || !bytes.Equal(rest, content[len(content)-10:]) {
		t.Fatalf("the end is %d bytes, %v", len(rest), err)
	}
	if _, err := r.Seek(-1, io.SeekStart); err == nil {
		t.Fatal("before the start there is nothing to read")
	}
}

func fileWholeOrNot(t *testing.T, s *fileStore) {
	broken := errors.New("broken")
	half := io.MultiReader(bytes.NewReader(make([]byte, 2<<20)), iotest.ErrReader(broken))
	if b, err := s.files.Put(ctx, persistence.Blob{}, half); !errors.Is(err, broken) {
		t.Fatalf("Put = %+v, %v", b, err)
	}
	gone, cancel := context.WithCancel(ctx)
	endless := readerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	if b, err := s.files.Put(gone, persistence.Blob{}, endless); !errors.Is(err, context.Canceled) {
		t.Fatalf("Put with a context that ended = %+v, %v", b, err)
	}
	s.sweep(time.Now().Add(48*time.Hour), 0) // nothing was left to be swept
}

func fileIDs(t *testing.T, s *fileStore) {
	one, two := s.keep(persistence.Blob{ID: "mine", ContentType: "image/png"}, "x"), s.keep(persistence.Blob{}, "x")
	if one.ID == two.ID || one.ID == "mine" || len(one.ID) < 26 || url.PathEscape(one.ID) != one.ID {
		t.Fatalf("the identifiers are %q and %q", one.ID, two.ID)
	}
	for _, id := range []string{"", ".", "..", "../x", "/" + one.ID, one.ID + "/", one.ID + "x", one.ID + "\x00", one.ID + "\n", "*", ">", strings.ToUpper(one.ID), strings.Repeat("a", 5000), persistence.NewFileID("")} {
		s.absent(id)
		if err := s.files.Delete(ctx, id); err != nil {
			t.Errorf("Delete(%q): %v", id, err)
		}
	}
	s.open(one.ID)
}

func fileDeletes(t *testing.T, s *fileStore) {
	b := s.keep(persistence.Blob{}, "x")
	for range 2 {
		if err := s.files.Delete(ctx, b.ID); err != nil {
			t.Fatal(err)
		}
		s.absent(b.ID)
	}
}

func filesExpire(t *testing.T, s *fileStore) {
	old := s.keep(persistence.Blob{Expires: time.Now().Add(-time.Second)}, "old")
	fresh := s.keep(persistence.Blob{Expires: time.Now().Add(time.Hour)}, "fresh")
	always := s.keep(persistence.Blob{}, "always")
	s.absent(old.ID)
	s.sweep(time.Now(), 1)
	s.sweep(time.Now(), 0)
	s.open(fresh.ID)
	s.sweep(time.Now().Add(24*time.Hour), 1)
	s.absent(fresh.ID)
	s.open(always.ID)
}

func fileContext(t *testing.T, s *fileStore) {
	b := s.keep(persistence.Blob{}, "x")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, put := s.files.Put(gone, persistence.Blob{}, strings.NewReader("x"))
	_, _, open := s.files.Open(gone, b.ID)
	_, sweep := s.files.Sweep(gone, time.Now().Add(48*time.Hour))
	for name, err := range map[string]error{"Put": put, "Open": open, "Sweep": sweep, "Delete": s.files.Delete(gone, b.ID)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", name, err)
		}
	}
	s.open(b.ID)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
