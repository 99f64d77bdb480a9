package outside_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// room is a budget of docs/security.md.
type room struct {
	part              float64 // of the memory for requests
	live, peak        float64 // times the part
	fixed, connection int64   // bytes of both beside it, and for each connection
	processor         time.Duration
	disk              int64 // bytes for each request
	files             int   // descriptors for each connection
}

// rooms reads the budgets out of the document.
func rooms(t *testing.T) map[string]room {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(module(t), "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), "## Memory of requests\n")
	if !ok {
		t.Fatal(`docs/security.md has no section "Memory of requests"`)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	all := map[string]room{}
	number := func(s string) float64 {
		n, per, _ := strings.Cut(strings.Fields(strings.TrimSpace(s) + " ")[0], "/")
		f, err := strconv.ParseFloat(n, 64)
		if err != nil {
			t.Fatalf("docs/security.md: %q is not a number: %v", s, err)
		}
		if per != "" {
			d, err := strconv.ParseFloat(per, 64)
			if err != nil {
				t.Fatal(err)
			}
			f /= d
		}
		return f
	}
	for line := range strings.Lines(text) {
		c := strings.Split(strings.TrimSpace(line), "|")
		if len(c) != 12 || !strings.HasPrefix(strings.TrimSpace(c[1]), "`") {
			continue
		}
		all[strings.Trim(c[1], " `")] = room{part: number(c[3]), live: number(c[4]), peak: number(c[5]), fixed: int64(number(c[6]) * (1 << 20)), connection: int64(number(c[7]) * (1 << 10)),
			processor: time.Duration(number(c[8]) * float64(time.Millisecond)), disk: int64(number(c[9]) * (1 << 10)), files: int(number(c[10]))}
	}
	if len(all) < 3 {
		t.Fatalf("docs/security.md has the budgets %v: want a table", all)
	}
	return all
}

// over says what is beyond a budget, and by how much at most: 1 is all of it.
func (k *besieged) over(r room, n int, x toll) (faults []string, share float64) {
	mib := func(b int64) string { return fmt.Sprintf("%.1f MiB", float64(b)/(1<<20)) }
	look := func(what string, is, most int64, show func(int64) string) {
		share = max(share, float64(is)/float64(max(1, most)))
		if is > most {
			faults = append(faults, fmt.Sprintf("%s: %s, and the budget is %s", what, show(is), show(most)))
		}
	}
	part := float64(int64(k.memory)<<20) * r.part
	beside := r.fixed + int64(n)*r.connection
	look("live memory", x.live-k.rest.live, int64(part*r.live)+beside, mib)
	look("highest memory", x.peak-k.rest.peak, int64(part*r.peak)+beside, mib)
	look("processor for a request", int64(x.processor), int64(r.processor), func(n int64) string { return time.Duration(n).String() })
	look("descriptors", int64(x.files-k.rest.files), int64(n*r.files+24), func(n int64) string { return strconv.FormatInt(n, 10) })
	return faults, share
}

// module is the folder of the module.
func module(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRequestsKeepTheirBudgets: the largest request and the largest answer of each route and
// of each tool of models, as many at once as there are connections, keep to the budgets of
// docs/security.md: answered, not read, and dripping. Somebody else notices nothing, and
// nothing of it stays.
//
// All of them take ten minutes: make test-all tries every tenth.
//
// Promise: The largest requests and answers of each route and tool keep to its budget, also
// many at once that nobody reads (docs/security.md#memory-of-requests).
func TestRequestsKeepTheirBudgets(t *testing.T) {
	need.All(t)
	k := besiege(t, 320, 128)
	rows := k.rows()
	k.everyRouteHasARow(rows)
	var tried []largest
	for i, r := range rows {
		if (i%10 == 0 || !need.AllAsked()) && regexp.MustCompile(*onlyRow).MatchString(r.of) {
			tried = append(tried, r)
		}
	}
	k.hold(tried)
}

// TestRequestsKeepTheirBudgetsAtTheUsualLimit: the same of one row of each kind, with the
// memory that requests have by default and four times as many connections.
func TestRequestsKeepTheirBudgetsAtTheUsualLimit(t *testing.T) {
	if !need.Named() || need.AllAsked() {
		t.Skip("it takes long: -run runs it")
	}
	k := besiege(t, 512, 512)
	usual := []string{"docs", "getFile", "validate", "execute (large answers)", "getResult", "mcp validate", "pauseSchedule", "putFlow"}
	rows := slices.DeleteFunc(k.rows(), func(r largest) bool { return !slices.Contains(usual, r.of) })
	if len(rows) != len(usual) {
		t.Fatalf("of %v there are %d rows", usual, len(rows))
	}
	k.hold(rows)
}

// everyRouteHasARow compares the table with what the service has.
func (k *besieged) everyRouteHasARow(rows []largest) {
	k.t.Helper()
	names := map[string]bool{}
	for _, r := range rows {
		of, _, _ := strings.Cut(r.of, " (")
		names[of] = true
		if k.operations[of] == "" && !slices.Contains(k.tools, of) {
			k.t.Errorf("the table has a row of %q, which the service does not have: remove it", of)
		}
	}
	for id, path := range k.operations {
		if !names[id] {
			k.t.Errorf("%s (%s) has no row in the table: add one to requests_rows_test.go, with its largest request, what has its largest answer, and the budget of docs/security.md that bounds it", path, id)
		}
	}
	for _, tool := range k.tools {
		if !names[tool] {
			k.t.Errorf("the tool %q has no row in the table: add one to requests_rows_test.go, as for a route", tool)
		}
	}
}

// hold prepares what the rows need, and tries them.
func (k *besieged) hold(rows []largest) {
	all := rooms(k.t)
	for _, r := range rows {
		if r.prepare != nil {
			began := time.Now()
			if r.prepare(k); *showWeights {
				k.t.Logf("prepared for %s in %v", r.of, time.Since(began).Round(10*time.Millisecond))
			}
		}
	}
	k.start() // so that nothing of the preparations is in its memory
	for _, r := range rows {
		budget, ok := all[r.room]
		if !ok {
			k.t.Errorf("%s is bounded by %q, which docs/security.md does not have", r.of, r.room)
			continue
		}
		began := time.Now()
		faults, share := k.try(r, budget)
		if r.excess == "" && len(faults) > 0 { // the store may just have tidied up what was prepared: what the requests take they take again
			k.t.Logf("%s is tried once more: %s", r.of, strings.Join(faults, "; "))
			k.start()
			faults, share = k.try(r, budget)
		}
		k.t.Logf("%-34s %-12s %4.0f %% of its budget, %.1f s", r.of, r.room, 100*share, time.Since(began).Seconds())
		switch {
		case r.excess == "" && len(faults) > 0:
			k.t.Errorf("%s is beyond its budget %q:\n\t%s", r.of, r.room, strings.Join(faults, "\n\t"))
		case r.excess != "" && share < 0.8: // between the two it may be either
			k.t.Errorf("%s keeps its budget now (%.0f %% of it): remove its mark (%s)", r.of, 100*share, r.excess)
		}
		if len(faults) > 0 {
			k.start()
		}
	}
}

// steps is by how much the files of the store grow at once.
const steps = 40 << 20

// try sends the requests of a row in each way.
func (k *besieged) try(r largest, budget room) (faults []string, share float64) {
	id, _, _ := strings.Cut(r.of, " (")
	method, path := "POST", "/mcp"
	if route := k.operations[id]; route != "" {
		method, path, _ = strings.Cut(route, " ")
	}
	if r.path != nil {
		path = r.path(k)
	}
	var body []byte
	if r.body != nil {
		body = []byte(r.body(k))
	}
	kind := "application/json"
	if r.kind != "" {
		kind = r.kind
	}
	headers := []string{"Accept: application/json, text/event-stream, */*", "Content-Type: " + kind}
	for token, who := range map[string]string{k.eve: "", k.op: "operator"} {
		if r.as == who {
			headers = append(headers, "Authorization: Bearer "+token)
		}
	}
	n := k.conns
	if r.most > 0 {
		n = min(n, r.most)
	}
	written := raw(method, path, k.addr, append(headers, r.headers...), body)
	if r.end != nil {
		defer r.end(k)
	}
	k.rest.live, k.rest.peak = min(k.rest.live, k.live()), min(k.rest.peak, k.resident()) // the store gives back what its start took
	firstDisk, sent := k.disk(), 0
	for _, how := range []way{taken, unread, dripping} {
		x, said := k.send(n, how, r.endless, written)
		sent += n
		if *showWeights {
			k.t.Logf("\t%-9s live +%.1f MiB, highest +%.1f MiB, %v for a request, %d descriptors, %v", how, float64(x.live-k.rest.live)/(1<<20), float64(x.peak-k.rest.peak)/(1<<20), x.processor.Round(10*time.Microsecond), x.files-k.rest.files, said)
		}
		wrong, part := k.over(budget, n, x)
		for _, f := range wrong {
			faults = append(faults, string(how)+": "+f)
		}
		share = max(share, part)
		want := r.want
		if want == 0 {
			want = 200
		}
		if how == taken && said[want] == 0 && r.excess == "" {
			k.t.Errorf("%s: none of %d requests was answered with %d: %v, %v", r.of, n, want, said, k.said)
		}
		for status, times := range said {
			if status >= 500 && status != want {
				k.t.Errorf("%s, %s: %d requests were answered with %d", r.of, how, times, status)
			}
		}
		if len(wrong) > 0 && share > 4 { // the other ways would tell nothing new
			break
		}
		if r.after != nil {
			r.after(k)
		}
		wait.Until(k.t, "the connections are gone", func() bool { return k.descriptors() <= k.rest.files+24 })
	}
	if grown, most := k.disk()-firstDisk, budget.disk*int64(sent)+steps; grown > most {
		faults = append(faults, fmt.Sprintf("disk: %d KiB more after %d requests, and the budget is %d KiB", grown>>10, sent, most>>10))
	}
	return faults, share
}
