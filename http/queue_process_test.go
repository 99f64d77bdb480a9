package http_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	_ "net/http/pprof" // of the service that is measured
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/engine"
	"troupe/http"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/need"
)

// Further flags of the tests of the queue between processes.
var (
	queueTasks = flag.Int("queue-tasks", few(600, 800), "tasks that are queued while the service is killed")
	queueKills = flag.Int("queue-kills", few(3, 5), "how often the service is killed meanwhile")
)

// few is a default: most if all tests are asked for, less otherwise.
func few(less, most int) int {
	if need.AllAsked() {
		return most
	}
	return less
}

// queueService is the environment variable with the folder of a service that this test
// program is to be. Its value may end in "@" and how long each task takes.
const queueService = "TROUPE_TEST_QUEUE_SERVICE"

// serveQueue is the service of the tests below, in a process that they can kill: the real
// edge, actors and store, and browsers that write down what they play.
func serveQueue(t testing.TB) {
	folder, takes, _ := strings.Cut(os.Getenv(queueService), "@")
	began := time.Now()
	each, err := time.ParseDuration(takes)
	if err != nil {
		t.Fatal(err)
	}
	store, err := persistence.OpenBadger(filepath.Join(folder, "store"), persistence.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	opened := time.Since(began)
	seal, err := persistence.OpenSeal(filepath.Join(folder, "key"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := persistence.OpenFolder(filepath.Join(folder, "files"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(folder, "played"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	noop := &testkit.Noop{Outcome: &engine.Outcome{End: engine.EndCompleted, Data: []byte(`{}`)}}
	workers := 64
	if s := os.Getenv(queueService + "_BROWSERS"); s != "" {
		var each string
		if _, err := fmt.Sscanf(s, "%d of %s", &workers, &each); err != nil {
			t.Fatal(err)
		}
		if noop.Takes, err = time.ParseDuration(each); err != nil {
			t.Fatal(err)
		}
	}
	var eng engine.Engine = noop
	if each > 0 {
		scripted := testkit.NewEngine()
		scripted.Default = func(testkit.Call) testkit.Script {
			return testkit.Script{Do: func(ctx context.Context, c testkit.Call) *engine.Outcome {
				if _, err := fmt.Fprintln(log, c.Env.TaskID); err != nil { // one write: it is there or not
					panic(err)
				}
				select {
				case <-time.After(each):
					return &engine.Outcome{End: engine.EndCompleted, Data: []byte(`{}`)}
				case <-ctx.Done():
					return &engine.Outcome{End: engine.EndOf(ctx)}
				}
			}}
		}
		eng, workers = scripted, 8
	}
	limits := engine.DefaultLimits()
	pro := limits[engine.Pro]
	pro.ScheduleEvery = time.Second
	limits[engine.Pro] = pro
	node, err := actors.Start(actors.Config{
		Limits: limits, Engine: eng, Store: store, Files: files, Seal: seal, Workers: actors.SharedWorkers("", workers), Log: zerolog.Nop(),
		QueuedUploads: filepath.Join(folder, "queued-uploads"),
		Notices:       actors.NoticesConfig{Client: &nethttp.Client{}, Result: http.NoticeResult, Delays: slices.Repeat([]time.Duration{100 * time.Millisecond}, 1000)},
	})
	if err != nil {
		t.Fatal(err)
	}
	node.HoldQueue(os.Getenv(queueService+"_HELD") != "")
	s, err := http.New(http.Config{Actors: node, Live: node, Auth: testAuth{}, Uploads: filepath.Join(folder, "uploads")})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	status, err := net.Listen("tcp", "127.0.0.1:0") // how many wait, without a token
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = nethttp.Serve(status, nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
			if strings.HasPrefix(r.URL.Path, "/debug/") { // profiles
				nethttp.DefaultServeMux.ServeHTTP(w, r)
				return
			}
			var m runtime.MemStats
			if r.URL.Path == "/heap" { // a collection takes time from what is measured
				runtime.GC()
				runtime.ReadMemStats(&m)
			}
			_ = json.NewEncoder(w).Encode(map[string]int{"queued": node.Status().Queued, "heap": int(m.HeapAlloc >> 20)})
		}))
	}()
	fmt.Printf("serving %s %s %d %d\n", ln.Addr(), status.Addr(), opened.Milliseconds(), time.Since(began).Milliseconds())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is that of the test
		os.Exit(0)
	}()
	if err := s.Serve(ln); err != nil {
		t.Fatal(err)
	}
}

// queueProcess is a service in another process.
type queueProcess struct {
	cmd             *exec.Cmd
	stdin           io.Closer
	addr, status    string
	opening, starts time.Duration
}

func startQueueProcess(t testing.TB, folder, takes string, env ...string) *queueProcess {
	t.Helper()
	p := &queueProcess{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(append(os.Environ(), queueService+"="+folder+"@"+takes, "TMPDIR="+folder), env...)
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.stdin = in
	line := ""
	for r := bufio.NewReader(out); !strings.HasPrefix(line, "serving"); {
		if line, err = r.ReadString('\n'); err != nil {
			p.kill()
			t.Fatalf("the service has not begun: %q, %v", line, err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	var opening, starts int
	if _, err := fmt.Sscanf(line, "serving %s %s %d %d", &p.addr, &p.status, &opening, &starts); err != nil {
		t.Fatal(err)
	}
	p.opening, p.starts = time.Duration(opening)*time.Millisecond, time.Duration(starts)*time.Millisecond
	t.Cleanup(p.kill)
	return p
}

// kill ends the process as kill -9 does.
func (p *queueProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.stdin.Close()
	_ = p.cmd.Wait()
}

// memory is how much memory the process has, and how much of its files is in memory as
// well: the system takes that back when it needs it.
func (p *queueProcess) memory(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	mega := map[string]int{}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 {
			n, _ := strconv.Atoi(f[1])
			mega[f[0]] = n >> 10
		}
	}
	return fmt.Sprintf("%d MB, and %d MB of files", mega["RssAnon:"], mega["RssFile:"])
}

// ask sends a request and reads the answer as JSON.
func (p *queueProcess) ask(c *nethttp.Client, method, path, body string, into any) (int, error) {
	r, err := nethttp.NewRequest(method, "http://"+p.addr+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer good")
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, json.NewDecoder(resp.Body).Decode(into)
}

// client keeps as many connections as its goroutines need.
func client(n int) *nethttp.Client {
	return &nethttp.Client{Transport: &nethttp.Transport{MaxIdleConnsPerHost: n}, Timeout: time.Minute}
}

const queuedTask = `{"queue":true,"actions":[{"open":"https://example.com/"},{"getText":"h1"}]}`

// enqueue queues tasks from 16 clients at once, and returns their identifiers and how
// long each start took.
func (p *queueProcess) enqueue(t *testing.T, n int, body string) (ids []string, took []time.Duration) {
	t.Helper()
	const clients = 16
	c := client(clients)
	defer c.CloseIdleConnections()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for range n/clients + min(1, max(0, n%clients-i)) {
				var a struct {
					TaskID, Status string
				}
				began := time.Now()
				status, err := p.ask(c, "POST", "/v1/", body, &a)
				if err != nil || status != 202 || a.Status != "queued" {
					t.Errorf("a start: %d %+v, %v", status, a, err)
					return
				}
				mu.Lock()
				ids, took = append(ids, a.TaskID), append(took, time.Since(began))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return ids, took
}

// TestQueueSurvivesKills: the service is killed again and again while it works off its
// queue. No task is lost, each ends once, and none is played twice: one that was played
// at a kill was interrupted.
//
// Promise: The acknowledgement and the end of each queued task are on the disk before
// you see them (docs/queue.md#what-happens-when).
func TestQueueSurvivesKills(t *testing.T) {
	beside(t)
	folder := t.TempDir()
	p := startQueueProcess(t, folder, "1ms")
	ids, _ := p.enqueue(t, *queueTasks, queuedTask)
	if t.Failed() {
		return
	}
	played := func() int {
		b, err := os.ReadFile(filepath.Join(folder, "played"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), "\n")
	}
	for kill := range *queueKills {
		// Between two kills a part of the tasks is played, so that all kills are in time.
		until := min(len(ids)*(kill+1)/(*queueKills+1), len(ids))
		eventually(t, "tasks are played", func() bool { return played() >= until })
		p.kill()
		p = startQueueProcess(t, folder, "1ms")
	}
	c := client(1)
	defer c.CloseIdleConnections()
	ends := map[string]string{}
	interrupted := 0
	for _, id := range ids {
		var a struct {
			Status, Code string
		}
		for a.Status == "" || a.Status == "pending" {
			if status, err := p.ask(c, "GET", "/v1/get-result?wait=20000&taskId="+id, "", &a); err != nil || status != 200 {
				t.Fatalf("%s: %d, %v", id, status, err)
			}
		}
		if ends[id] = a.Status; a.Code == "interrupted" {
			interrupted++
		} else if a.Status != "complete" {
			t.Errorf("%s ended as %+v", id, a)
		}
	}
	b, err := os.ReadFile(filepath.Join(folder, "played"))
	if err != nil {
		t.Fatal(err)
	}
	plays := map[string]int{}
	for id := range strings.Lines(string(b)) {
		plays[strings.TrimSpace(id)]++
	}
	for _, id := range ids {
		if n := plays[id]; n > 1 || n == 0 && ends[id] == "complete" {
			t.Errorf("%s was played %d times, and is %s", id, n, ends[id])
		}
	}
	if most := 8 * *queueKills; interrupted > most {
		t.Errorf("%d tasks were interrupted by %d kills of 8 workers", interrupted, *queueKills)
	}
	var l struct {
		Tasks []struct{ TaskID string }
		Next  string
	}
	ended := map[string]int{}
	for first := true; first || l.Next != ""; first = false {
		next := l.Next
		l.Next, l.Tasks = "", nil
		if status, err := p.ask(c, "GET", "/v1/tasks?status=ended&limit=100&cursor="+next, "", &l); err != nil || status != 200 {
			t.Fatalf("list: %d, %v", status, err)
		}
		for _, e := range l.Tasks {
			ended[e.TaskID]++
		}
	}
	for _, id := range ids {
		if ended[id] == 0 {
			t.Errorf("%s is not in the list of ended tasks", id)
		}
	}
	t.Logf("%d tasks, %d kills: %d interrupted", len(ids), *queueKills, interrupted)
}
