package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// largePage has 5000 elements: cards, a table, a form and plain boxes.
func largePage() string {
	var b strings.Builder
	b.WriteString(`<!doctype html><title>Large</title><style>.c{cursor:pointer}.n::after{content:" (new)"}td{padding:2px}</style><body><header><nav><ul>`)
	n := 8
	for i := range 20 {
		fmt.Fprintf(&b, `<li><a href="/s/%d">Section %d</a></li>`, i, i)
		n += 2
	}
	b.WriteString(`</ul></nav></header><main>`)
	for i := range 200 {
		fmt.Fprintf(&b, `<article class=card><h3>Product %d</h3><p class=price>%d € <b>now</b></p><div><span class=n>Rated</span> <span>%d</span></div><a href="/p/%d"><img alt="Picture %d" src=data:, width=9 height=9> More</a><button class=c>Add to basket</button></article>`, i, i, i%5, i, i)
		n += 10
	}
	b.WriteString(`<table><tbody>`)
	for i := range 300 {
		fmt.Fprintf(&b, `<tr><td>%d</td><td><a href="/o/%d">Order %d</a></td><td>Paid</td><td><input type=checkbox aria-label="Take %d"></td><td><button>Delete</button></td></tr>`, i, i, i, i)
		n += 9
	}
	b.WriteString(`</tbody></table><form aria-label=Filter>`)
	for n < 4990 {
		fmt.Fprintf(&b, `<label>Field %d <input value=%d></label><div><div><i></i></div></div>`, n, n)
		n += 5
	}
	b.WriteString(`</form></main>`)
	return b.String()
}

// BenchmarkSnapshot takes snapshots of a page of 5000 elements. median-ms is how long the
// action takes, page-ms how much of that is spent in the page, and first-ms is the first
// snapshot of the document, when nothing of the page script is compiled.
func BenchmarkSnapshot(b *testing.B) {
	page := largePage()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page)
	}))
	defer srv.Close()
	for _, kind := range []string{"{}", `{"interactive":true}`, `{"diff":true}`, `{"find":"delete order 17"}`} {
		b.Run(kind, func(b *testing.B) {
			in := newInstance(b)
			open, err := Parse([]byte(`{"actions":[{"open":"`+srv.URL+`"}]}`), nil)
			if err != nil {
				b.Fatal(err)
			}
			if o := in.Play(context.Background(), open, TaskEnv{}); len(o.Failures) > 0 {
				b.Fatal(o.Failures)
			}
			task, err := Parse([]byte(`{"actions":[{"snapshot":`+kind+`}]}`), nil)
			if err != nil {
				b.Fatal(err)
			}
			var inPage, whole []float64
			var first float64
			for b.Loop() {
				began := time.Now()
				if o := in.Play(context.Background(), task, TaskEnv{}); o.End != EndCompleted || len(o.Failures) > 0 {
					b.Fatal(o.Failures)
				}
				b.StopTimer()
				if whole = append(whole, time.Since(began).Seconds()*1000); first == 0 {
					first = whole[0]
				}
				inPage = append(inPage, timeInPage(b, in, kind))
				b.StartTimer()
			}
			slices.Sort(inPage)
			slices.Sort(whole)
			b.ReportMetric(first, "first-ms")
			b.ReportMetric(whole[len(whole)/2], "median-ms")
			b.ReportMetric(inPage[len(inPage)/2], "page-ms")
			b.ReportMetric(inPage[0], "least-page-ms")
		})
	}
}

// timeInPage is how long one snapshot takes in the page.
func timeInPage(b *testing.B, in *instance, kind string) float64 {
	b.Helper()
	arg := map[string]any{}
	if err := json.Unmarshal([]byte(kind), &arg); err != nil {
		b.Fatal(err)
	}
	delete(arg, "diff")
	arg["free"], arg["limit"], arg["ms"] = in.references().free(), 5, 1000
	tab := in.context().Current()
	r, err := tab.Script.Call(context.Background(), "snapshot", arg)
	if err != nil || r.Code != "" {
		b.Fatal(err, r)
	}
	var v struct {
		Free int
		Took float64
	}
	if err := json.Unmarshal(r.Value, &v); err != nil {
		b.Fatal(err)
	}
	in.references().gave(tab, nil, v.Free)
	return v.Took
}
