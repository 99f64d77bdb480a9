package browser_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"troupe/engine/browser"
	"troupe/testkit/need"
)

// TestNoFolderOfABrowserThatIsGone: who comes to a browser while it ends, or later, makes
// its folder not again: nobody would remove it.
func TestNoFolderOfABrowserThatIsGone(t *testing.T) {
	need.Browser(t)
	for what, end := range map[string]func(*browser.Browser){
		"closed": (*browser.Browser).Close,
		"killed": func(b *browser.Browser) { _ = syscall.Kill(b.PID(), syscall.SIGKILL) },
	} {
		t.Run(what, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "gone") // the browser's user gets through to it
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			b, err := browser.Launch(ctx, options(dir))
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			c, err := b.NewContext(ctx, "")
			if err != nil {
				t.Fatal(err)
			}
			uses := map[string]func() error{
				"a context": func() error { _, err := b.NewContext(ctx, ""); return err },
				"an upload": func() error { _, _, err := c.Transfers.KeepUpload("a.txt", strings.NewReader("content")); return err },
			}
			var users sync.WaitGroup
			for _, use := range uses {
				users.Go(func() { // until the browser is gone
					for use() == nil && ctx.Err() == nil {
					}
				})
			}
			end(b)
			users.Wait()
			<-b.Gone()
			for name, use := range uses {
				if err := use(); !errors.Is(err, browser.ErrGone) {
					t.Errorf("%s of a browser that is gone: %v, want %v", name, err, browser.ErrGone)
				}
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) > 0 {
				t.Errorf("it has left %v, %v", left, err)
			}
		})
	}
}
