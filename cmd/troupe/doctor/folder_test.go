package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"troupe/persistence"
)

// TestDoctorTriesTheFolder: what serve would do there is done in a folder of its own, which is
// gone afterwards, and what goes wrong is a problem with advice.
func TestDoctorTriesTheFolder(t *testing.T) {
	data := filepath.Join(t.TempDir(), "a", "data")
	for name, c := range map[string]struct {
		err    error
		advice string
	}{
		"all is well":       {nil, ""},
		"read only":         {&fs.PathError{Op: "open", Path: "x", Err: syscall.EROFS}, "mount the disk"},
		"somebody else's":   {fmt.Errorf("lock it: %w", fs.ErrPermission), "chown"},
		"full":              {fmt.Errorf("write to the store: %w", syscall.ENOSPC), "make room"},
		"a quota":           {fmt.Errorf("write to the store: %w", syscall.EDQUOT), "make room"},
		"full for us":       {fmt.Errorf("write to the store: %w", persistence.ErrFull), "make room"},
		"few descriptors":   {fmt.Errorf("open: %w", syscall.EMFILE), "ulimit -n"},
		"no maps":           {fmt.Errorf("map it: %w", syscall.ENODEV), "a local disk"},
		"no locks":          {fmt.Errorf("lock it: %w", syscall.ENOLCK), "a local disk"},
		"too little memory": {fmt.Errorf("map it: %w", syscall.ENOMEM), "vm.max_map_count"},
	} {
		tried := ""
		f := examineFolder(t.Context(), Service{Data: data, Try: func(_ context.Context, dir string) error {
			tried = dir
			if err := os.WriteFile(filepath.Join(dir, "left"), nil, 0o600); err != nil {
				t.Error(err)
			}
			return c.err
		}})
		if want := map[bool]Verdict{true: Good, false: Problem}[c.err == nil]; f.Verdict != want || !strings.Contains(f.Advice, c.advice) || (f.Advice == "") != (c.err == nil) {
			t.Errorf("%s: %+v", name, f)
		}
		if _, err := os.Stat(tried); tried == "" || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %s is left: %v", name, tried, err)
		}
		if _, err := os.Stat(filepath.Dir(data)); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s: the folder of the data was made: %v", name, err)
		}
	}
	f := examineFolder(t.Context(), Service{Data: data, Running: true, Try: func(context.Context, string) error { return errors.New("tried beside a service") }})
	if f.Verdict != Good {
		t.Errorf("%+v", f)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := examineFolder(t.Context(), Service{Data: file}); f.Verdict != Problem || !strings.Contains(f.Found, "is no folder") {
		t.Errorf("%+v", f)
	}
}

// TestDoctorSaysWhyABrowserDoesNotStart: what is used up is no missing browser.
func TestDoctorSaysWhyABrowserDoesNotStart(t *testing.T) {
	for name, c := range map[string]struct {
		err           error
		limit         uint64
		found, advice string
	}{
		"broken":          {errors.New("it ended at once"), 65536, "does not start: it ended", "--version"},
		"no pipe":         {fmt.Errorf("making a pipe: %w", os.NewSyscallError("pipe2", syscall.EMFILE)), 65536, "too few files", "LimitNOFILE="},
		"not executed":    {&fs.PathError{Op: "fork/exec", Path: "/c", Err: syscall.EMFILE}, 65536, "too few files", "LimitNOFILE="},
		"it says so":      {errors.New("it ended at once: FATAL: Check failed: Too many open files (24)"), 65536, "too few files", "LimitNOFILE="},
		"it says nothing": {errors.New("opening a tab: the browser is gone"), 64, "too few files can be open (64)", "LimitNOFILE="},
		"no process":      {&fs.PathError{Op: "fork/exec", Path: "/c", Err: syscall.EAGAIN}, 65536, "no more processes", "ulimit -u"},
		"no thread":       {errors.New("pthread_create: Resource temporarily unavailable (11)"), 65536, "no more processes", "ulimit -u"},
		"no memory":       {&fs.PathError{Op: "fork/exec", Path: "/c", Err: syscall.ENOMEM}, 65536, "too little memory", "docker run --memory"},
	} {
		f := judgeStart("/c", c.err, c.limit)
		if f.Verdict != Problem || !strings.Contains(f.Found, c.found) || !strings.Contains(f.Found, c.err.Error()) || !strings.Contains(f.Advice, c.advice) || strings.Contains(f.Advice, "apt-get") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
