package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// toll is what an attack took from a service.
type toll struct {
	answer          int64        // bytes
	memory, disk    float64      // MB at the worst, above what there was before
	live            float64      // MB at the worst that a collection has left
	left            float64      // MB on the disk afterwards
	memories, disks [][2]float64 // MB over seconds
	said            string
	err             error
}

// runAttacks measures what attacks take from the service in memory and on the
// disk, beside an target build where one is named.
func runAttacks(b *bench, p *part) error { return sufferAll(b, p, attacks) }

// runReads does the same with those that have it read, keep or parse much for little.
func runReads(b *bench, p *part) error { return sufferAll(b, p, readAttacks) }

func sufferAll(b *bench, p *part, attacks []attack) error {
	hostile := hostileSite()
	defer hostile.Close()
	programs := []string{b.service}
	head := []string{"attack", "answer MB", "memory MB", "live memory MB", "disk MB", "left on the disk MB"}
	if b.before != "" {
		programs = []string{b.before, b.service}
		for i, h := range head[1:] {
			head[i+1] = h + ", before → now"
		}
	}
	p.say("%s", origin(b))
	p.say("Two workers, default settings, an account with the plan Free (Pro for batches, schedules and asynchronous tasks), and a new service for each attack. Memory is the highest PSS of the service's own process. Live memory is the most that a collection left of its heap during the attack. Disk is the most that its data folder and temporary files held during the attack. Left is what they held five seconds after it.")
	t := table{head: head}
	var charts []chart
	for _, one := range attacks {
		if !strings.Contains(one.name, b.attack) {
			continue
		}
		var tolls []toll
		for _, program := range programs {
			got, err := suffer(b, program, hostile.URL, one)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			fmt.Fprintf(os.Stderr, "%s: answer %.1f MB, memory %.0f MB, live %.0f MB, disk %.0f MB, left %.0f MB (%v)\n%s\n", one.name, float64(got.answer)/1e6, got.memory, got.live, got.disk, got.left, got.err, got.said)
			tolls = append(tolls, got)
		}
		row := []string{one.name}
		for _, of := range []func(toll) float64{
			func(x toll) float64 { return float64(x.answer) / 1e6 }, func(x toll) float64 { return x.memory },
			func(x toll) float64 { return x.live }, func(x toll) float64 { return x.disk }, func(x toll) float64 { return x.left },
		} {
			var cells []string
			for _, x := range tolls {
				cells = append(cells, fmt.Sprintf("%.1f", of(x)))
			}
			row = append(row, strings.Join(cells, " → "))
		}
		t.row(row...)
		memory, disk := chart{title: one.name + ": memory, MB", linear: true}, chart{title: "disk, MB", linear: true}
		for i, x := range tolls {
			name := []string{"before", "now"}[i+2-len(tolls)]
			memory.series = append(memory.series, series{name, x.memories})
			disk.series = append(disk.series, series{name, x.disks})
		}
		charts = append(charts, memory, disk)
	}
	p.add(t)
	if b.plot == "" {
		return nil
	}
	if err := os.WriteFile(b.plot, []byte(drawGrid("seconds", 2, charts...)), 0o644); err != nil {
		return err
	}
	p.say("![Memory and disk of the service during each attack](%s)", filepath.Base(b.plot))
	return nil
}

// suffer plays an attack on a new service of a program.
func suffer(b *bench, program, hostile string, one attack) (x toll, err error) {
	target := *b
	target.service, target.plan = program, cmp.Or(one.plan, "free")
	dir, tokens, err := serviceData(&target)
	if err != nil {
		return x, err
	}
	temp, err := target.folder() // not in the data folder, which browsers do not enter
	if err != nil {
		return x, err
	}
	b.folders = target.folders
	if err := os.Chmod(temp, 0o777|os.ModeSticky); err != nil {
		return x, err
	}
	target.env = []string{"TMPDIR=" + temp}
	if one.before != nil {
		if err := one.before(program, dir); err != nil {
			return x, err
		}
	}
	a, metrics := &attacker{site: hostile}, ""
	start := func(lasts time.Duration) (s *side, cancel func(), err error) {
		port, err := freePort()
		if err != nil {
			return nil, nil, err
		}
		metrics = fmt.Sprintf("127.0.0.1:%d", port)
		if s, err = launchService(&target, dir, 2, tokens, "--metrics-listen", metrics); err != nil {
			return nil, nil, err
		}
		if err := ready(s); err != nil {
			s.stop()
			return nil, nil, err
		}
		a.ctx, cancel = context.WithTimeout(b.ctx, lasts)
		a.client = s.client(0)
		a.addr = strings.TrimSuffix(strings.TrimPrefix(a.client.url, "http://"), "/v1")
		return s, cancel, nil
	}
	if one.prepare != nil {
		s, cancel, err := start(3 * attackLasts)
		if err != nil {
			return x, err
		}
		err = one.prepare(a)
		cancel()
		s.stop()
		if err != nil {
			return x, fmt.Errorf("preparing it: %w", err)
		}
		a.answer, a.said = 0, ""
	}
	s, cancel, err := start(attackLasts)
	if err != nil {
		return x, err
	}
	defer s.stop()
	defer cancel()
	disk := func() float64 { return onDisk(dir) + onDisk(temp) }
	firstDisk := disk()
	began, over := time.Now(), make(chan struct{})
	go func() {
		defer close(over)
		x.err = one.play(a)
	}()
	look := func() {
		at := time.Since(began).Seconds()
		m, d := memoryOf(s.pid), max(0, disk()-firstDisk)
		x.memories, x.disks = append(x.memories, [2]float64{at, m}), append(x.disks, [2]float64{at, d})
		x.memory, x.disk = max(x.memory, m), max(x.disk, d)
	}
	weighed := make(chan float64, 1)
	go func() { weighed <- mostLive(metrics, over) }()
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	for going := true; going; {
		select {
		case <-over:
			going = false
		case <-every.C:
		}
		look()
	}
	x.live = <-weighed
	for range 50 {
		<-every.C
		look()
	}
	x.answer, x.said, x.left = a.answer, a.said, x.disks[len(x.disks)-1][1]
	return x, nil
}

// mostLive is the most that collections leave until it is over, in MB, by the service's metrics.
func mostLive(metrics string, over <-chan struct{}) (most float64) {
	c := http.Client{Timeout: 5 * time.Second}
	for every := time.NewTicker(200 * time.Millisecond); ; {
		if res, err := c.Get("http://" + metrics + "/metrics"); err == nil {
			b, _ := io.ReadAll(res.Body)
			res.Body.Close()
			most = max(most, liveIn(string(b))/1e6)
		}
		select {
		case <-every.C:
		case <-over:
			every.Stop()
			return most
		}
	}
}

// liveIn is what the last collection has left by a page of metrics. Older builds do not say it,
// but when the next one begins: at twice as much.
func liveIn(page string) float64 {
	for line := range strings.Lines(page) {
		var n float64
		if k, _ := fmt.Sscanf(line, "go_gc_heap_live_bytes %g", &n); k == 1 {
			return n
		}
	}
	for line := range strings.Lines(page) {
		var n float64
		if k, _ := fmt.Sscanf(line, "go_memstats_next_gc_bytes %g", &n); k == 1 {
			return n / 2
		}
	}
	return 0
}

// onDisk is how much of the disk what is in a folder takes, in MB. A file with
// several names counts once.
func onDisk(dir string) float64 {
	seen := map[uint64]bool{}
	blocks := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has just been removed
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && !seen[st.Ino] {
			seen[st.Ino] = true
			blocks += int64(st.Blocks)
		}
		return nil
	})
	return float64(blocks) * 512 / 1e6
}
