package engine

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ownTime is what this process has used, in seconds.
func ownTime() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// processorTime is what the processes of a group have used, in seconds.
func processorTime(pgid int) (sum float64) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, s := range stats {
		b, err := os.ReadFile(s)
		if err != nil {
			continue
		}
		f := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+2:])
		var group, user, system int
		fmt.Sscan(f[2], &group)
		fmt.Sscan(f[11], &user)
		fmt.Sscan(f[12], &system)
		if group == pgid {
			sum += float64(user+system) / 100
		}
	}
	return sum
}

// standardError is how far the mean of some numbers may be from the truth.
func standardError(of []float64) float64 {
	n, mean, sum := float64(len(of)), 0.0, 0.0
	for _, v := range of {
		mean += v / n
	}
	for _, v := range of {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / (n - 1) / n)
}

// BenchmarkWatch is what one watcher costs a task of some seconds, at the size
// and the rate that the service has (see actors.View): each round plays it once
// without and once with one.
func BenchmarkWatch(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/animation":
			fmt.Fprint(w, `<style>@keyframes t{to{transform:rotate(360deg)}} div{width:200px;height:200px;margin:100px;background:teal;animation:t 2s linear infinite}</style><div></div>`, strings.Repeat("<p>Some words to fill the page with.</p>", 40))
		case "/unseen": // paints all the time what looks the same
			fmt.Fprint(w, `<p id=p>Still.</p><script>let i=0;(function f(){document.getElementById('p').style.outline='1px solid rgba(255,255,255,0.0'+(++i%2+1)+')';requestAnimationFrame(f)})()</script>`)
		default:
			fmt.Fprint(w, `<h1 id=h>Hello</h1><input id=user><input id=pass><button id=go onclick="const p=document.createElement('p');p.className='in';p.textContent='in';document.body.append(p)">go</button>`, strings.Repeat("<p>Some words to fill the page with.</p>", 40))
		}
	}))
	defer srv.Close()
	u := srv.URL
	login := `{"open":"` + u + `/"},{"fill":["#user","alice"]},{"fill":["#pass","secret1234"]},{"click":"#go"},{"waitForElement":".in"},{"getText":".in"}`
	v := ScreencastOptions{Width: 640, Height: 480, Quality: 60, Every: 190 * time.Millisecond}
	for _, c := range []struct{ name, list string }{
		{"work", strings.TrimSuffix(strings.Repeat(login+",", 40), ",")},
		{"pauses", strings.TrimSuffix(strings.Repeat(login+`,{"wait":400},`, 8), ",")},
		{"animation", `{"open":"` + u + `/animation"},{"wait":4000}`},
		{"unseen", `{"open":"` + u + `/unseen"},{"wait":4000}`},
		{"still", login + `,{"wait":4000}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			in := newInstance(b)
			task, err := Parse([]byte(`{"actions":[`+c.list+`]}`), nil)
			if err != nil {
				b.Fatal(err)
			}
			used := func() float64 { return processorTime(in.browser.PID()) + ownTime() }
			round := func() (cpu, seconds float64) {
				cpu, began := used(), time.Now()
				if o := in.Play(context.Background(), task, TaskEnv{}); o.End != EndCompleted || len(o.Failures) > 0 {
					b.Fatal(o.Failures)
				}
				return used() - cpu, time.Since(began).Seconds()
			}
			round()
			var without, with, watched float64
			var more []float64 // of each round, as a share
			pictures := 0
			for b.Loop() {
				alone, _ := round()
				ctx, stop := context.WithCancel(context.Background())
				shown, done := in.Screencast(ctx, v), make(chan int)
				go func() {
					n := 0
					for range shown {
						n++
					}
					done <- n
				}()
				seen, took := round()
				stop()
				pictures += <-done
				without, with, watched = without+alone, with+seen, watched+took
				more = append(more, seen/alone-1)
			}
			b.ReportMetric(float64(pictures)/watched, "pictures/s")
			b.ReportMetric(without/float64(b.N)*1000, "cpu-ms/task")
			b.ReportMetric((with-without)/float64(b.N)*1000, "more-cpu-ms/task")
			b.ReportMetric((with/without-1)*100, "%-more-cpu")
			b.ReportMetric(standardError(more)*100, "±-%")
		})
	}
}
