package persistence

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// failing is a store that does not write.
type failing struct{ Store }

func (failing) Put(context.Context, Write) (uint64, error) { return 0, ErrFull }

func openValueStores(t *testing.T) (store Store, files *memoryFiles, plain, sealed *ValueStore) {
	t.Helper()
	store, files = NewMemory(), NewMemoryFiles().(*memoryFiles)
	t.Cleanup(func() { store.Close() })
	seal, err := NewSeal(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	plain = NewValueStore(store, files)
	return store, files, plain, plain.Sealed(seal)
}

func TestValuesOfAnySizeAreKept(t *testing.T) {
	ctx := context.Background()
	_, files, plain, sealed := openValueStores(t)
	for _, s := range []*ValueStore{plain, sealed} {
		// Each value replaces the last one, with its file.
		for _, size := range []int{0, 1, maxInline + 1, 2 * maxInline, 10} {
			value := bytes.Repeat([]byte{'x'}, size)
			if err := s.Put(ctx, Item{Key: "state/k", Value: value, Durable: true}); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(ctx, "state/k"); err != nil || !bytes.Equal(got, value) {
				t.Errorf("%d bytes come back as %d, %v", size, len(got), err)
			}
			want := 0
			if size > maxInline {
				want = 1
			}
			if len(files.blobs) != want {
				t.Errorf("%d bytes: %d files, want %d", size, len(files.blobs), want)
			}
		}
		if err := s.Put(ctx, Item{Key: "state/k", Value: make([]byte, 1<<20)}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Delete(ctx, "state/k", true), s.Delete(ctx, "state/k", true)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(ctx, "state/k"); !errors.Is(err, ErrNotFound) || len(files.blobs) != 0 {
			t.Errorf("deleted: %v, %d files are left", err, len(files.blobs))
		}
	}
}

func TestValuesAreSealed(t *testing.T) {
	ctx := context.Background()
	store, files, plain, sealed := openValueStores(t)
	secret := []byte("the cookie")
	for _, value := range [][]byte{secret, bytes.Repeat(secret, maxInline)} {
		if err := sealed.Put(ctx, Item{Key: "state/k", Value: value}); err != nil {
			t.Fatal(err)
		}
		raw, err := plain.Get(ctx, "state/k")
		if err != nil || bytes.Contains(raw, secret) {
			t.Errorf("readable without the key (%v)", err)
		}
		if err := plain.Put(ctx, Item{Key: "state/other", Value: raw}); err != nil {
			t.Fatal(err)
		}
		if _, err := sealed.Get(ctx, "state/other"); !errors.Is(err, ErrSealed) {
			t.Errorf("opened under another key: %v", err)
		}
	}
	if _, err := store.Put(ctx, Write{Key: "strange", Value: []byte("?")}); err != nil {
		t.Fatal(err)
	}
	if _, err := sealed.Get(ctx, "strange"); err == nil {
		t.Error("a record that holds no value was read")
	}
	clear(files.blobs)
	if _, err := sealed.Get(ctx, "state/k"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a value whose file is gone: %v", err)
	}
}

func TestValuesLeaveNoFileBehind(t *testing.T) {
	ctx := context.Background()
	store, files, _, _ := openValueStores(t)
	s := NewValueStore(failing{store}, files)
	if err := s.Put(ctx, Item{Key: "state/k", Value: make([]byte, 1<<20)}); !errors.Is(err, ErrFull) {
		t.Errorf("err %v", err)
	}
	if len(files.blobs) != 0 {
		t.Errorf("%d files", len(files.blobs))
	}
}

func TestMemoryFiles(t *testing.T) {
	ctx := context.Background()
	f := NewMemoryFiles()
	soon := time.Now().Add(time.Hour)
	b, err := f.Put(ctx, Blob{Label: "state/a", Expires: soon}, bytes.NewReader([]byte("hello")))
	if err != nil || b.Size != 5 || len(b.ID) != 32 || b.Created.IsZero() {
		t.Fatalf("%+v, %v", b, err)
	}
	if _, err := f.Put(ctx, Blob{}, io.MultiReader(bytes.NewReader([]byte("x")), broken{})); err == nil {
		t.Error("half a file was kept")
	}
	about, r, err := f.Open(ctx, b.ID)
	if err != nil || about != b {
		t.Fatalf("%+v, %v", about, err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	if n, err := f.Sweep(ctx, soon.Add(-time.Second)); n != 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if n, err := f.Sweep(ctx, soon.Add(time.Second)); n != 1 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if _, _, err := f.Open(ctx, b.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("swept, and found: %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("no") }
