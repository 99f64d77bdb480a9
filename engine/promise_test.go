package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"troupe/engine"
	"troupe/testkit"
	"troupe/testkit/enginetest"
)

// leaveMark looks at what the page finds in its browser, and leaves something.
const leaveMark = `const found = document.cookie + (localStorage.mark ?? ''); document.cookie = localStorage.mark = 'here'; return found !== ''`

// TestPromises: Chromium promises what every engine does, whether workers have a
// browser each or share one.
func TestPromises(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<p>marks</p>")
	}))
	t.Cleanup(page.Close)
	options := enginetest.Options{
		Kill: func(t *testing.T, in engine.Instance) {
			if err := syscall.Kill(in.(interface{ PID() int }).PID(), syscall.SIGKILL); err != nil {
				t.Errorf("kill the browser: %v", err)
			}
		},
		Mark: func(t *testing.T) *engine.Task {
			return enginetest.Task(t, fmt.Sprintf(`{"actions":[{"open":%q},{"evaluate":%q}]}`, page.URL, leaveMark))
		},
		Marked: func(t *testing.T, out *engine.Outcome) bool {
			if len(out.Failures) > 0 {
				t.Errorf("the mark was not left: %v", out.Failures)
			}
			return string(out.Data) == "true"
		},
	}
	t.Run("a browser each", func(t *testing.T) {
		t.Parallel()
		options := options
		options.Start = func(t *testing.T) engine.Engine { return testkit.Chromium(t) }
		enginetest.Run(t, options)
	})
	t.Run("one that is shared", func(t *testing.T) {
		t.Parallel()
		options := options
		e := testkit.Chromium(t)
		e.Group = func(string) string { return "all" }
		var keeper engine.Instance // keeps the browser from ending with each test
		options.Start = func(*testing.T) engine.Engine {
			if keeper == nil || isGone(keeper) {
				keeper = start(t, e)
			}
			return e
		}
		enginetest.Run(t, options)
	})
}

func start(t *testing.T, e engine.Engine) engine.Instance {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	in, err := e.Launch(ctx, "keeper")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	return in
}

func isGone(in engine.Instance) bool {
	select {
	case <-in.Gone():
		return true
	default:
		return false
	}
}
