package wait_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/testkit/wait"
)

// ended is how a test that never ends by itself was ended.
type ended struct{ said string }

type hopeless struct{ testing.TB }

func (hopeless) Helper() {}

func (hopeless) Fatalf(format string, args ...any) { panic(ended{fmt.Sprintf(format, args...)}) }

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		wait.Until(t, "it was looked at three times", func() bool { looks++; return looks == 3 })
		if looks != 3 {
			t.Errorf("it was looked at %d times", looks)
		}
		defer func() {
			e, ok := recover().(ended)
			if !ok || !strings.Contains(e.said, "the moon is green") {
				t.Errorf("what never holds ends the test with %q", e.said)
			}
		}()
		wait.Until(hopeless{t}, "the moon is green", func() bool { return false })
	})
}
