package leaks

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// Suite is what a test binary looks at itself with.
type Suite struct {
	root   string
	before count
}

// suite is the one of this binary.
var suite Suite

// Start is called by TestMain before anything else. All temporary folders of
// the binary, and of what it starts, are in one from then on.
func Start() *Suite {
	root, err := os.MkdirTemp("", "lk") // short: a socket's path is bounded
	if err == nil {
		err = os.Chmod(root, 0o711) // browsers may run as another user
	}
	if err == nil {
		err = os.Setenv("TMPDIR", root)
	}
	if err != nil {
		panic(fmt.Errorf("make a folder for the tests: %w", err))
	}
	suite = Suite{root, take(root)}
	return &suite
}

// End is called by TestMain when everything has ended, with the code of the
// tests, and returns the one to exit with.
func (s *Suite) End(code int) int {
	if left := s.before.grown(s.root, patience); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "the tests left behind:\n%s\n", strings.Join(left, "\n"))
		code = max(code, 1)
	}
	os.RemoveAll(s.root)
	return code
}

// checked are the tests that are being looked at.
var checked = struct {
	sync.Mutex
	names map[string]*bool // whether another test ran meanwhile
}{names: map[string]*bool{}}

// Check looks at what there is, and again at the end of the test, when all is
// closed that was started after this call. It may be called more than once in a
// test. What tests that run side by side have left cannot be told apart: it is
// counted by [Suite.End].
func Check(t testing.TB) {
	t.Helper()
	name := t.Name()
	checked.Lock()
	defer checked.Unlock()
	if suite.root == "" || checked.names[name] != nil {
		return
	}
	disturbed := new(bool)
	for other, theirs := range checked.names {
		if !related(name, other) {
			*disturbed, *theirs = true, true
		}
	}
	checked.names[name] = disturbed
	var before count
	if !*disturbed { // else nothing will be compared with it, and counting takes long
		before = take(suite.root)
	}
	t.Cleanup(func() {
		t.Helper()
		var left []string
		if !isSet(disturbed) {
			left = before.grown(suite.root, patience)
		}
		checked.Lock()
		defer checked.Unlock()
		delete(checked.names, name)
		if len(left) > 0 && !*disturbed {
			t.Errorf("the test left behind:\n%s", strings.Join(left, "\n"))
		}
	})
}

func isSet(b *bool) bool {
	checked.Lock()
	defer checked.Unlock()
	return *b
}

// related tests are a test and one of its subtests.
func related(a, b string) bool {
	return strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}
