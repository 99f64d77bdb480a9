package engine

import (
	"context"
	"testing"
	"time"

	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// TestDeadBlankPage: a new context whose page has died before its task, whether something
// was made ready in it or not, is replaced before the task begins.
func TestDeadBlankPage(t *testing.T) {
	t.Parallel()
	need.Browser(t)
	in := keepingInstance(t, IsolateTask)
	plays := func() {
		t.Helper()
		if o := play(t, in, `{"actions":[{"evaluate":"return document.title = 'here'"}]}`, TaskEnv{}); o.End != EndCompleted || string(o.Data) != `"here"` {
			t.Fatalf("%v %s %s", o.End, o.Data, failuresOf(o))
		}
	}
	for _, ready := range []string{"before", "after", "never"} {
		plays()
		ctx, cancel := contextFor(20 * time.Second)
		if err := in.Reset(ctx); err != nil {
			t.Fatal(err)
		}
		c := in.context()
		if ready == "before" {
			in.Warm()
		}
		dying, end := context.WithTimeout(ctx, 10*time.Second)
		_ = c.Current().Navigation.Open(dying, "chrome://crash")
		end()
		cancel()
		wait.Until(t, "the page has died", c.Crashed)
		if ready == "after" {
			in.Warm()
		}
		plays()
		if in.context() == c {
			t.Error("the task got the context of the dead page")
		}
	}
}
