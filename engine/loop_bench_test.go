package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkLoopAgainstExtract plays a loop over 100 elements with three getText
// and push each, and extractAll of the same data, in turn, and reports how many
// times as long the loop takes: the middle of all rounds.
func BenchmarkLoopAgainstExtract(b *testing.B) {
	var rows strings.Builder
	for i := range 100 {
		fmt.Fprintf(&rows, "<li class=row><b>Title %d</b><i>%d.99</i><u>Sold by shop %d</u></li>", i, i, i)
	}
	in := ownBrowser(b)
	url := serve(b, "<!doctype html><title>T</title><ul>"+rows.String()+"</ul>")
	if o := play(b, in, fmt.Sprintf(`{"actions":[{"open":%q}]}`, url), TaskEnv{}); len(o.Failures) > 0 {
		b.Fatal(o.Failures)
	}
	const loop = `{"actions":[{"loop":{"each":".row","do":[{"getText":"$this b","options":{"push":"b"}},{"getText":"$this i","options":{"push":"i"}},{"getText":"$this u","options":{"push":"u"}}]}}]}`
	const extract = `{"actions":[{"extractAll":[".row",{"b":"b","i":"i","u":"u"}]}]}`
	var looped, extracted []time.Duration
	for b.Loop() {
		l, e := play(b, in, loop, TaskEnv{}), play(b, in, extract, TaskEnv{})
		if len(l.Failures)+len(e.Failures) > 0 || !strings.Contains(string(l.Data), "Title 99") || !strings.Contains(string(e.Data), "Title 99") {
			b.Fatalf("%s\n%s", l.Data, e.Data)
		}
		looped, extracted = append(looped, l.Duration), append(extracted, e.Duration)
	}
	slices.Sort(looped)
	slices.Sort(extracted)
	l, e := looped[len(looped)/2], extracted[len(extracted)/2]
	b.ReportMetric(float64(l.Microseconds())/1000, "loop-ms")
	b.ReportMetric(float64(e.Microseconds())/1000, "extract-ms")
	b.ReportMetric(float64(l)/float64(e), "loop/extract")
}
