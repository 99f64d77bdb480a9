package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/engine"
)

// TestErrorTexts: what a client reads of an error names no path of the service.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "secret-place")
	_, opened := os.Open(filepath.Join(dir, "file"))
	renamed := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b"))
	for _, tc := range []struct {
		err  error
		want string
	}{
		{opened, "open: no such file or directory"},
		{fmt.Errorf("opening $file:0: %w", opened), "opening $file:0: open: no such file or directory"},
		{fmt.Errorf("keep: %w", errors.Join(renamed, errors.New("and more"))), "keep: rename: no such file or directory\nand more"},
		{fmt.Errorf("look at %s: %w", filepath.Join(dir, "file"), opened), "look at a file: open: no such file or directory"},
		{errors.New("nothing of files"), "nothing of files"},
	} {
		if got := engine.ErrorText(tc.err); got != tc.want || strings.Contains(got, "secret-place") {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
