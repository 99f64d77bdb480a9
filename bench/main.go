package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"troupe/engine/browser"
)

func main() {
	var (
		isRaw   = flag.Bool("raw", false, "be the raw client (used by this program itself)")
		clean   = flag.Bool("clean", false, "with -raw: replace the context after each task")
		path    = flag.String("browser", "", "the Chromium to measure with; default: the one found")
		quick   = flag.Bool("quick", os.Getenv("QUICK") != "", "three short rounds")
		idle    = flag.Duration("idle", 200*time.Millisecond, "time between two tasks, as real clients leave it")
		troupe  = flag.String("troupe", "", "the service's program; default: build it")
		workers = flag.Int("workers", 1, "workers of the service")
		only    = flag.String("only", "", "measure only this: http, what the service adds to HTTP")
		part    = flag.String("http-side", "", "be a side of -only http (used by this program itself)")
		partDir = flag.String("http-dir", "", "with -http-side: where it keeps what it keeps")
	)
	flag.Parse()
	var err error
	switch {
	case *part != "":
		err = serveHTTPSide(*part, *partDir)
	case *only == "http":
		err = runHTTP(*quick)
	case *only != "":
		err = fmt.Errorf("-only %q is unknown: want http", *only)
	}
	if err != nil {
		fail(err)
	}
	if *part != "" || *only != "" {
		return
	}
	if *path == "" {
		if *path, err = browser.Find(); err != nil {
			fail(err)
		}
	}
	if *isRaw {
		if err := serveRaw(*path, *clean); err != nil {
			fail(err)
		}
		return
	}
	if err := run(*path, *troupe, *quick, *idle, *workers); err != nil {
		fail(err)
	}
	fmt.Println()
	if err := runHTTP(*quick); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

func run(path, bin string, quick bool, idle time.Duration, workers int) error {
	dir, err := os.MkdirTemp("", "troupe-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if bin == "" {
		bin = filepath.Join(dir, "troupe")
		if out, err := exec.Command("go", "build", "-o", bin, "./cmd/troupe").CombinedOutput(); err != nil {
			return fmt.Errorf("building the service: %w: %s", err, out)
		}
	}
	web := site()
	defer web.Close()
	var sides []*side
	defer func() {
		for _, s := range sides {
			s.stop()
		}
	}()
	service, err := startService(bin, filepath.Join(dir, "data"), workers)
	if err != nil {
		return err
	}
	sides = append(sides, service)
	for _, r := range []struct {
		name  string
		clean bool
	}{{"raw, cleaned", true}, {"raw, never cleaned", false}} {
		s, err := startRaw(r.name, path, r.clean)
		if err != nil {
			return err
		}
		sides = append(sides, s)
	}
	rounds, each := 10, 6
	if quick {
		rounds, each = 3, 4
	}
	fmt.Printf("%d rounds of %d tasks, one after the other with %s between them; p50 and p95 in ms, processor time in ms a task over the whole process tree\n\n", rounds, each, idle)
	tw := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\twhat\tside\tp50\tp95\tcpu\tp50 ratio\tcpu ratio")
	for _, w := range works {
		if err := measure(tw, w, web.URL, sides, rounds, each, idle); err != nil {
			return err
		}
	}
	tw.Flush()
	for _, s := range sides {
		fmt.Printf("memory (PSS) of %s with %d worker: %.0f MB\n", s.name, workers, memory(s.cmd.Process.Pid))
	}
	return nil
}

// measure runs one workload on all sides in turn and prints a line for each.
func measure(tw *tabwriter.Writer, w work, base string, sides []*side, rounds, each int, idle time.Duration) error {
	times := make([][]time.Duration, len(sides))
	used := make([]float64, len(sides))
	for i, s := range sides { // warm
		for range 3 {
			if _, err := s.do(w, base); err != nil {
				return err
			}
			time.Sleep(idle)
		}
		_ = i
	}
	for range rounds {
		for i, s := range sides {
			before := cpu(s.cmd.Process.Pid)
			for range each {
				took, err := s.do(w, base)
				if err != nil {
					return err
				}
				times[i] = append(times[i], took)
				time.Sleep(idle)
			}
			used[i] += cpu(s.cmd.Process.Pid) - before
		}
	}
	n := float64(rounds * each)
	for i, s := range sides {
		slices.Sort(times[i])
		label, what := "", ""
		if i == 0 {
			label, what = w.name, w.what
		}
		ratio := func(a, b float64) string {
			if i == 0 || b == 0 {
				return ""
			}
			return fmt.Sprintf("%.2f", a/b)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%.1f\t%.1f\t%.0f\t%s\t%s\n", label, what, s.name, ms(at(times[i], 50)), ms(at(times[i], 95)), used[i]/n,
			ratio(ms(at(times[0], 50)), ms(at(times[i], 50))), ratio(used[0], used[i]))
	}
	if n == 0 {
		return errors.New("nothing was measured")
	}
	return nil
}

// at is a percentile of sorted times.
func at(t []time.Duration, p int) time.Duration { return t[min(len(t)-1, len(t)*p/100)] }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
