package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestInsert(t *testing.T) {
	begin, end := marks("cold")
	doc := "before\n" + begin + "\nold\n" + end + "\nafter\n"
	got, err := insert(doc, "cold", "\nnew\n\n")
	if want := "before\n" + begin + "\n\nnew\n\n" + end + "\nafter\n"; err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	if again, err := insert(got, "cold", "new"); err != nil || again != got {
		t.Errorf("the same text again changes the document: %v\n%s", err, again)
	}
	for _, broken := range []string{"no marks", begin, end + begin, begin + begin + end, begin + end + end, doc + doc} {
		if got, err := insert(broken, "cold", "new"); err == nil {
			t.Errorf("%q became %q", broken, got)
		}
	}
}

// TestDocument: each measurement has a place in its document.
func TestDocument(t *testing.T) {
	parts := []string{loadPart}
	for _, m := range measurements {
		parts = append(parts, m.name)
	}
	for _, name := range parts {
		b, err := os.ReadFile("../" + documentOf(name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := insert(string(b), name, ""); err != nil {
			t.Error(err)
		}
	}
}

// TestPartsFindTheirDocuments: a part without marks in the document that was
// asked for goes to its own.
func TestPartsFindTheirDocuments(t *testing.T) {
	t.Chdir(t.TempDir())
	begin, end := marks("cold")
	other, otherEnd := marks(loadPart)
	for path, text := range map[string]string{"asked.md": begin + end, documentOf(loadPart): other + otherEnd} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cold, load := &part{name: "cold", show: io.Discard}, &part{name: loadPart, show: io.Discard}
	cold.say("first")
	load.say("second")
	if err := writeParts("asked.md", []*part{cold, load}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"asked.md": "first", documentOf(loadPart): "second"} {
		if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), "\n\n"+want+"\n\n") {
			t.Errorf("%s: %v\n%s", path, err, b)
		}
	}
}

func TestTable(t *testing.T) {
	tab := table{head: []string{"ä", "b"}}
	tab.row("1")
	tab.row("long", "2 µs")
	want := "| ä    | b    |\n| ---- | ---- |\n| 1    |      |\n| long | 2 µs |\n"
	if got := tab.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestFigures(t *testing.T) {
	r := &result{cpu: 300, own: 40, lasts: 2 * time.Second}
	for i := range 10 {
		r.times = append(r.times, time.Duration(i+1)*time.Millisecond)
	}
	for _, c := range []struct{ got, want float64 }{{r.p(0), 1}, {r.p(50), 6}, {r.p(95), 10}, {r.p(100), 10}, {r.each(), 30}, {r.ownEach(), 4}, {r.rate(), 5}} {
		if c.got != c.want {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}

// TestProcessorTime: what this process uses is seen, in the right unit.
func TestProcessorTime(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system does not tell")
	}
	before, tree := cpuOf(os.Getpid()), cpu(os.Getpid())
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	spent := func(u syscall.Rusage) float64 {
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
	}
	start := spent(used)
	for spent(used)-start < 200 {
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			t.Fatal(err)
		}
	}
	for name, got := range map[string]float64{"process": cpuOf(os.Getpid()) - before, "tree": cpu(os.Getpid()) - tree} {
		if got < 150 || got > 300 {
			t.Errorf("%s: %v ms of 200 are seen", name, got)
		}
	}
}

// TestAims: an aim is judged by what was measured, and left out where nothing
// was.
func TestAims(t *testing.T) {
	r := &results{of: map[key]*result{}}
	took := func(k kind, took, cpu float64) {
		r.of[key{k.name, "W1", 1, false}] = &result{times: []time.Duration{time.Duration(took * float64(time.Millisecond))}, cpu: cpu}
	}
	took(troupe, 20, 30)
	took(rawClean, 10, 30)
	took(puppeteerWarm, 30, 0)
	took(playwrightWarm, 60, 0)
	verdicts := map[string]string{}
	for _, row := range aims(r).rows {
		verdicts[row[0]] = row[1] + ", " + row[2] + ": " + row[3]
	}
	want := map[string]string{
		"W1: p50 at most 1.15 × raw":           "2.00, 1.00: missed by 0.85",
		"W1: CPU at most 1.15 × raw":           "1.00, 1.00: met",
		"W1: p50 2.2 × faster than warm pages": "1.50 ×, 3.00 ×: missed by 32 %",
	}
	for aim, v := range want {
		if verdicts[aim] != v {
			t.Errorf("%s: got %q, want %q", aim, verdicts[aim], v)
		}
	}
	if len(verdicts) != len(want) {
		t.Errorf("there are more: %v", verdicts)
	}
}

// TestPlans: no cell names a side that is not started or a workload that there
// is not.
func TestPlans(t *testing.T) {
	for _, peers := range []bool{true, false} {
		for _, g := range append(plan(peers), quickPlan(peers)...) {
			for _, c := range g.cells {
				for _, s := range c.sides {
					if !slices.Contains(names(g.kinds), s) {
						t.Errorf("%d clients: %q is measured, but is not started", g.n, s)
					}
				}
				for _, w := range c.works {
					if !slices.Contains(append(simple, composite...), w) {
						t.Errorf("%d clients: there is no workload %q", g.n, w)
					}
				}
				if !c.load && c.tasks == 0 {
					t.Errorf("%d clients: %v are played no times", g.n, c.works)
				}
			}
		}
	}
}

// TestWrongAnswers: an answer that is not right is no measurement.
func TestWrongAnswers(t *testing.T) {
	var cards, titles, prices []string
	for i := range 100 {
		cards = append(cards, fmt.Sprintf(`{"title":"Product %d","price":"%d.99","link":"/p/%d"}`, i, i, i))
		titles, prices = append(titles, fmt.Sprintf(`"Product %d"`, i)), append(prices, fmt.Sprintf(`"%d.99"`, i))
	}
	list := func(of []string) string { return "[" + strings.Join(of, ",") + "]" }
	lists := func(titles, prices []string) string {
		return `{"titles":` + list(titles) + `,"prices":` + list(prices) + `}`
	}
	if err := errors.Join(hasCards(nil, json.RawMessage(list(cards))), hasLists(nil, json.RawMessage(lists(titles, prices)))); err != nil {
		t.Errorf("what is right does not pass: %v", err)
	}
	for _, bad := range []string{"null", "[]", list(cards[1:]), strings.Replace(list(cards), "Product 99", "Product 9", 1),
		strings.Replace(list(cards), `"50.99`, `"5.99`, 1), strings.Replace(list(cards), "/p/99", "/p/9", 1)} {
		if hasCards(nil, json.RawMessage(bad)) == nil {
			t.Errorf("these pass for cards: %.80s", bad)
		}
	}
	for _, bad := range []string{"null", lists(titles[:99], prices[:99]), lists(titles, prices[1:]), lists(titles[1:], prices),
		strings.Replace(lists(titles, prices), "Product 99", "Product 9", 1), strings.Replace(lists(titles, prices), `"50.99`, `"5.99`, 1)} {
		if hasLists(nil, json.RawMessage(bad)) == nil {
			t.Errorf("these pass for lists: %.80s", bad)
		}
	}
	picture := t.TempDir() + "/p.png"
	if err := os.WriteFile(picture, []byte("no picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	if isPicture(nil, json.RawMessage(`{"url":"file://`+picture+`"}`)) == nil {
		t.Error("something else passes for a picture")
	}
}

func TestDraw(t *testing.T) {
	c := chart{title: "a < b", series: []series{{name: "one"}, {name: "two"}}}
	c.add(10, 5, 2000)
	c.add(10000, 50, 20)
	svg := draw("workers", c, c)
	d := xml.NewDecoder(strings.NewReader(svg))
	circles := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
			circles++
		}
	}
	if circles != 8 {
		t.Errorf("%d points are drawn, want 8", circles)
	}
	// The first value of the first series: half a decade above the bottom of
	// four, at the left edge.
	if want := `cx="64.0" cy="234.6"`; !strings.Contains(svg, want) {
		t.Errorf("want a point at %s in\n%s", want, svg)
	}
}

// TestEachRoundIsComparedWithItself: a round that something else disturbed counts
// for both sides of it, and not for the ratio.
func TestEachRoundIsComparedWithItself(t *testing.T) {
	t.Parallel()
	apart := []effort{{cpu: 100}, {cpu: 900}, {cpu: 110}}
	joined := []effort{{cpu: 125}, {cpu: 1000}, {cpu: 110}}
	if got := overRounds(apart, joined); got != 0.9 {
		t.Errorf("the ratio is %v, want that of the round in the middle, 0.9", got)
	}
}

// TestBetween: who is second in turn is slower on both sides, which does not count;
// of an even number of differences neither the upper nor the lower one is the median.
func TestBetween(t *testing.T) {
	d := func(of ...float64) (all []time.Duration) {
		for _, v := range of {
			all = append(all, time.Duration(v*float64(time.Millisecond)))
		}
		return all
	}
	for _, c := range []struct {
		first, second []time.Duration
		want          float64
	}{
		{d(20, 25, 20, 25), d(25, 20, 25, 20), 0},
		{d(20, 25, 20, 25), d(26, 21, 26, 21), 1},
		{d(20, 20, 20, 20), d(20, 20, 26, 26), 3},
		{d(20, 20, 20, 20, 20, 20), d(18, 18, 20, 22, 90, 90), 1},
	} {
		if got := between(c.first, c.second); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v and %v: %v, want %v", c.first, c.second, got, c.want)
		}
	}
}

// TestMore: what a pair differs by is the mean over its starts, with its error.
func TestMore(t *testing.T) {
	for _, c := range []struct {
		starts    []float64
		mean, off float64
	}{
		{[]float64{1, 1, 1, 1}, 1, 0},
		{[]float64{-1, 3}, 1, 2},
		{[]float64{0.5, 1.5, 2.5}, 1.5, 1 / math.Sqrt(3)},
		{[]float64{0.7}, 0.7, math.NaN()},
	} {
		mean, off := (&pair{starts: c.starts}).more()
		if math.Abs(mean-c.mean) > 1e-9 || math.IsNaN(off) != math.IsNaN(c.off) || math.Abs(off-c.off) > 1e-9 {
			t.Errorf("%v: %v ± %v, want %v ± %v", c.starts, mean, off, c.mean, c.off)
		}
	}
}

// TestSelfTimes: a function has the time that those which it calls do not have, on each
// thread by itself.
func TestSelfTimes(t *testing.T) {
	at := func(tid int, name string, from, took float64) event {
		return event{Name: name, Phase: "X", PID: 1, TID: tid, At: from, Took: took}
	}
	got := selfTimes([]event{
		{Name: "thread_name", Phase: "M", PID: 1, TID: 1, Args: []byte(`{"name":"Pool12"}`)},
		{Name: "thread_name", Phase: "M", PID: 1, TID: 2, Args: []byte(`{"name":"Main"}`)},
		at(1, "inner", 1000, 2000), at(1, "outer", 0, 10000), at(1, "innermost", 1500, 500), at(1, "outer", 10000, 1000),
		at(2, "outer", 500, 4000),
	}, 2)
	want := map[string]float64{"Pool: outer": 4.5, "Pool: inner": 0.75, "Pool: innermost": 0.25, "Main: outer": 2}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
