package browser_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/engine/browser"
	"troupe/testkit/need"
)

// TestFoldersUnderAnyUmask: each folder that the browsers' user must reach lets it through
// whatever the umask is, also when it was removed meanwhile, and a folder that does not is
// named. No other test runs beside it: the umask is that of the process.
func TestFoldersUnderAnyUmask(t *testing.T) {
	need.Browser(t)
	if os.Geteuid() != 0 {
		t.Skip("only root's browsers run as another user")
	}
	defer syscall.Umask(syscall.Umask(0o077))
	top, err := os.MkdirTemp("", "umask")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(top)
	if err := os.Chmod(top, 0o711); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(top, "a", "b", "browsers")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	b, err := browser.Launch(ctx, options(base))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	// As what clears temporary folders does. The browser that runs still makes files in its
	// folder, and a removal that comes on one goes once more.
	for {
		err := os.RemoveAll(filepath.Join(top, "a"))
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.ENOTEMPTY) || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	second, err := browser.Launch(ctx, options(base))
	if err != nil {
		t.Fatalf("a browser after its folder was removed: %v", err)
	}
	second.Close()
	c, err := b.NewContext(ctx, "")
	if err != nil {
		t.Fatalf("a context of a browser whose folder was removed: %v", err)
	}
	path, _, err := c.Transfers.KeepUpload("a.txt", strings.NewReader("content"))
	if err != nil {
		t.Fatal(err)
	}
	uid := options(base).User()
	for at := path; at != top; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		own := int(info.Sys().(*syscall.Stat_t).Uid) == uid
		if mode := info.Mode().Perm(); own && mode&0o077 != 0 || !own && mode != 0o711 {
			t.Errorf("%s has the mode %v, and belongs to the browsers' user: %v", at, mode, own)
		}
	}
	if err := errors.Join(os.Chmod(base, 0o700), os.Chmod(filepath.Dir(base), 0o700)); err != nil {
		t.Fatal(err)
	}
	var named *browser.FolderError
	if b, err := browser.Launch(ctx, options(base)); !errors.As(err, &named) || named.Path != filepath.Dir(base) || !strings.Contains(named.Why, "0700") {
		if err == nil {
			b.Close()
		}
		t.Errorf("a folder that lets nobody through is told of as %v", err)
	}
	if info, err := os.Stat(filepath.Dir(base)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a folder above was opened: %v, %v", info.Mode(), err)
	}
	if _, err := os.Stat(base); errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
