package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
	"troupe/engine/egress"
	"troupe/testkit/leaks"
	"troupe/testkit/need"
)

// keepingInstance is a worker with a way out of its own, as the service's workers are.
func keepingInstance(t *testing.T, level Isolation, flags ...string) *instance {
	t.Helper()
	leaks.Check(t)
	names, _ := turncoat("127.0.0.1", "127.0.0.1")
	out, err := egress.Start(egress.Config{AllowPrivate: true, Resolver: names, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	dir, err := os.MkdirTemp("", "troupe-isolation-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	e := NewChromium(browser.Options{Dir: dir, Log: zerolog.Nop(), ExtraFlags: flags}, out)
	e.Isolation, e.Log = level, zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	in, err := e.Launch(ctx, "w1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	in.(*instance).patience = 3 * time.Second // of a machine with other work
	return in.(*instance)
}

// task leaves the mark, with more time than tasks have on a machine of its own.
func (m mark) task(base string) string {
	config := `"actionTimeout":60000`
	if m.config != "" {
		config += "," + m.config
	}
	return fmt.Sprintf(`{"timeout":120000,"config":{%s},"actions":[{"open":"%s/"},%s]}`, config, base, m.actions)
}

// marking is a worker, and what a task finds in it that is the first.
type marking struct {
	in       *instance
	srv      *markServer
	marks    []mark
	look     string
	expected map[string]any
}

func newMarking(t *testing.T, level Isolation) *marking {
	t.Helper()
	need.Browser(t)
	leaks.Check(t)
	srv := newMarkServer(t)
	m := &marking{srv: srv, marks: marksOf(srv), look: lookFor(srv)}
	m.in = keepingInstance(t, level, srv.trusted(), "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
	for range 2 { // the clipboard of a new browser was never overwritten
		m.expected = m.found(t, "nobody")
		if err := m.in.replace(t.Context(), m.in.context()); err != nil {
			t.Fatal(err)
		}
	}
	if text := fmt.Sprint(m.expected); strings.Contains(text, "MARK") {
		t.Fatalf("a new browser has %s", text)
	}
	return m
}

// found is what a task finds that looks, as one object.
func (m *marking) found(t *testing.T, account string) map[string]any {
	t.Helper()
	o := play(t, m.in, m.look, TaskEnv{Account: account})
	var data struct{ Seen []json.RawMessage }
	if err := json.Unmarshal(o.Data, &data); err != nil || len(data.Seen) != 4 {
		t.Fatalf("looking: %s %s", failuresOf(o), o.Data)
	}
	all := map[string]any{}
	for _, part := range data.Seen {
		if err := json.Unmarshal(part, &all); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// differences are the parts of what was found that are others than expected.
func (m *marking) differences(got map[string]any) string {
	var all []string
	for k, v := range got {
		if want := m.expected[k]; !reflect.DeepEqual(v, want) {
			all = append(all, fmt.Sprintf("finds %s %v, not %v", k, v, want))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

func (m *marking) plant(t *testing.T, what mark, account string) {
	t.Helper()
	m.srv.plants.Store(true)
	o := play(t, m.in, what.task(m.srv.base()), TaskEnv{Account: account, SaveFile: (&kept{}).save})
	m.srv.plants.Store(false)
	if fails := what.name == "a failure"; fails != (len(o.Failures) > 0 || o.End != EndCompleted) {
		t.Fatalf("%s: %v %s", what.name, o.End, failuresOf(o))
	}
}

func (m *marking) reset(t *testing.T) {
	t.Helper()
	ctx, cancel := contextFor(20 * time.Second)
	defer cancel()
	if err := m.in.Reset(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestMarksShow: a task that looks finds each mark that can be found, if nothing was
// cleaned. What it looks for is worth nothing otherwise. Marks that are found by different
// things are left together, unless a pattern names the test.
func TestMarksShow(t *testing.T) {
	t.Parallel()
	need.All(t)
	m := newMarking(t, IsolateAccount)
	together := 4
	if need.Named() {
		together = 1
	}
	var groups [][]mark
	for _, what := range m.marks {
		if what.finds == "" {
			continue
		}
		at := slices.IndexFunc(groups, func(group []mark) bool {
			return len(group) < together && !slices.ContainsFunc(group, func(other mark) bool {
				return other.finds == what.finds || other.replaces || what.replaces
			})
		})
		if at < 0 {
			groups, at = append(groups, nil), len(groups)
		}
		groups[at] = append(groups[at], what)
	}
	look := func(group []mark) (missed []mark, got map[string]any) {
		for _, what := range group {
			m.plant(t, what, "ada")
		}
		got = m.found(t, "ada")
		for _, what := range group {
			if reflect.DeepEqual(got[what.finds], m.expected[what.finds]) {
				missed = append(missed, what)
			}
		}
		m.srv.met.Clear()
		if err := m.in.replace(t.Context(), m.in.context()); err != nil {
			t.Fatal(err)
		}
		return missed, got
	}
	for _, group := range groups {
		missed, _ := look(group)
		for _, what := range missed { // beside others the browser may have used one of several connections
			if again, got := look([]mark{what}); len(again) > 0 {
				t.Errorf("%s: %q is %v, as without it; %s", what.name, what.finds, got[what.finds], m.differences(got))
			}
		}
	}
}

// TestMarksOfAnAccount leaves each mark that there is and looks for all of them, in the
// tasks of the same account and of another one: after each mark if a pattern names the test,
// else after some that each another task has left. It leaves every sixth mark unless all
// tests are asked for.
func TestMarksOfAnAccount(t *testing.T) {
	t.Parallel()
	m := newMarking(t, IsolateAccount)
	together := 8
	if need.Named() {
		together = 1
	}
	var tried []mark
	for i, what := range m.marks {
		if named, err := regexp.MatchString(*isolationMarks, what.name); err != nil {
			t.Fatal(err)
		} else if named && (need.Nth(i, 6) || *isolationMarks != "") {
			tried = append(tried, what)
		}
	}
	// A context that is replaced would hide what earlier marks have left in it.
	slices.SortStableFunc(tried, func(a, b mark) int {
		switch {
		case a.replaces == b.replaces:
			return 0
		case b.replaces:
			return -1
		}
		return 1
	})
	for marks := range slices.Chunk(tried, together) {
		var names []string
		for _, what := range marks {
			names = append(names, what.name)
			m.plant(t, what, "ada")
			before := m.in.context()
			m.reset(t)
			if replaced := m.in.context() != before; replaced != what.replaces && !what.resists {
				t.Errorf("%s: replaced %v, want %v", what.name, replaced, what.replaces)
			}
		}
		before := m.in.context()
		if more := m.differences(m.found(t, "ada")); more != "" {
			t.Errorf("%q: the next task of the account %s", names, more)
		}
		if m.in.context() != before {
			t.Errorf("%q: the next task of the account has another context", names)
		}
		m.reset(t)
		if !marks[0].replaces {
			m.ofAnother(t, marks[0])
		}
	}
	if n := m.srv.beacons.Load(); n > 0 {
		t.Errorf("%d requests of a page that was left have reached the server", n)
	}
}

// ofAnother leaves a mark that the context survives, and fails the test if a task of
// another account gets that context, or finds the mark.
func (m *marking) ofAnother(t *testing.T, what mark) {
	t.Helper()
	m.plant(t, what, "ada")
	m.reset(t)
	before := m.in.context()
	if !m.in.keeps.waits {
		t.Errorf("%s: it was not kept the second time", what.name)
	}
	if more := m.differences(m.found(t, "bob")); more != "" {
		t.Errorf("%s: another account %s", what.name, more)
	}
	if m.in.context() == before {
		t.Errorf("%s: another account has the same context", what.name)
	}
	m.reset(t)
}

// TestIsolationIsAChoice: without isolation a task finds what is there, but no setting of
// an earlier task; and a task that asks for more isolation gets it.
func TestIsolationIsAChoice(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	for _, c := range []struct {
		level      Isolation
		first      string // config of the task that leaves a cookie
		then       string // config of the task that looks
		who, found string
	}{
		{IsolateNone, ``, ``, "bob", `"m=MARK"`},
		{IsolateNone, `"timezone":"Asia/Tokyo"`, ``, "ada", `""`}, // replaced: no setting stays
		{IsolateNone, ``, `"isolation":"account"`, "ada", `""`},
		{IsolateNone, `"isolation":"task"`, ``, "ada", `""`},
		{IsolateNone, `"isolation":"none"`, `"isolation":"none"`, "bob", `"m=MARK"`},
		{IsolateAccount, ``, ``, "ada", `""`},
		{IsolateAccount, ``, `"isolation":"task"`, "ada", `""`},
		{IsolateTask, ``, ``, "ada", `""`},
	} {
		t.Run(fmt.Sprintf("%s %s %s %s", c.level, c.first, c.then, c.who), func(t *testing.T) {
			t.Parallel()
			srv := newMarkServer(t)
			in := keepingInstance(t, c.level)
			task := func(config, account, script string) string {
				t.Helper()
				o := play(t, in, fmt.Sprintf(`{"timeout":30000,"config":{%s},"actions":[{"open":"%s/"},%s]}`, config, srv.URL, running(script)), TaskEnv{Account: account})
				if len(o.Failures) > 0 {
					t.Fatal(failuresOf(o))
				}
				return string(o.Data)
			}
			fresh := in.context()
			task(c.first, "ada", `document.cookie='m=MARK';return 1`)
			ctx, cancel := contextFor(20 * time.Second)
			defer cancel()
			if err := in.Reset(ctx); err != nil {
				t.Fatal(err)
			}
			if c.level == IsolateTask && in.context() == fresh {
				t.Error("the context was kept")
			}
			waits, before := in.keeps.waits, in.context()
			if got := task(c.then, c.who, `return document.cookie`); got != c.found {
				t.Errorf("the next task finds %s, want %s", got, c.found)
			}
			if alone := strings.Contains(c.then, "isolation") && !strings.Contains(c.then, string(c.level)); alone && waits && in.context() == before {
				t.Error("a task that asks for more has a context that was kept")
			}
		})
	}
}

// TestSessionsOfTLSRemain: documents name them as what a server can recognise a browser by
// in the tasks of one account, and in no other's.
func TestSessionsOfTLSRemain(t *testing.T) {
	t.Parallel()
	m := newMarking(t, IsolateAccount)
	for _, c := range []struct{ account, said string }{{"ada", "HTTP/2.0 false"}, {"ada", "HTTP/2.0 true"}, {"bob", "HTTP/2.0 false"}, {"bob", "HTTP/2.0 true"}} {
		o := play(t, m.in, `{"timeout":30000,"actions":[{"open":"`+m.srv.secure()+`/tls"},{"getText":"body"}]}`, TaskEnv{Account: c.account})
		if got := string(o.Data); got != `"`+c.said+`"` {
			t.Errorf("a task of %s sees %s, want %q; %s", c.account, got, c.said, failuresOf(o))
		}
		m.reset(t)
	}
}

// TestAnotherAccountWaitsForItsContext: on a busy machine that takes longer than it may
// after a task, when nobody waits. The task begins late, and does not fail.
func TestAnotherAccountWaitsForItsContext(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	in := keepingInstance(t, IsolateAccount)
	run := func(account string) {
		t.Helper()
		o := play(t, in, `{"timeout":60000,"actions":[{"evaluate":"return 1"}]}`, TaskEnv{Account: account})
		if o.End != EndCompleted || len(o.Failures) > 0 {
			t.Fatalf("a task of %s: %s %s", account, o.End, failuresOf(o))
		}
	}
	run("ada")
	ctx, cancel := contextFor(20 * time.Second)
	defer cancel()
	if err := in.Reset(ctx); err != nil || !in.keeps.waits {
		t.Fatalf("the context was not kept: %v", err)
	}
	if err := in.browser.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	goesOn := time.AfterFunc(disposeTime+disposeTime/4, func() { _ = in.browser.Signal(syscall.SIGCONT) })
	defer goesOn.Stop()
	run("bob")
}

// TestAContextIsNotKeptForever: after maxTasks it is replaced.
func TestAContextIsNotKeptForever(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	in := keepingInstance(t, IsolateAccount)
	in.keeps.tasks = maxTasks - 2
	first := in.context()
	for i := range 2 {
		if o := play(t, in, `{"actions":[{"evaluate":"return 1"}]}`, TaskEnv{Account: "ada"}); len(o.Failures) > 0 {
			t.Fatal(failuresOf(o))
		}
		ctx, cancel := contextFor(20 * time.Second)
		defer cancel()
		if err := in.Reset(ctx); err != nil {
			t.Fatal(err)
		}
		if kept := in.context() == first; kept != (i == 0) {
			t.Errorf("after task %d of %d: kept %v", maxTasks-1+i, maxTasks, kept)
		}
	}
}
