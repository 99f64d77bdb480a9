package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// runContext says where the processor time of a new context goes: by how it is made, by
// the threads of the browser, and by what the browser's own tracing names. It is the raw
// client's, with nothing of the service.
func runContext(b *bench, p *part) error {
	rounds, tasks := max(1, b.rounds), 30
	if b.quick {
		tasks = 5
	}
	p.say("%s", origin(b))
	p.say("The raw client runs W1 on one tab, back to back. The medians of %d rounds of %d tasks on each row, in turn. Processor time in ms a task, over all processes of the browser.", rounds, tasks)
	made, err := b.cycles(rounds, tasks)
	if err != nil {
		return err
	}
	p.say("### How it is made")
	p.add(made)
	threads, err := b.threads(rounds * tasks)
	if err != nil {
		return err
	}
	p.say("### By threads")
	p.add(threads)
	traced, err := b.traced(tasks)
	if err != nil {
		return err
	}
	p.say("### By functions, as far as the browser names them")
	p.say("Time on the clock of the threads with the most work, without what each has called that has a name of its own. Tracing adds to it: compare the rows.")
	p.add(traced)
	return nil
}

// cycle is a task and what follows it.
type cycle struct {
	name string
	play func(*raw, string)
}

func (r *raw) w1(site string) {
	r.call(r.tab, "Page.navigate", map[string]any{"url": site + "/text"}, nil)
	r.eval(loaded + `.then(()=>document.querySelector('#h').textContent)`)
}

func (r *raw) blank() {
	r.call(r.tab, "Page.navigate", map[string]any{"url": "about:blank"}, nil)
	r.eval("1")
}

// another replaces the context by one that is made as told.
func (r *raw) another(viewport, sized, ahead, patient bool) {
	old := r.context
	dispose := func() {
		done := r.send("", "Target.disposeBrowserContext", map[string]any{"browserContextId": old})
		if patient {
			<-done
		}
	}
	if !ahead {
		dispose()
	}
	var c, t, s struct {
		Context string `json:"browserContextId"`
		Target  string `json:"targetId"`
		Session string `json:"sessionId"`
	}
	r.call("", "Target.createBrowserContext", map[string]any{}, &c)
	wish := map[string]any{"url": "about:blank", "browserContextId": c.Context}
	if sized {
		wish["width"], wish["height"] = 1280, 720
	}
	r.call("", "Target.createTarget", wish, &t)
	r.call("", "Target.attachToTarget", map[string]any{"targetId": t.Target, "flatten": true}, &s)
	if viewport {
		r.call(s.Session, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": false}, nil)
	}
	r.context, r.target, r.tab = c.Context, t.Target, s.Session
	if ahead {
		dispose()
	}
}

var (
	stayed    = cycle{"the same tab, which stays where it is", (*raw).w1}
	leftBlank = cycle{"the same tab, left for a blank page", func(r *raw, site string) { r.w1(site); r.blank() }}
	replaced  = cycle{"a new context", func(r *raw, site string) { r.w1(site); r.another(true, false, false, true) }}
)

// cycles compares ways to make a context.
func (b *bench) cycles(rounds, tasks int) (table, error) {
	list := []cycle{stayed, leftBlank, replaced,
		{"a new context, without a viewport", func(r *raw, site string) { r.w1(site); r.another(false, false, false, true) }},
		{"a new context with a tab made in its size", func(r *raw, site string) { r.w1(site); r.another(false, true, false, true) }},
		{"a new context, made before the old one is closed", func(r *raw, site string) { r.w1(site); r.another(true, false, true, true) }},
		{"a new context, without waiting for the end of the old one", func(r *raw, site string) { r.w1(site); r.another(true, false, false, false) }},
		{"a new context, its blank page left once", func(r *raw, site string) { r.w1(site); r.another(true, false, false, true); r.blank() }},
	}
	t := table{head: []string{"after the task", "processor time"}}
	took := make([][]float64, len(list))
	for range rounds {
		for i, c := range list {
			err := b.withRaw(func(r *raw) {
				for range 5 {
					c.play(r, b.site)
				}
				before := b.browsers()
				for range tasks {
					c.play(r, b.site)
				}
				took[i] = append(took[i], (b.browsers()-before)/float64(tasks))
			})
			if err != nil {
				return t, err
			}
		}
	}
	for i, c := range list {
		slices.Sort(took[i])
		t.row(c.name, fmt.Sprintf("%.1f", took[i][len(took[i])/2]))
	}
	return t, nil
}

// withRaw gives a raw client of this process.
func (b *bench) withRaw(use func(*raw)) error {
	dir, err := os.MkdirTemp(b.dir, "raw")
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		return err
	}
	r, stop, err := openRaw(b.browser, dir, "", false)
	if err != nil {
		return err
	}
	defer stop()
	use(r)
	return nil
}

// browsers is the processor time of all browsers of this process.
func (b *bench) browsers() float64 { return cpu(os.Getpid()) - cpuOf(os.Getpid()) }

// usage is the processor time of threads in ms, each with what it is: its process's kind
// and its name. Threads that have ended keep what was seen last.
type usage map[string]struct {
	kind string
	ms   float64
}

// look takes in how far the threads of all browsers are.
func (u usage) look() {
	for _, pid := range tree(os.Getpid())[1:] {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		process := "browser"
		if _, rest, typed := strings.Cut(string(line), "--type="); typed {
			process = rest[:max(0, strings.IndexAny(rest+"\x00", " \x00"))]
		}
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		for _, task := range tasks {
			name, err := os.ReadFile(task + "/comm")
			stat, err2 := os.ReadFile(task + "/schedstat")
			if err != nil || err2 != nil {
				continue
			}
			e := u[task]
			var nanos float64
			fmt.Sscan(string(stat), &nanos)
			e.kind, e.ms = process+": "+threadName(strings.TrimSpace(string(name)), filepath.Base(task) == fmt.Sprint(pid)), nanos/1e6
			u[task] = e
		}
	}
}

// threadName is a thread's name without its number.
func threadName(name string, first bool) string {
	if first {
		return "main thread"
	}
	name, _, _ = strings.Cut(name, "/")
	return strings.TrimRight(name, "0123456789")
}

// by adds up what threads of a kind have used since.
func (u usage) by(before usage, tasks int) map[string]float64 {
	sum := map[string]float64{}
	for task, e := range u {
		sum[e.kind] += (e.ms - before[task].ms) / float64(tasks)
	}
	return sum
}

// threads compares the cycles by the threads of the browser.
func (b *bench) threads(tasks int) (table, error) {
	list := []cycle{stayed, leftBlank, replaced}
	t := table{head: []string{"thread", list[0].name, list[1].name, list[2].name}}
	var sums []map[string]float64
	for _, c := range list {
		now, before := usage{}, usage{}
		err := b.withRaw(func(r *raw) {
			for range 5 {
				c.play(r, b.site)
			}
			before.look()
			for range tasks {
				if c.name == replaced.name { // its process is gone afterwards
					r.w1(b.site)
					now.look()
					r.another(true, false, false, true)
				} else {
					c.play(r, b.site)
				}
			}
			now.look()
		})
		if err != nil {
			return t, err
		}
		sums = append(sums, now.by(before, tasks))
	}
	kinds := most(sums[len(sums)-1], 12)
	for _, kind := range kinds {
		row := []string{kind}
		for _, s := range sums {
			row = append(row, fmt.Sprintf("%.1f", s[kind]))
		}
		t.row(row...)
	}
	row := []string{"all threads"}
	for _, s := range sums {
		total := 0.0
		for _, ms := range s {
			total += ms
		}
		row = append(row, fmt.Sprintf("%.1f", total))
	}
	t.row(row...)
	return t, nil
}

// most are the keys with the largest values.
func most(of map[string]float64, n int) []string {
	var keys []string
	for k := range of {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b)) })
	return keys[:min(n, len(keys))]
}

// event is one of the browser's own tracing.
type event struct {
	Name  string          `json:"name"`
	Phase string          `json:"ph"`
	PID   int             `json:"pid"`
	TID   int             `json:"tid"`
	At    float64         `json:"ts"`  // µs
	Took  float64         `json:"dur"` // µs
	Args  json.RawMessage `json:"args"`
}

// traced compares the cycles by what the browser's tracing names.
func (b *bench) traced(tasks int) (table, error) {
	list := []cycle{stayed, leftBlank, replaced}
	t := table{head: []string{"thread and function", list[0].name, list[1].name, list[2].name}}
	var sums []map[string]float64
	for _, c := range list {
		var events []event
		err := b.withRaw(func(r *raw) {
			for range 5 {
				c.play(r, b.site)
			}
			events = r.trace(func() {
				for range tasks {
					c.play(r, b.site)
				}
			})
		})
		if err != nil {
			return t, err
		}
		sums = append(sums, selfTimes(events, tasks))
	}
	for _, name := range most(sums[len(sums)-1], 24) {
		row := []string{name}
		for _, s := range sums {
			row = append(row, fmt.Sprintf("%.2f", s[name]))
		}
		t.row(row...)
	}
	return t, nil
}

// trace lets the browser write down what it does.
func (r *raw) trace(do func()) (events []event) {
	ended := make(chan struct{})
	r.mu.Lock()
	r.events = func(method string, params json.RawMessage) {
		switch method {
		case "Tracing.dataCollected":
			var p struct{ Value []event }
			if json.Unmarshal(params, &p) == nil {
				events = append(events, p.Value...)
			}
		case "Tracing.tracingComplete":
			close(ended)
		}
	}
	r.mu.Unlock()
	r.call("", "Tracing.start", map[string]any{"transferMode": "ReportEvents", "traceConfig": map[string]any{
		"includedCategories": []string{"toplevel", "toplevel.flow", "navigation", "blink", "blink.user_timing", "content", "v8", "loading", "cc", "viz", "net", "startup", "renderer_host", "devtools.timeline", "ServiceWorker", "__metadata"},
	}}, nil)
	do()
	r.call("", "Tracing.end", map[string]any{}, nil)
	<-ended
	r.mu.Lock()
	r.events = nil
	r.mu.Unlock()
	return events
}

// selfTimes adds up the time of each function on its thread, in ms a task, without that
// of what it has called.
func selfTimes(events []event, tasks int) map[string]float64 {
	type thread struct{ pid, tid int }
	names, on := map[thread]string{}, map[thread][]event{}
	for _, e := range events {
		at := thread{e.PID, e.TID}
		switch {
		case e.Name == "thread_name":
			var a struct{ Name string }
			if json.Unmarshal(e.Args, &a) == nil {
				names[at] = threadName(a.Name, false)
			}
		case e.Phase == "X":
			on[at] = append(on[at], e)
		}
	}
	sum := map[string]float64{}
	for at, list := range on {
		slices.SortFunc(list, func(a, b event) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(b.Took, a.Took)) })
		var open []event
		for _, e := range list {
			for len(open) > 0 && open[len(open)-1].At+open[len(open)-1].Took <= e.At {
				open = open[:len(open)-1]
			}
			key := func(e event) string { return names[at] + ": " + e.Name }
			sum[key(e)] += e.Took / 1000 / float64(tasks)
			if len(open) > 0 {
				sum[key(open[len(open)-1])] -= e.Took / 1000 / float64(tasks)
			}
			open = append(open, e)
		}
	}
	return sum
}
