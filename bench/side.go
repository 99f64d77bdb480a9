package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// side is one of what is compared: a server in a process of its own, with so
// many browsers or pages.
type side struct {
	kind
	clients []*client
	pid     int
	began   time.Time // when the process was started, where that matters
	stop    func()
}

// kind is how a side is built. Its start returns when the server answers.
type kind struct {
	name  string
	start func(b *bench, n int) (*side, error)
}

// The sides. Warm ones play every task in the same page; fresh ones give every
// task a context of its own and are thereby what a service has to be.
var (
	troupe   = kind{"troupe", startService}
	rawClean = kind{"raw protocol, cleaned", startRaw("-clean")}
	rawKept  = kind{"raw protocol, kept and cleared", startRaw("-clear")}
	rawNever = kind{"raw protocol, never cleaned", startRaw()}

	// rawDirect shows what the outbound proxy costs.
	rawDirect = kind{"raw protocol, cleaned, no proxy", startRaw("-clean", "-direct")}

	puppeteerWarm      = kind{"Puppeteer, warm page", startPeer("puppeteer", false, false)}
	puppeteerFresh     = kind{"Puppeteer, fresh context", startPeer("puppeteer", true, false)}
	playwrightWarm     = kind{"Playwright, warm page", startPeer("playwright", false, false)}
	playwrightFresh    = kind{"Playwright, fresh context", startPeer("playwright", true, false)}
	puppeteerWarmOurs  = kind{"Puppeteer, warm page, our flags", startPeer("puppeteer", false, true)}
	puppeteerFreshOurs = kind{"Puppeteer, fresh context, our flags", startPeer("puppeteer", true, true)}
	playwrightWarmOurs = kind{"Playwright, warm page, our flags", startPeer("playwright", false, true)}
)

// bench is what a whole run has in common.
type bench struct {
	ctx       context.Context // ends when the run is to end
	command   string          // that started it
	plot      string          // file for a diagram of the scale; empty: none
	browser   string          // program
	service   string          // program
	before    string          // program of an older build; empty: none
	attack    string          // part of the names of those to be played
	env       []string        // more variables for the service
	fence     *fence          // around the service; nil: none
	plan      string          // of the accounts; empty: pro
	dir       string          // of this run; everybody may enter it
	peers     string          // folder with the peers and their packages, once they are installed
	agents    string          // folder with the tools for models
	job, tool string          // of agents: only these; empty: all
	site      string          // address of the pages
	quick     bool
	withPeers bool
	rounds    int // of tasks
	starts    int // of pairs
	tasks     int // that flat plays
	idle      time.Duration
	calls     bool // agents show each call
	folders   int
}

// folder makes a new one of the run.
func (b *bench) folder() (string, error) {
	b.folders++
	dir := filepath.Join(b.dir, fmt.Sprint(b.folders))
	return dir, os.Mkdir(dir, 0o711)
}

func newSide(b *bench, url string, pid int, stop func(), tokens ...string) *side {
	s := &side{pid: pid, stop: stop}
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}, Timeout: 2 * time.Minute}
	for _, t := range tokens {
		s.clients = append(s.clients, &client{ctx: b.ctx, http: c, url: url + "/v1", token: t})
	}
	return s
}

// client returns the one with a number. Accounts take turns: one of them alone
// may not reserve all workers.
func (s *side) client(i int) *client {
	c := *s.clients[i%len(s.clients)]
	return &c
}

// startService starts the service with everything in place: tokens, admission,
// actors, isolation, the outbound proxy.
func startService(b *bench, n int) (*side, error) { return startServiceWith(b, n) }

// startServiceWith starts it with more flags.
func startServiceWith(b *bench, n int, flags ...string) (*side, error) {
	dir, tokens, err := serviceData(b)
	if err != nil {
		return nil, err
	}
	s, err := launchService(b, dir, n, tokens, flags...)
	if err != nil {
		return nil, err
	}
	if err := ready(s); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// ready waits until all workers of the service have a browser. It is ready for clients
// when one has, and a task that finds no free worker is refused.
func ready(s *side) error {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		now, err := s.client(0).capacity()
		if err == nil && now.Workers > 0 && now.Online == now.Workers {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("starting the service: %d of %d workers are free after 30 s", now.Online, now.Workers)
		}
	}
}

// serviceData makes a data folder with two accounts.
func serviceData(b *bench) (dir string, tokens []string, err error) {
	return serviceDataOf(b, "bench", "second")
}

// serviceDataOf makes one with these accounts.
func serviceDataOf(b *bench, accounts ...string) (dir string, tokens []string, err error) {
	if dir, err = b.folder(); err != nil {
		return "", nil, err
	}
	for _, account := range accounts {
		out, err := exec.Command(b.service, "token", "create", "--data", dir, "--account", account, "--plan", cmp.Or(b.plan, "pro")).Output()
		if err != nil {
			return "", nil, fmt.Errorf("making a token: %w: %s", err, stderrOf(err))
		}
		tokens = append(tokens, strings.TrimSpace(string(out)))
	}
	return dir, tokens, nil
}

// launchService starts the service's process and does not wait until it answers.
func launchService(b *bench, dir string, n int, tokens []string, flags ...string) (*side, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	args := []string{"serve", "--listen", addr, "--data", dir, "--workers", fmt.Sprint(n), "--browser", b.browser, "--allow-private", "--log-level", "error"}
	cmd := exec.Command(b.service, append(args, flags...)...)
	if b.fence != nil {
		cmd = b.fence.inside(cmd)
	}
	cmd.Env = append(os.Environ(), b.env...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	return newSide(b, "http://"+addr, cmd.Process.Pid, func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}, tokens...), nil
}

func stderrOf(err error) string {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return string(e.Stderr)
	}
	return ""
}

// startRaw starts this program again as the raw client.
func startRaw(how ...string) func(*bench, int) (*side, error) {
	return func(b *bench, n int) (*side, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return startHelper(b, exec.Command(self, append([]string{"-raw", "-browser", b.browser, fmt.Sprintf("-tabs=%d", n)}, how...)...))
	}
}

// startHelper starts a server that says its address in its first line and ends
// when its standard input does.
func startHelper(b *bench, cmd *exec.Cmd) (*side, error) {
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return nil, fmt.Errorf("it ended at once: %w", err)
	}
	go io.Copy(io.Discard, out)
	return newSide(b, "http://"+strings.TrimSpace(line), cmd.Process.Pid, stop, ""), nil
}

// startAll starts sides with so many browsers each.
func startAll(b *bench, kinds []kind, n int) (sides []*side, err error) {
	for _, k := range kinds {
		s, err := k.start(b, n)
		if err != nil {
			stopAll(sides)
			return nil, fmt.Errorf("starting %s: %w", k.name, err)
		}
		s.kind = k
		sides = append(sides, s)
	}
	return sides, nil
}

func stopAll(sides []*side) {
	for _, s := range sides {
		s.stop()
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
