package outside_test

import (
	"cmp"
	"fmt"
	"maps"
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
// The service has the least memory for requests that it takes. make test tries every tenth
// row. Unless a pattern names the test, what is not read and what drips take turns from row
// to row.
//
// Promise: The largest requests and answers of each route and tool keep to its budget, also
// many at once that nobody reads (docs/security.md#memory-of-requests).
func TestRequestsKeepTheirBudgets(t *testing.T) {
	weighed(t)
	t.Parallel()
	k := besiege(t, leastMemory, 128)
	rows := k.rows()
	for _, fault := range faultsOfRows(rows, k.operations, k.tools) {
		t.Error(fault)
	}
	var tried []largest
	for i, r := range rows {
		if need.Nth(i, 10) && regexp.MustCompile(*onlyRow).MatchString(r.of) {
			tried = append(tried, r)
		}
	}
	k.hold(tried)
}

// weighed skips a test of what a program takes where the program looks for races.
func weighed(t *testing.T) {
	t.Helper()
	if need.Race {
		t.Skip("with the race detector a program takes several times as much memory")
	}
}

// leastMemory is the least that --request-memory takes, in MiB.
const leastMemory = 320

// TestRequestsKeepTheirBudgetsAtTheUsualLimit: the same of one row of each kind, with the
// memory that requests have by default and four times as many connections. make test-all has
// what is sent, read and kept; who names the test has all eight.
func TestRequestsKeepTheirBudgetsAtTheUsualLimit(t *testing.T) {
	need.All(t)
	weighed(t)
	rows := []string{"validate", "getResult", "putFlow"}
	if !need.AllAsked() {
		rows = append(rows, "docs", "getFile", "execute (large answers)", "mcp validate", "pauseSchedule")
	}
	k := besiege(t, 512, 512)
	k.hold(k.named(rows...))
}

// named are rows by their names.
func (k *besieged) named(names ...string) []largest {
	k.t.Helper()
	rows := slices.DeleteFunc(k.rows(), func(r largest) bool { return !slices.Contains(names, r.of) })
	if len(rows) != len(names) {
		k.t.Fatalf("of %v there are %d rows", names, len(rows))
	}
	return rows
}

// faultsOfRows compares the table with the routes and tools that the service has.
func faultsOfRows(rows []largest, operations map[string]string, tools []string) (faults []string) {
	names := map[string]bool{}
	for _, r := range rows {
		of, _, _ := strings.Cut(r.of, " (")
		names[of] = true
		if operations[of] == "" && !slices.Contains(tools, of) {
			faults = append(faults, fmt.Sprintf("the table has a row of %q, which the service does not have: remove it", of))
		}
	}
	const add = "add one to requests_rows_linux_test.go, with its largest request, what has its largest answer, and the budget of docs/security.md that bounds it"
	for id, path := range operations {
		if !names[id] {
			faults = append(faults, fmt.Sprintf("%s (%s) has no row in the table: %s", path, id, add))
		}
	}
	for _, tool := range tools {
		if !names[tool] {
			faults = append(faults, fmt.Sprintf("the tool %q has no row in the table: %s", tool, add))
		}
	}
	slices.Sort(faults)
	return faults
}

// TestEachRouteNeedsARow: a route or a tool without a row is found, and so is a row of what
// the service does not have.
func TestEachRouteNeedsARow(t *testing.T) {
	rows := (&besieged{}).rows()
	operations, tools := map[string]string{}, []string(nil)
	for _, r := range rows { // what the service would have
		if of, _, _ := strings.Cut(r.of, " ("); !strings.HasPrefix(of, "mcp ") {
			operations[of] = "GET /" + of
		} else if !slices.Contains(tools, of) {
			tools = append(tools, of)
		}
	}
	if faults := faultsOfRows(rows, operations, tools); len(faults) > 0 {
		t.Fatalf("rows of all that there is have the faults %q", faults)
	}
	without := func(of string) []largest {
		return slices.DeleteFunc(slices.Clone(rows), func(r largest) bool { return r.of == of || strings.HasPrefix(r.of, of+" (") })
	}
	more := maps.Clone(operations)
	more["newRoute"] = "POST /v1/new"
	for _, of := range slices.Sorted(maps.Keys(operations)) {
		want(t, of, faultsOfRows(without(of), operations, tools), of)
	}
	for _, of := range tools {
		want(t, of, faultsOfRows(without(of), operations, tools), fmt.Sprintf("%q", of))
	}
	want(t, "a new route", faultsOfRows(rows, more, tools), "POST /v1/new (newRoute) has no row")
	want(t, "a new tool", faultsOfRows(rows, operations, append(slices.Clone(tools), "mcp new")), `the tool "mcp new" has no row`)
	want(t, "a new thing that a tool does", faultsOfRows(rows, operations, append(slices.Clone(tools), "mcp flow drop")), `the tool "mcp flow drop" has no row`)
	want(t, "a row of nothing", faultsOfRows(append(slices.Clone(rows), largest{of: "gone (large)"}), operations, tools), `a row of "gone"`)
}

// want looks for one fault.
func want(t *testing.T, what string, faults []string, part string) {
	t.Helper()
	if len(faults) != 1 || !strings.Contains(faults[0], part) {
		t.Errorf("%s: the faults are %q, want one with %q", what, faults, part)
	}
}

// hold prepares what the rows need, and tries them: half of them each with a service of its
// own, for most of the time they wait.
func (k *besieged) hold(rows []largest) {
	all := rooms(k.t)
	k.prepare(rows)
	k.stop()
	if len(rows) < 20 {
		k.start() // so that nothing of the preparations is in its memory
		k.holdEach(rows, all)
		return
	}
	var halves [2][]largest
	for i, r := range rows {
		halves[i%2] = append(halves[i%2], r)
	}
	for i, half := range halves {
		k.t.Run(strconv.Itoa(i+1), func(t *testing.T) {
			t.Parallel()
			k.copied(t, k.memory).holdEach(half, all)
		})
	}
}

// prepare makes what rows need.
func (k *besieged) prepare(rows []largest) {
	for _, r := range rows {
		if r.prepare != nil {
			began := time.Now()
			if r.prepare(k); *showWeights {
				k.t.Logf("prepared for %s in %v", r.of, time.Since(began).Round(10*time.Millisecond))
			}
		}
	}
}

// holdEach tries rows one behind the other.
func (k *besieged) holdEach(rows []largest, all map[string]room) {
	for i, r := range rows {
		budget, ok := all[r.room]
		if !ok {
			k.t.Fatalf("%s is bounded by %q, which docs/security.md does not have", r.of, r.room)
		}
		if !need.Named() { // beside other tests, the same work takes processors longer
			budget.processor += budget.processor / 4
		}
		began := time.Now()
		ways := []way{taken, notRead, dripping}
		if !need.Named() && r.excess == "" { // rows beside each other are much alike
			ways = slices.Delete(ways, 1+i%2, 2+i%2)
		}
		faults, share := k.try(r, budget, ways)
		if r.excess == "" && len(faults) > 0 { // the store may just have tidied up what was prepared: what the requests take they take again
			k.t.Logf("%s is tried once more: %s", r.of, strings.Join(faults, "; "))
			k.start()
			faults, share = k.try(r, budget, ways)
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

// commandsAtOnce are the operator commands that change something and are done at once. More
// are refused, which is not what is to be weighed.
const commandsAtOnce = 600

// steps is by how much the files of the store grow at once.
const steps = 40 << 20

// try sends the requests of a row in some ways.
func (k *besieged) try(r largest, budget room, ways []way) (faults []string, share float64) {
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
	if r.command {
		most := 3 * (n + 1) // those whose bodies drip count, too, and so does what puts the service right again
		if k.commands+most > commandsAtOnce {
			k.start()
		}
		k.commands += most
	}
	written := raw(method, path, k.addr, append(headers, r.headers...), body)
	if r.end != nil {
		defer r.end(k)
	}
	k.rest.live, k.rest.peak = min(k.rest.live, k.live()), min(k.rest.peak, k.resident()) // the store gives back what its start took
	before := k.sockets()
	firstDisk, sent, want := k.disk(), 0, cmp.Or(r.want, 200)
	for _, how := range ways {
		x, said := k.send(n, how, r.endless, want, written)
		sent += n
		if *showWeights {
			k.t.Logf("\t%-9s live +%.1f MiB, highest +%.1f MiB, %v for a request, %d descriptors, %v", how, float64(x.live-k.rest.live)/(1<<20), float64(x.peak-k.rest.peak)/(1<<20), x.processor.Round(10*time.Microsecond), x.files-k.rest.files, said)
		}
		wrong, part := k.over(budget, n, x)
		for _, f := range wrong {
			faults = append(faults, string(how)+": "+f)
		}
		share = max(share, part)
		if how == taken && said[want] == 0 && r.excess == "" {
			k.t.Errorf("%s: none of %d requests was answered with %d: %v, %v", r.of, n, want, said, k.said)
		}
		for status, times := range said {
			if status >= 500 && status != want {
				k.t.Errorf("%s, %s: %d requests were answered with %d: %s", r.of, how, times, status, k.said[status])
			}
		}
		if len(wrong) > 0 && share > 4 { // the other ways would tell nothing new
			break
		}
		wait.Until(k.t, "the connections are gone", func() bool { return k.sockets() <= before+8 })
		if r.after != nil {
			r.after(k) // once nothing of the row is under way
		}
	}
	if grown, most := k.disk()-firstDisk, budget.disk*int64(sent)+steps; grown > most {
		faults = append(faults, fmt.Sprintf("disk: %d KiB more after %d requests, and the budget is %d KiB", grown>>10, sent, most>>10))
	}
	return faults, share
}
