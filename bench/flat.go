package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// holding is what a running service holds.
type holding struct {
	heap, goroutines       int     // bytes; of the service
	process, tree          float64 // PSS in MB, without and with the browsers
	descriptors, processes int
	folders                int // of browsers
}

// runFlat plays very many tasks and looks at what the service holds before,
// meanwhile and afterwards.
func runFlat(b *bench, p *part) error {
	tasks := b.tasks
	if b.quick {
		tasks = min(tasks, 200)
	}
	each := max(1, tasks/5)
	n := runtime.NumCPU()
	dir, tokens, err := serviceData(b)
	if err != nil {
		return err
	}
	s, err := launchService(b, dir, n, tokens)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := ready(s); err != nil {
		return err
	}
	p.say("%s", origin(b))
	p.say("%d tasks from %d clients on %d workers, back to back: of ten, eight W1, a W2 and a W3. The service is measured after two idle seconds, and its heap after a garbage collection.", tasks, n, n)
	t := table{head: []string{"tasks", "heap MB", "goroutines", "service PSS MB", "with browsers PSS MB", "descriptors", "processes", "browsers' folders"}}
	var first, last holding
	for done := 0; ; done += each {
		time.Sleep(2 * time.Second) // what a service does after its answers has ended by then
		if last, err = holdings(s, dir); err != nil {
			return err
		}
		if done == 0 {
			first = last
		}
		t.row(fmt.Sprint(done), f1(float64(last.heap)/(1<<20)), fmt.Sprint(last.goroutines), f1(last.process), fmt.Sprintf("%.0f", last.tree),
			fmt.Sprint(last.descriptors), fmt.Sprint(last.processes), fmt.Sprint(last.folders))
		fmt.Fprintf(os.Stderr, "%d tasks: %+v\n", done, last)
		if done >= tasks {
			break
		}
		if err := playMany(b, s, n, each); err != nil {
			return err
		}
	}
	p.add(t)
	a := aimTable{table: table{head: []string{"aim", "measured", "verdict"}}}
	a.most("service process under 60 MB idle", first.process, 60, func(v float64) string { return f1(v) + " MB" })
	count := func(v float64) string { return fmt.Sprintf("%+.0f", v) }
	a.most("no more goroutines at the end than at the start, give or take 5", float64(last.goroutines-first.goroutines), 5, count)
	a.most("no more descriptors, give or take 5", float64(last.descriptors-first.descriptors), 5, count)
	a.most("no more processes", float64(last.processes-first.processes), 0, count)
	a.most("no more folders", float64(last.folders-first.folders), 0, count)
	p.add(a.table)
	return nil
}

// playMany shares so many tasks among n clients.
func playMany(b *bench, s *side, n, tasks int) error {
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() {
			c := s.client(i)
			for k := next.Add(1); k <= int64(tasks); k = next.Add(1) {
				w := works[max(0, k%10-7)] // W1 for most, then W2 and W3
				if _, errs[i] = c.do(w, b.site); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func holdings(s *side, dir string) (h holding, err error) {
	if h.heap, err = profiled(dir, "heap?gc=1&debug=1", `(?m)^# HeapAlloc = (\d+)`); err != nil {
		return h, err
	}
	if h.goroutines, err = profiled(dir, "goroutine?debug=1", `goroutine profile: total (\d+)`); err != nil {
		return h, err
	}
	h.process, h.tree = memoryOf(s.pid), memory(s.pid)
	h.processes = len(tree(s.pid))
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.pid))
	if err != nil {
		return h, err
	}
	h.descriptors = len(open)
	h.folders, err = browserFolders(s.pid)
	return h, err
}

// profiled reads a number from a profile of the service, which it gives on its
// private socket only.
func profiled(dir, profile, pattern string) (int, error) {
	c := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", filepath.Join(dir, "admin.sock"))
		}}}
	res, err := c.Get("http://troupe/debug/pprof/" + profile)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(pattern).FindSubmatch(text)
	if res.StatusCode != http.StatusOK || m == nil {
		return 0, fmt.Errorf("reading the profile %s: answered with %d: %.100s", profile, res.StatusCode, text)
	}
	return strconv.Atoi(string(m[1]))
}

// browserFolders counts what is in the folder where the service's browsers have
// theirs, which their command lines tell.
func browserFolders(service int) (int, error) {
	for _, pid := range tree(service) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		for arg := range strings.SplitSeq(string(b), "\x00") {
			if profile, ok := strings.CutPrefix(arg, "--user-data-dir="); ok {
				all, err := os.ReadDir(filepath.Dir(filepath.Dir(profile)))
				return len(all), err
			}
		}
	}
	return 0, errors.New("counting the browsers' folders: no browser says where its folder is")
}
