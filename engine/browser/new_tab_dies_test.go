package browser_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"troupe/engine/browser"
	"troupe/testkit/need"
)

// TestNewTabThatDies: a tab whose process dies before it is ready is made anew, and the one
// that was there stays. One that dies each time is an error.
func TestNewTabThatDies(t *testing.T) {
	t.Parallel()
	need.Browser(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} { // the browsers' user goes through them
		if err := os.Chmod(d, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	b, err := browser.Launch(ctx, options(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c, err := b.NewContext(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, deaths := range []int{1, browser.NewTabTries - 1, browser.NewTabTries} {
		tab, left, err := c.NewTabThatDies(ctx, deaths)
		if left != 0 {
			t.Errorf("%d deaths are left of %d", left, deaths)
		}
		if deaths == browser.NewTabTries {
			if err == nil {
				t.Error("a tab that dies each time is no error")
			}
			break
		}
		if err != nil {
			t.Fatalf("after %d deaths: %v", deaths, err)
		}
		if c.Current() != tab || tab.Crashed() || len(c.Tabs()) != i+2 {
			t.Errorf("after %d deaths there are %d tabs, and the current one is not the new one", deaths, len(c.Tabs()))
		}
		if err := tab.Navigation.Open(ctx, "data:text/html,<title>Here</title>"); err != nil {
			t.Errorf("after %d deaths: %v", deaths, err)
		}
	}
}
