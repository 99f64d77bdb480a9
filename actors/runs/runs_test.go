package runs_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/actors/runs"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// open makes a history in a store on the disk.
func open(t testing.TB, bounds runs.Bounds, secrets ...engine.Secret) (*runs.History, *persistence.Badger) {
	t.Helper()
	store, err := persistence.OpenBadger(t.TempDir(), persistence.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	seal, err := persistence.NewSeal(key)
	if err != nil {
		t.Fatal(err)
	}
	return runs.New(runs.Config{
		Store: store, Values: persistence.NewValueStore(store, persistence.NewMemoryFiles()).Sealed(seal), Bounds: bounds,
		Secrets: func(context.Context, string) ([]engine.Secret, error) { return secrets, nil },
	}), store
}

var began = time.Unix(1_795_000_000, 0)

// id is the identifier of the n-th task, one a second.
func id(n int) string { return fmt.Sprintf("task_%016x_%d", n, began.Unix()+int64(n)) }

// add adds the n-th run: every tenth fails, and every hundredth has a title of its own.
func add(h *runs.History, account string, n int) {
	r := &runs.Run{ID: id(n), Account: account, Origin: api.OriginRequest, Asked: began.Add(time.Duration(n) * time.Second), Token: "tok_0123456789abcdef", Label: fmt.Sprintf("nightly %d", n%7),
		Metadata: engine.Metadata(fmt.Sprintf(`{"customer":"c-%d","n":%d,"vip":%v}`, n%50, n, n%2 == 0)), Request: []byte(`{"actions":[{"open":"https://shop.example/"},{"getText":"h1"}]}`)}
	out := &engine.Outcome{End: engine.EndCompleted, Done: 2, First: fmt.Sprintf("https://shop%d.example/list", n%3), Page: &engine.Shown{URL: "https://shop.example/end", Title: "Lamps", Status: 200}}
	if n%10 == 0 {
		out.Failed, out.Failures = "element_not_found", []engine.Failure{{Code: "element_not_found", Text: "No element matches #buy", Path: "1"}}
	}
	if n%100 == 0 {
		out.Page.Title = "Größte <Lampe>"
	}
	r.Ends(out, time.Now())
	h.Add(r)
}

func flush(t testing.TB, h *runs.History) {
	t.Helper()
	if err := h.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// all reads all parts of a list.
func all(t testing.TB, h *runs.History, q runs.Query) (ids []string) {
	t.Helper()
	if q.Most == 0 {
		q.Most = 64
	}
	for {
		p, err := h.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Runs) > q.Most {
			t.Fatalf("a part has %d runs", len(p.Runs))
		}
		for _, r := range p.Runs {
			ids = append(ids, r.ID)
		}
		if q.After = p.Next; p.Next == "" {
			return ids
		}
	}
}

// counted adds up the counts of all parts, by code.
func counted(t testing.TB, h *runs.History, q runs.Query) map[engine.Code]int {
	t.Helper()
	by := map[engine.Code]int{}
	for {
		part, next, err := h.Counts(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range part {
			by[c.Code] += c.Runs
		}
		if q.After = next; next == "" {
			return by
		}
	}
}

// TestFindRuns: each filter selects what it says and nothing else, in both orders, in parts.
func TestFindRuns(t *testing.T) {
	h, _ := open(t, runs.Bounds{})
	const n = 300
	for i := range n {
		add(h, "ada~1", i)
		add(h, "ada~11", i)
	}
	flush(t, h)
	sec := func(i int) time.Time { return began.Add(time.Duration(i) * time.Second) }
	for name, c := range map[string]struct {
		q    runs.Query
		want func(i int) bool
	}{
		"all":                {runs.Query{}, func(int) bool { return true }},
		"failed":             {runs.Query{State: api.TaskFailed}, func(i int) bool { return i%10 == 0 }},
		"complete":           {runs.Query{State: api.TaskComplete}, func(i int) bool { return i%10 != 0 }},
		"a code":             {runs.Query{Codes: []engine.Code{"timeout", "element_not_found"}}, func(i int) bool { return i%10 == 0 }},
		"a label":            {runs.Query{Label: "nightly 3"}, func(i int) bool { return i%7 == 3 }},
		"part of a label":    {runs.Query{Label: "nightly"}, func(int) bool { return false }},
		"metadata":           {runs.Query{Metadata: map[string]string{"customer": "c-7", "vip": "false"}}, func(i int) bool { return i%50 == 7 && i%2 == 1 }},
		"a number":           {runs.Query{Metadata: map[string]string{"n": "123"}}, func(i int) bool { return i == 123 }},
		"no metadata":        {runs.Query{Metadata: map[string]string{"none": ""}}, func(int) bool { return false }},
		"a host":             {runs.Query{Address: "shop1.example"}, func(i int) bool { return i%3 == 1 }},
		"a domain":           {runs.Query{Address: "example"}, func(int) bool { return true }},
		"an address":         {runs.Query{Address: "https://shop2.example/li"}, func(i int) bool { return i%3 == 2 }},
		"from and to":        {runs.Query{From: sec(100), To: sec(200)}, func(i int) bool { return i >= 100 && i < 200 }},
		"words":              {runs.Query{Words: []string{"GRÖSSTE", "lampe"}}, func(int) bool { return false }},
		"words in any case":  {runs.Query{Words: []string{"größte", "<LAMPE>"}}, func(i int) bool { return i%100 == 0 }},
		"a word of an error": {runs.Query{Words: []string{"#buy"}, State: api.TaskFailed, To: sec(50)}, func(i int) bool { return i%10 == 0 && i < 50 }},
		"another origin":     {runs.Query{Origin: api.OriginBatch}, func(int) bool { return false }},
		"another token":      {runs.Query{Token: "tok_1"}, func(int) bool { return false }},
	} {
		var want []string
		for i := n - 1; i >= 0; i-- {
			if c.want(i) {
				want = append(want, id(i))
			}
		}
		c.q.Account = "ada~1"
		if got := all(t, h, c.q); !slices.Equal(got, want) {
			t.Errorf("%s: %d runs, want %d", name, len(got), len(want))
		}
		c.q.Oldest = true
		slices.Reverse(want)
		if got := all(t, h, c.q); !slices.Equal(got, want) {
			t.Errorf("%s, the oldest first: %d runs, want %d", name, len(got), len(want))
		}
	}
	if c := counted(t, h, runs.Query{Account: "ada~1"}); len(c) != 2 || c[""] != n-n/10 || c["element_not_found"] != n/10 {
		t.Errorf("counts: %v", c)
	}
	removed := 0
	for q := (runs.Query{Account: "ada~1", State: api.TaskFailed}); ; {
		some, next, err := h.DeleteAll(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		removed += some
		if q.After = next; next == "" {
			break
		}
	}
	if removed != n/10 {
		t.Errorf("%d runs were removed", removed)
	}
	if got := all(t, h, runs.Query{Account: "ada~1"}); len(got) != n-n/10 {
		t.Errorf("%d runs are left", len(got))
	}
	if got := all(t, h, runs.Query{Account: "ada~11"}); len(got) != n {
		t.Errorf("%d runs of the other account are left", len(got))
	}
}

// TestRunsWithinBounds: what is written twice is one record, the oldest go first, and none stays
// longer than it may.
func TestRunsWithinBounds(t *testing.T) {
	h, store := open(t, runs.Bounds{Keep: time.Hour, Count: 300, Bytes: 1 << 30})
	for round := range 2 {
		for i := range 600 {
			add(h, "ada~1", i)
		}
		flush(t, h)
		got := all(t, h, runs.Query{Account: "ada~1"})
		if len(got) != 300 || got[0] != id(599) || got[299] != id(300) {
			t.Fatalf("round %d: %d runs", round, len(got))
		}
	}
	records, err := store.List(t.Context(), runs.Prefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if left := time.Until(r.Expires); left > time.Hour || left < 50*time.Minute {
			t.Fatalf("%s expires in %v", r.Key, left)
		}
		if strings.Contains(string(r.Value), "nightly") {
			t.Fatalf("%s is not sealed", r.Key)
		}
	}
	small, _ := open(t, runs.Bounds{Keep: time.Hour, Count: 1000, Bytes: 100 << 10})
	for i := range 600 {
		add(small, "ada~1", i)
	}
	flush(t, small)
	if got := len(all(t, small, runs.Query{Account: "ada~1"})); got < 50 || got > 200 {
		t.Errorf("%d runs in 100 KiB", got)
	}
}

// TestRunsAreWrittenSoon: nobody has to ask for it.
func TestRunsAreWrittenSoon(t *testing.T) {
	h, _ := open(t, runs.Bounds{})
	add(h, "ada~1", 1)
	wait.Until(t, "the run is written", func() bool { return len(all(t, h, runs.Query{Account: "ada~1"})) == 1 })
	var none *runs.History
	none.Add(&runs.Run{})
	if none.Keeps() || none.Flush(t.Context()) != nil {
		t.Error("a history that is off keeps runs")
	}
}

// TestSecretsOfRuns: the request is kept without the secrets of the account.
func TestSecretsOfRuns(t *testing.T) {
	h, _ := open(t, runs.Bounds{}, engine.Secret{Name: "shop", Value: "hunter-two"})
	task, err := engine.Parse([]byte(`{"label":"x","actions":[{"open":"https://shop.example/?k=hunter-two"}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := runs.Of(&api.Execute{TaskID: id(1), Account: api.Account{ID: "ada~1"}, Task: task, Asked: began}, "")
	r.Ends(&engine.Outcome{End: engine.EndCompleted}, time.Now())
	h.Add(r)
	flush(t, h)
	got, err := h.Get(t.Context(), "ada~1", id(1))
	if err != nil || strings.Contains(string(got.Request), "hunter") || !slices.Equal(got.Masked, []string{"/actions/0/open"}) || got.Label != "x" {
		t.Errorf("%+v %v %s", got, err, got.Request)
	}
	if _, err := h.Get(t.Context(), "ada~2", id(1)); err == nil {
		t.Error("another account has the run")
	}
}

// TestManyRuns: with a hundred thousand runs of an account, each part of a list, of a search
// and of counts comes soon, and takes no memory that grows with them.
func TestManyRuns(t *testing.T) {
	n, parts := 1000, 10
	if need.AllAsked() {
		need.NoRace(t)
		n, parts = 100_000, 40
	}
	h, _ := open(t, runs.Bounds{Keep: time.Hour, Count: n, Bytes: 1 << 30})
	for i := range n {
		add(h, "ada~1", i)
		if i%1000 == 999 {
			flush(t, h)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for name, q := range map[string]runs.Query{
		"the newest": {}, "the oldest": {Oldest: true}, "failed": {State: api.TaskFailed}, "a label": {Label: "nightly 3"}, "rare metadata": {Metadata: map[string]string{"n": "17"}},
		"words": {Words: []string{"größte"}}, "words that nothing has": {Words: []string{"nowhere"}}, "an hour": {From: began.Add(time.Minute), To: began.Add(time.Hour)},
	} {
		q.Account, q.Most = "ada~1", 100
		var p95 time.Duration
		for range 3 { // a busy machine stops any of them now and then
			took := parted(t, h, q, parts)
			p95 = took[len(took)*95/100]
			t.Logf("%-24s %d parts, p50 %v, p95 %v", name, len(took), took[len(took)/2], p95)
			if p95 < 100*time.Millisecond {
				break
			}
		}
		if p95 > 100*time.Millisecond && need.AllAsked() {
			t.Errorf("%s: p95 is %v", name, p95)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	got := 0
	for _, some := range counted(t, h, runs.Query{Account: "ada~1"}) {
		got += some
	}
	if got != n {
		t.Errorf("%d runs were counted, want %d", got, n)
	}
}

// parted lists the runs of a query in parts, and says how long each took, the shortest first.
func parted(t *testing.T, h *runs.History, q runs.Query, most int) (took []time.Duration) {
	for len(took) < most {
		start := time.Now()
		p, err := h.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
		if q.After = p.Next; p.Next == "" && len(p.Runs) == 0 && len(took) > 2 {
			break
		}
	}
	slices.Sort(took)
	return took
}
