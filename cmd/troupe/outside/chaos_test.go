package outside_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"troupe/testkit/need"
)

var (
	chaosRounds = flag.Int("chaos", 0, "how many times TestChaos lets each fault happen; 0: only some of them do, once")
	chaosConns  = flag.Int("chaos.conns", 1000, "connections that TestChaos holds open")
)

// chaos is a service under which things fail. The account villain has a worker
// of its own, which everything happens to. The account known plays known tasks
// on the others all the time, and must not notice.
type chaos struct {
	t         *testing.T
	c         *child
	d         operatorCLI
	base      string
	site      string
	shown     <-chan string
	villain   string // token
	worker    string // identifier of the villain's
	pick      *rand.Rand
	recovered time.Duration // the longest time without the worker
}

// fault is one that can happen, and what is promised then.
type fault struct {
	name    string
	actions string                                 // with {{site}}
	config  string                                 // of the task; empty: an action has 2 s
	first   func(x *chaos) (end func(), err error) // before the task
	harm    func(x *chaos) error                   // a while after its page was asked for
	status  int
	wants   []string // one of which is in the answer
	within  time.Duration
}

var chaosFaults = []fault{
	{name: "kill -9 of the browser", actions: `{"open":"{{site}}/"},{"wait":15000}`, harm: signalBrowser(syscall.SIGKILL, false), status: 200, wants: []string{`"browser_crashed"`}, within: 3 * time.Second},
	{name: "kill -9 of the renderers", actions: `{"open":"{{site}}/"},{"wait":15000}`, harm: signalBrowser(syscall.SIGKILL, true), status: 200, wants: []string{`"browser_crashed"`}, within: 3 * time.Second},
	{name: "SIGSTOP of the browser", actions: `{"open":"{{site}}/"},{"wait":15000},{"wait":15000}`, harm: signalBrowser(syscall.SIGSTOP, false), status: 200, wants: []string{`"browser_crashed"`}, within: 18 * time.Second},
	{name: "SIGSTOP of the renderers", actions: `{"open":"{{site}}/"},{"wait":1000},{"getText":"h1"}`, harm: signalBrowser(syscall.SIGSTOP, true), status: 200, wants: []string{`"timeout"`}, within: 6 * time.Second},
	{name: "a page that allocates without end", actions: `{"open":"{{site}}/memory"},{"wait":2000},{"getText":"h1"}`, status: 200, wants: []string{`"data":"x"`, `"timeout"`, `"browser_crashed"`}, within: 8 * time.Second},
	{name: "a script that never ends", actions: `{"open":"{{site}}/loop"},{"wait":200},{"getText":"h1"}`, status: 200, wants: []string{`"timeout"`}, within: 8 * time.Second},
	{name: "a storm of dialogs", actions: `{"open":"{{site}}/alerts"},{"waitForElement":"h1"},{"wait":1500},{"getText":"h1"}`, status: 200, wants: []string{`"data":"calm"`, `"timeout"`}, within: 10 * time.Second},
	{name: "a thousand popups", actions: `{"open":"{{site}}/popups"},{"click":"#b"}`, status: 200, wants: []string{`"success":true`, `"timeout"`}, within: 10 * time.Second},
	{name: "a download of 5 GB", actions: `{"open":"{{site}}/huge"},{"wait":1500}`, status: 200, wants: []string{`"success":true`}, within: 8 * time.Second},
	{name: "a response that never ends", actions: `{"open":"{{site}}/endless"}`, status: 200, wants: []string{`"timeout"`, `"success":true`}, within: 6 * time.Second},
	{name: "a server that trickles", actions: `{"open":"{{site}}/trickle"}`, status: 200, wants: []string{`"timeout"`, `"success":true`}, within: 6 * time.Second},
	{name: "a server that says nothing", actions: `{"open":"{{site}}/silent"}`, status: 200, wants: []string{`"timeout"`}, within: 6 * time.Second},
	{name: "a task that does not end", actions: `{"open":"{{site}}/loop"},{"wait":15000}`, config: `"timeout":1500,`, status: 408, wants: []string{`"task_timeout"`}, within: 4 * time.Second},
	{name: "many connections", actions: `{"open":"{{site}}/"},{"getText":"h1"}`, first: connect, status: 200, wants: []string{`"data":"here"`}, within: 8 * time.Second},
	{name: "clients that go away in each phase", actions: `{"open":"{{site}}/"},{"getText":"h1"}`, first: goAway, status: 200, wants: []string{`"data":"here"`}, within: 8 * time.Second},
}

// backWithin is how long the worker may be away after the answer: a reset that
// takes too long, and a start.
const backWithin = 10 * time.Second

// promised is how long something may take where `make chaos` measures that. In the
// ordinary suite, on a machine that does much else, it only has to end.
func promised(limit time.Duration) time.Duration {
	if *chaosRounds == 0 {
		return hang
	}
	return limit
}

// TestChaos lets one fault after the other happen, in an order and at moments
// that follow from -seed.
func TestChaos(t *testing.T) {
	need.All(t)
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	x := &chaos{t: t, d: operatorCLI{t, filepath.Join(dir, "data")}, pick: rand.New(rand.NewPCG(*seed, 0))}
	x.site, x.shown = chaosSite(t)
	x.c, x.base = serve(t, x.d.data, "--workers=1", "--allow-private", "--log-level=debug", "--max-connections=12000")
	x.villain = x.d.says("token", "create", "--account=villain", "--plan=pro")
	known := x.d.says("token", "create", "--account=known", "--plan=pro")
	x.d.says("worker", "add", "theirs", "--account=villain")
	x.worker = x.d.until("theirs", "online").ID

	var right, wrong atomic.Int64
	stop := make(chan struct{})
	var all sync.WaitGroup
	m := &mixed{base: x.base, token: known, site: soakSite(t)}
	all.Go(func() {
		for n := int64(0); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := m.one("plain", n, nil); err != nil {
				wrong.Add(1)
				t.Errorf("the account that does nothing wrong: %v", err)
			} else {
				right.Add(1)
			}
		}
	})
	t.Log("| fault | answered after | worker back after |")
	order := x.pick.Perm(len(chaosFaults))[:5]
	for range *chaosRounds {
		order = append(order, x.pick.Perm(len(chaosFaults))...)
	}
	if *chaosRounds > 0 {
		order = order[5:]
	}
	for _, i := range order {
		x.play(chaosFaults[i])
	}
	close(stop)
	all.Wait()
	t.Logf("seed %d: %d faults; %d known tasks right, %d wrong; the worker was away for at most %v",
		*seed, len(order), right.Load(), wrong.Load(), x.recovered.Round(time.Millisecond))
	if right.Load() < int64(len(order)) {
		t.Errorf("only %d known tasks were played: that proves little", right.Load())
	}
	if n := entries(uploadsIn(x.d.data)); n > 0 {
		t.Errorf("%d uploads are left", n)
	}
	_ = x.c.Process.Signal(syscall.SIGTERM)
	if err := x.c.end(t, promised(20*time.Second)); err != nil {
		t.Errorf("the stop: %v", err)
	}
}

// play lets a fault happen and checks what is promised.
func (x *chaos) play(f fault) {
	x.t.Helper()
	config := f.config
	if config == "" {
		config = `"config":{"actionTimeout":2000},`
	}
	nonce := fmt.Sprint(x.pick.Uint64())
	actions := strings.NewReplacer("{{site}}/\"", x.site+"/?"+nonce+"\"", "{{site}}", x.site).Replace(f.actions)
	task := fmt.Sprintf(`{"workerId":%q,"queueTimeout":20000,%s"actions":[%s]}`, x.worker, config, actions)
	delay := time.Duration(x.pick.IntN(400)) * time.Millisecond
	if f.first != nil {
		end, err := f.first(x)
		if err != nil {
			x.t.Errorf("%s: %v", f.name, err)
		}
		defer end()
	}
	harmed := time.Now()
	type answer struct {
		status int
		body   string
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		status, body, err := post(x.base, x.villain, task)
		done <- answer{status, body, err}
	}()
	if f.harm != nil {
		// Busy may also be a worker that is still being made clean.
		for late := time.After(hang); ; {
			select {
			case got := <-x.shown:
				if got != nonce {
					continue
				}
			case <-late:
				x.t.Fatalf("%s: the task does not run", f.name)
			}
			break
		}
		time.Sleep(delay)
		if err := f.harm(x); err != nil {
			x.t.Errorf("%s: %v", f.name, err)
		}
		harmed = time.Now()
	}
	var a answer
	select {
	case a = <-done:
	case <-time.After(f.within + hang):
		x.t.Fatalf("%s: no answer", f.name)
	}
	took := time.Since(harmed)
	ok := a.err == nil && a.status == f.status && json.Valid([]byte(a.body)) && took <= promised(f.within)
	var said bool
	for _, want := range f.wants {
		said = said || strings.Contains(a.body, want)
	}
	if !ok || !said {
		x.t.Errorf("%s: %d after %v, %v: %.400s, want %d with one of %v within %v", f.name, a.status, took, a.err, a.body, f.status, f.wants, promised(f.within))
	}
	answered := time.Now()
	status, body, err := post(x.base, x.villain, fmt.Sprintf(`{"workerId":%q,"queueTimeout":60000,"actions":[{"open":"%s/"},{"getText":"h1"}]}`, x.worker, x.site))
	back := time.Since(answered)
	x.recovered = max(x.recovered, back)
	if err != nil || status != 200 || !strings.Contains(body, `"data":"here"`) || back > promised(backWithin) {
		x.t.Errorf("after %s: %d after %v, %v: %.400s", f.name, status, back, err, body)
	}
	x.t.Logf("| %s | %.1f s | %.1f s |", f.name, took.Seconds(), back.Seconds())
}

var started = regexp.MustCompile(`"worker":"([^"]+)","pid":(\d+)[^\n]*"browser started"`)

// browser is the main process of the villain's worker.
func (x *chaos) browser() (pid int) {
	for _, m := range started.FindAllStringSubmatch(x.c.errs.String(), -1) {
		if m[1] == x.worker {
			_, _ = fmt.Sscan(m[2], &pid)
		}
	}
	return pid
}

// signalBrowser sends a signal to the villain's browser, or to those of its
// processes that show pages.
func signalBrowser(sig syscall.Signal, renderers bool) func(*chaos) error {
	return func(x *chaos) error {
		pid, sent := x.browser(), 0
		for _, p := range processes(x.t) {
			if p.group != pid || pid == 0 {
				continue
			}
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
			if renderers == strings.Contains(string(line), "--type=renderer") && (renderers || p.pid == pid) {
				if syscall.Kill(p.pid, sig) == nil {
					sent++
				}
			}
		}
		if sent == 0 {
			return errors.New("there is no process to send the signal to")
		}
		return nil
	}
}

// connect holds many connections open that say nothing.
func connect(x *chaos) (end func(), err error) {
	var held []net.Conn
	end = func() {
		for _, c := range held {
			_ = c.Close()
		}
	}
	addr := strings.TrimPrefix(x.base, "http://")
	for range *chaosConns {
		c, err := net.DialTimeout("tcp", addr, 5*time.Second)
		if err != nil {
			return end, fmt.Errorf("connection %d: %w", len(held), err)
		}
		held = append(held, c)
	}
	if status, got := get(x.t, x.base, "", "/readyz"); status != 200 {
		return end, fmt.Errorf("with %d connections /readyz says %d: %s", len(held), status, got)
	}
	return end, nil
}

// goAway lets clients end in the middle of a request, while they wait for the
// worker, and while their answer is awaited.
func goAway(x *chaos) (end func(), err error) {
	end = func() {}
	addr := strings.TrimPrefix(x.base, "http://")
	task := fmt.Sprintf(`{"workerId":%q,"queueTimeout":20000,"actions":[{"open":"%s/"},{"wait":10000}]}`, x.worker, x.site)
	request := fmt.Sprintf("POST /v1/ HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", addr, x.villain, len(task), task)
	for _, part := range []int{0, 10, len(request) - len(task), len(request) - 5, len(request)} {
		for _, stay := range []time.Duration{0, time.Duration(x.pick.IntN(300)) * time.Millisecond} {
			c, err := net.DialTimeout("tcp", addr, 5*time.Second)
			if err != nil {
				return end, err
			}
			_, err = io.WriteString(c, request[:part])
			time.Sleep(stay)
			if err := errors.Join(err, c.Close()); err != nil {
				return end, err
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), promised(10*time.Second))
	defer cancel()
	for ctx.Err() == nil { // none of them has left a task behind that runs or waits
		if w := x.d.worker("theirs"); w.State != "busy" {
			return end, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return end, errors.New("the worker plays on for clients that are gone")
}
