package persistence_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"troupe/persistence"
)

func openFolder(t *testing.T) (*persistence.Folder, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "files")
	f, err := persistence.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, dir
}

func keep(t *testing.T, f *persistence.Folder, b persistence.Blob, content string) persistence.Blob {
	t.Helper()
	b, err := f.Put(ctx, b, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func absent(t *testing.T, f *persistence.Folder, id string) {
	t.Helper()
	b, r, err := f.Open(ctx, id)
	if err == nil {
		r.Close()
	}
	if !errors.Is(err, persistence.ErrNotFound) {
		t.Fatalf("Open(%q) = %+v, %v; want ErrNotFound", id, b, err)
	}
}

// tree lists the files below a folder.
func tree(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFolder(t *testing.T) {
	f, dir := openFolder(t)
	when := time.Now().Add(time.Hour).UTC()
	for _, durable := range []bool{false, true} {
		in := persistence.Blob{Account: "bob", Label: "../../a\x00b", ContentType: "image/png", Inline: true, Expires: when, Durable: durable}
		b := keep(t, f, in, "picture")
		if b.Size != 7 || b.Created.IsZero() || b.Account != "bob" || filepath.Ext(b.ID) != ".png" || url.PathEscape(b.ID) != b.ID || len(b.ID) < 26+4 {
			t.Fatalf("Put = %+v", b)
		}
		got, r, err := f.Open(ctx, b.ID)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if got.Durable = durable; err != nil || string(content) != "picture" || got != b {
			t.Fatalf("Open = %q, %+v, %v; want %+v", content, got, err, b)
		}
		if _, err := r.Seek(3, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "ture" {
			t.Fatalf("after Seek: %q", rest)
		}
		r.Close()
		if other := keep(t, f, in, "picture"); other.ID == b.ID {
			t.Fatal("two files have one identifier")
		}
		for range 2 {
			if err := f.Delete(ctx, b.ID); err != nil {
				t.Fatal(err)
			}
		}
		absent(t, f, b.ID)
	}
	if files := tree(t, dir); len(files) != 4 {
		t.Fatalf("two files are left in %q", files)
	}
	for _, b := range []persistence.Blob{{ContentType: "text/html; charset=utf-8"}, {ContentType: "application/x-../../etc"}, {}} {
		b = keep(t, f, b, "")
		if want := map[bool]string{true: ".html"}[strings.HasPrefix(b.ContentType, "text/html")]; filepath.Ext(b.ID) != want {
			t.Errorf("a file of type %q is called %s", b.ContentType, b.ID)
		}
	}
}

func TestFolderIsTheOwnersOnly(t *testing.T) {
	f, dir := openFolder(t)
	keep(t, f, persistence.Blob{}, "x")
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFolderCannotBeLeft(t *testing.T) {
	f, dir := openFolder(t)
	secret := filepath.Join(filepath.Dir(dir), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := keep(t, f, persistence.Blob{ContentType: "image/png"}, "x")
	name := strings.TrimSuffix(b.ID, ".png")
	for _, id := range []string{
		"", ".", "..", "../secret", "..%2fsecret", "%2e%2e%2fsecret", "%2e%2e/secret", "..%252fsecret", "..\\secret", "..%5csecret",
		"%c0%ae%c0%ae/secret", "..\xc0\xafsecret", "..\u2215secret", "\uff0e\uff0e/secret", secret, "file://" + secret, "//" + secret,
		"tmp", "tmp/put-x", name[:2], name[:2] + "/" + name + ".blob", name[:2] + "/" + b.ID, name + ".blob", name + ".json",
		name, name + ".gif", name + "\x00.png", b.ID + "\x00", b.ID + "/", b.ID + "/.", "./" + b.ID, "/" + b.ID, b.ID + "\n", " " + b.ID,
		strings.ToUpper(b.ID), name + ".", name + "..png", name + ".png.png", strings.Repeat("a", 5000), b.ID + "?x", b.ID + "#x", b.ID + ":x",
	} {
		absent(t, f, id)
		if err := f.Delete(ctx, id); err != nil {
			t.Errorf("Delete(%q): %v", id, err)
		}
	}
	if text, err := os.ReadFile(secret); string(text) != "secret" {
		t.Fatalf("outside of the folder: %q, %v", text, err)
	}
	_, r, err := f.Open(ctx, b.ID)
	if err != nil {
		t.Fatalf("the file went by another name than its own: %v", err)
	}
	r.Close()
}

func TestFolderFollowsNoLinks(t *testing.T) {
	f, dir := openFolder(t)
	secret := filepath.Join(filepath.Dir(dir), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{secret, "../../secret", "inside"} {
		b := keep(t, f, persistence.Blob{}, "public")
		blob := filepath.Join(dir, b.ID[:2], b.ID+".blob")
		if err := os.WriteFile(filepath.Join(filepath.Dir(blob), "inside"), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(blob), os.Symlink(target, blob)); err != nil {
			t.Fatal(err)
		}
		absent(t, f, b.ID)
	}
	b := keep(t, f, persistence.Blob{}, "public")
	shard := filepath.Join(dir, b.ID[:2])
	away := filepath.Join(filepath.Dir(dir), "away")
	if err := errors.Join(os.Rename(shard, away), os.Symlink(away, shard)); err != nil {
		t.Fatal(err)
	}
	if _, r, err := f.Open(ctx, b.ID); err == nil {
		r.Close()
		t.Fatal("a linked folder outside was read")
	}
	if text, _ := os.ReadFile(secret); string(text) != "secret" {
		t.Fatal("the link's target was changed")
	}
}

func TestFileThatCannotBeWrittenWholeIsNotThere(t *testing.T) {
	f, dir := openFolder(t)
	broken := errors.New("broken")
	if _, err := f.Put(ctx, persistence.Blob{}, io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Fatalf("Put: %v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	endless := readerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	if _, err := f.Put(gone, persistence.Blob{}, endless); !errors.Is(err, context.Canceled) {
		t.Fatalf("Put with a context that ended: %v", err)
	}
	if files := tree(t, dir); files != nil {
		t.Fatalf("left behind: %q", files)
	}

	kept := keep(t, f, persistence.Blob{}, "kept")
	if _, _, err := f.Open(gone, kept.ID); !errors.Is(err, context.Canceled) {
		t.Fatalf("Open with a context that ended: %v", err)
	}
	if err := f.Delete(ctx, kept.ID); err != nil {
		t.Fatal(err)
	}

	// What a killed process may leave: each of these is not there.
	for _, part := range []string{".json", ".blob"} {
		b := keep(t, f, persistence.Blob{}, "whole")
		name := filepath.Join(dir, b.ID[:2], b.ID)
		if err := os.Remove(name + part); err != nil {
			t.Fatal(err)
		}
		absent(t, f, b.ID)
	}
	for part, content := range map[string]string{".json": `{"id":"`, ".blob": "who"} {
		b := keep(t, f, persistence.Blob{}, "whole")
		if err := os.WriteFile(filepath.Join(dir, b.ID[:2], b.ID+part), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		absent(t, f, b.ID)
	}
	if err := os.WriteFile(filepath.Join(dir, "tmp", "put-x"), bytes.Repeat([]byte("x"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Sweep(ctx, time.Now()); n != 0 || err != nil {
		t.Fatalf("Sweep took %d files that may still be being written, %v", n, err)
	}
	whole := keep(t, f, persistence.Blob{}, "whole")
	if n, err := f.Sweep(ctx, time.Now().Add(2*time.Hour)); n != 5 || err != nil {
		t.Fatalf("Sweep = %d, %v; want 5", n, err)
	}
	if files := tree(t, dir); len(files) != 2 || !strings.Contains(files[0], whole.ID) {
		t.Fatalf("after Sweep: %q", files)
	}
}

func TestFilesExpire(t *testing.T) {
	f, dir := openFolder(t)
	old := keep(t, f, persistence.Blob{Expires: time.Now().Add(-time.Second)}, "old")
	fresh := keep(t, f, persistence.Blob{Expires: time.Now().Add(time.Hour)}, "fresh")
	always := keep(t, f, persistence.Blob{}, "always")
	absent(t, f, old.ID)
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 0} {
		if n, err := f.Sweep(ctx, time.Now()); n != want || err != nil {
			t.Fatalf("Sweep %d = %d, %v; want %d", i, n, err, want)
		}
	}
	for _, b := range []persistence.Blob{fresh, always} {
		_, r, err := f.Open(ctx, b.ID)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	if n, err := f.Sweep(ctx, time.Now().Add(24*time.Hour)); n != 1 || err != nil {
		t.Fatalf("a day later Sweep = %d, %v; want 1", n, err)
	}
	absent(t, f, fresh.ID)
	if files := tree(t, dir); len(files) != 3 { // always, and what is not ours
		t.Fatalf("left: %q", files)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// What a folder does not take is told apart from what its reader does not give.
func TestFolderSaysWhoseFaultItIs(t *testing.T) {
	f, dir := openFolder(t)
	broken := errors.New("the page has gone")
	if _, err := f.Put(t.Context(), persistence.Blob{}, iotest.ErrReader(broken)); !errors.Is(err, broken) || errors.Is(err, persistence.ErrUnwritable) {
		t.Errorf("a reader that fails: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "tmp")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Put(t.Context(), persistence.Blob{}, strings.NewReader("x")); !errors.Is(err, persistence.ErrUnwritable) {
		t.Errorf("a folder that takes nothing: %v", err)
	}
}
