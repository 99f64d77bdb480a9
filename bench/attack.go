package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// attack is something that an account or a page does to make the service large.
type attack struct {
	name    string
	plan    string                          // of its account; empty: free
	before  func(program, dir string) error // changes the data of the service before it starts; nil: nothing
	prepare func(*attacker) error           // makes what the attack uses; the service starts anew behind it. Nil: nothing
	play    func(*attacker) error
}

// attacker plays an attack on one service.
type attacker struct {
	ctx    context.Context // ends when the attack has had its time
	client *client
	addr   string // of the service
	site   string // with the hostile pages
	answer int64  // bytes of the largest answer so far
	said   string // how the last answer begins
	kept   string // the task or the batch that was prepared
	mu     sync.Mutex
}

// attackLasts is the time that an attack has.
const attackLasts = 40 * time.Second

var attacks = []attack{
	{name: "30 results of 15 MiB with a trace", play: func(a *attacker) error {
		return a.task(`{"config":{"trace":true},"timeout":35000,"actions":[` + list(30, func(int) string {
			return `{"evaluate":"return 'x'.repeat(15*1048576)"}`
		}) + `]}`)
	}},
	{name: "a failure of 50 KiB, 5,000 times", play: func(a *attacker) error {
		return a.task(fmt.Sprintf(`{"timeout":35000,"actions":[{"loop":{"repeat":5000,"maxIterations":10000,"do":[{"evaluate":"throw 1 // %s"}]}}]}`,
			strings.Repeat("x", 50<<10)))
	}},
	{name: "20 downloads of 29 MiB", play: func(a *attacker) error {
		return a.task(fmt.Sprintf(`{"timeout":35000,"config":{"trace":true},"actions":[{"open":"%s/downloads"},{"wait":25000}]}`, a.site))
	}},
	{name: "a file of 6 MiB, uploaded 150 times", play: func(a *attacker) error {
		return a.form(6<<20, fmt.Sprintf(`{"timeout":35000,"config":{"continueOnError":false},"actions":[{"open":"%s/upload"},%s,{"wait":500}]}`, a.site,
			list(150, func(i int) string { return fmt.Sprintf(`{"uploadFile":["#f%d","$file:0"]}`, i) })))
	}},
	{name: "8 forms of 92 MiB that do not end", play: (*attacker).unfinishedForms},
	{name: "900 responses of 1 MiB that are waited for", play: func(a *attacker) error {
		return a.task(fmt.Sprintf(`{"timeout":35000,"config":{"actionTimeout":10000},"actions":[%s,{"open":"%s/bodies"},{"wait":15000}]}`,
			list(900, func(i int) string { return fmt.Sprintf(`{"waitForResponse":"/body/%d."}`, i) }), a.site))
	}},
	{name: "an exception of 200 MB", play: func(a *attacker) error {
		return a.task(fmt.Sprintf(`{"timeout":35000,"actions":[{"open":"%s/text"},{"evaluate":"throw 'x'.repeat(2e8)"}]}`, a.site))
	}},
	{name: "console.log of 200 MB", play: func(a *attacker) error {
		return a.task(fmt.Sprintf(`{"timeout":35000,"config":{"trace":"full","onFailure":{"console":true,"html":true,"network":true}},"actions":[{"open":"%s/log"},{"wait":3000},{"find":"#never","options":{"timeout":500}}]}`, a.site))
	}},
	{name: "40 hostile pages at once", play: func(a *attacker) error {
		var all sync.WaitGroup
		errs := make([]error, 2)
		for i := range errs {
			all.Go(func() {
				errs[i] = a.task(fmt.Sprintf(`{"timeout":35000,"queueTimeout":30000,"config":{"trace":"full","actionTimeout":1000,"onFailure":{"console":true,"html":true,"network":true}},"actions":[%s,{"wait":2000},{"getText":"#never"}]}`,
					list(20, func(i int) string {
						page := []string{"log", "titles", "dialogs", "throws"}[i%4]
						return fmt.Sprintf(`{"openNewTab":"%s/%s","options":{"closeOthers":false}}`, a.site, page)
					})))
			})
		}
		all.Wait()
		return errors.Join(errs...)
	}},
}

func list(n int, action func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = action(i)
	}
	return strings.Join(all, ",")
}

// task sends a task and reads its answer without keeping it.
func (a *attacker) task(body string) error {
	return a.send("application/json", strings.NewReader(body))
}

func (a *attacker) send(kind string, body io.Reader) error {
	req, err := http.NewRequestWithContext(a.ctx, http.MethodPost, a.client.url+"/", body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Authorization", "Bearer "+a.client.token)
	res, err := a.client.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var begins strings.Builder
	n, err := io.CopyN(&begins, res.Body, 300)
	if err == nil {
		var more int64
		more, err = io.Copy(io.Discard, res.Body)
		n += more
	} else if errors.Is(err, io.EOF) {
		err = nil
	}
	a.mu.Lock()
	a.answer, a.said = max(a.answer, n), begins.String()
	a.mu.Unlock()
	return err
}

// form sends a task with a file of so many bytes.
func (a *attacker) form(size int, payload string) error {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.WriteField("payload", payload); err != nil {
		return err
	}
	part, err := w.CreateFormFile("files", "file.bin")
	if err != nil {
		return err
	}
	if _, err := part.Write(make([]byte, size)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return a.send(w.FormDataContentType(), &body)
}

// unfinishedForms sends forms whose last byte never comes.
func (a *attacker) unfinishedForms() error {
	const file = 23 << 20
	part := "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"f\"\r\n\r\n"
	size := 4*(len(part)+file+2) + 100
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			c, err := (&net.Dialer{}).DialContext(a.ctx, "tcp", a.addr)
			if err != nil {
				return
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(15 * time.Second))
			fmt.Fprintf(c, "POST /v1/ HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n",
				a.addr, a.client.token, size)
			for range 4 {
				fmt.Fprint(c, part)
				if _, err := io.CopyN(c, zeroes{}, file); err != nil {
					return // refused, which is what is wanted
				}
				fmt.Fprint(c, "\r\n")
			}
			_, _ = io.Copy(io.Discard, c) // until the service ends it, or the time is over
		})
	}
	all.Wait()
	return nil
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// hostileSite serves the pages that the attacks open.
func hostileSite() *httptest.Server {
	pages := map[string]string{
		"/text": "<h1>text</h1>",
		"/downloads": `<script>(async()=>{for(let i=0;i<20;i++){const b=new Blob([new Uint8Array(29*1048576)]);const a=document.createElement('a');
a.href=URL.createObjectURL(b);a.download='f'+i+'.bin';a.click();await new Promise(r=>setTimeout(r,700))}})()</script>`,
		"/upload":  list(150, func(i int) string { return fmt.Sprintf(`<input type=file id=f%d>`, i) }),
		"/bodies":  `<script>(async()=>{for(let i=0;i<900;i+=6)await Promise.all([0,1,2,3,4,5].map(k=>fetch('/body/'+(i+k)+'.').then(r=>r.blob())))})()</script>`,
		"/log":     `<script>console.log('x'.repeat(2e8))</script>`,
		"/titles":  `<script>for(let i=0;i<20;i++){document.title='t'.repeat(2e7)+i;history.replaceState(null,'','?'+'q'.repeat(1e6)+i)}</script>`,
		"/dialogs": `<script>for(let i=0;i<10;i++)alert('d'.repeat(2e7))</script>`,
		"/throws":  `<script>setInterval(()=>{throw 'e'.repeat(5e7)},50)</script>`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/body/") {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.CopyN(w, zeroes{}, 1<<20)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><body>"+pages[r.URL.Path])
	}))
}

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
