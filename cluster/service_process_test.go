package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"troupe/cluster/member"
	"troupe/testkit"
	"troupe/testkit/need"
	"troupe/testkit/networks"
)

// serviceEnv makes the test binary a process that is a whole node: with HTTP, and
// scripted browsers.
const serviceEnv = "TROUPE_TEST_SERVICE"

// neighbour is the test binary of this package in another release.
var neighbour = flag.String("neighbour", "", "the program of the second node where nodes are processes: this package's tests of the release before")

// serviceConfig is what such a process is started with.
type serviceConfig struct {
	Member  member.Config
	Workers int
	Plays   string // file with a line for each task that is played
	Host    string // where its clients reach it
}

// serveAsANode is such a process.
func serveAsANode(t testing.TB) {
	var cfg serviceConfig
	if err := json.Unmarshal([]byte(os.Getenv(serviceEnv)), &cfg); err != nil {
		t.Fatal(err)
	}
	cfg.Member.Log = quiet.With().Str("node", cfg.Member.Name).Logger()
	m, err := member.Join(ctx, cfg.Member)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	opening, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := m.Ready(opening); err != nil {
		t.Fatal(err)
	}
	e := testkit.NewEngine()
	e.Default = func(c testkit.Call) testkit.Script { return waits(t, cfg, c) }
	h := openScriptedNode(t, m, cfg.Workers, e, cfg.Host)
	say := json.NewEncoder(os.Stdout)
	_ = say.Encode(map[string]string{"Base": h.base})
	for in := json.NewDecoder(bufio.NewReader(os.Stdin)); ; {
		var o struct{ Op, Name string }
		if in.Decode(&o) != nil {
			return
		}
		switch o.Op {
		case "token":
			_ = say.Encode(map[string]string{"Token": h.token(o.Name, "pro")})
		case "drain":
			on := true
			if _, err := h.company.Pause(ctx, "", &on); err != nil {
				t.Error(err)
			}
			_ = say.Encode(map[string]bool{"Drained": true})
		case "stop": // as cmd/troupe does
			h.edge.Drain()
			_, _ = h.Node.Drain(ctx, 10*time.Second)
			h.company.Finish(ctx, 10*time.Second)
			h.company.Close()
			h.Node.Stop()
			_ = say.Encode(map[string]bool{"Stopped": true})
			return
		}
	}
}

var waiting = regexp.MustCompile(`"wait":(\d+)`)

// waits is the script of a task: it takes as long as its waits say, and is written
// down.
func waits(t testing.TB, cfg serviceConfig, c testkit.Call) (s testkit.Script) {
	for _, w := range waiting.FindAllSubmatch(c.Task.Source(), -1) {
		ms, _ := strconv.Atoi(string(w[1]))
		s.Takes += time.Duration(ms) * time.Millisecond
	}
	f, err := os.OpenFile(cfg.Plays, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		name := ""
		if i := bytes.Index(c.Task.Source(), []byte(`"n`)); i >= 0 { // the name that the test gave it
			name, _, _ = strings.Cut(string(c.Task.Source()[i+1:]), `"`)
		}
		_, err = fmt.Fprintf(f, "%s %s %s\n", c.Env.TaskID, cfg.Member.Name, name)
		_ = f.Close()
	}
	if err != nil {
		t.Error(err)
	}
	return s
}

// service is a node in a process of its own.
type service struct {
	t    testing.TB
	cfg  serviceConfig
	dir  string
	at   networks.Node // where it is; nothing: on a loopback address
	cmd  *exec.Cmd
	in   *json.Encoder
	said chan map[string]any
	base atomic.Value // its address, which clients use while it starts again
	done chan struct{}
}

func (s *service) start() {
	s.t.Helper()
	cfg := s.cfg
	cfg.Member.Log = quiet // not to be sent
	text, err := json.Marshal(map[string]any{
		"Member": map[string]any{
			"Name": cfg.Member.Name, "Listen": cfg.Member.Listen, "Dir": cfg.Member.Dir, "Peers": cfg.Member.Peers,
			"Secret": cfg.Member.Secret, "Unsynced": cfg.Member.Unsynced, "Role": cfg.Member.Role, "Workers": cfg.Member.Workers,
		},
		"Workers": cfg.Workers, "Plays": cfg.Plays, "Host": cfg.Host,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	program := os.Args[0]
	if *neighbour != "" && cfg.Member.Name == "n2" {
		program = *neighbour
	}
	args := []string{program, "-test.run=^TestServeAsANode$", "-test.timeout=0", "-test.count=1"}
	if s.at.Place != "" {
		args = append([]string{"ip", "netns", "exec", s.at.Place}, args...)
	}
	s.cmd = exec.Command(args[0], args[1:]...)
	s.cmd.Env = append(os.Environ(), serviceEnv+"="+string(text), "TMPDIR="+s.dir)
	s.cmd.SysProcAttr = mortal()
	var errs bytes.Buffer
	s.cmd.Stderr = &errs
	if os.Getenv("TROUPE_TEST_LOG") != "" {
		s.cmd.Stderr = os.Stderr
	}
	in, err := s.cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	s.in = json.NewEncoder(in)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd, said, done := s.cmd, make(chan map[string]any, 16), make(chan struct{})
	s.said, s.done = said, done
	s.base.Store("")
	go func() {
		defer close(done)
		var rest bytes.Buffer
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var a map[string]any
			if json.Unmarshal(lines.Bytes(), &a) == nil {
				said <- a
			} else {
				rest.Write(append(lines.Bytes(), '\n'))
			}
		}
		if err := cmd.Wait(); err != nil && !strings.Contains(err.Error(), "killed") {
			s.t.Logf("%s: %v\n%s%s", s.cfg.Member.Name, err, rest.String(), errs.String())
		}
	}()
}

// hear waits for something that the process says.
func (s *service) hear(key string) any {
	s.t.Helper()
	for {
		select {
		case a := <-s.said:
			if v, ok := a[key]; ok {
				return v
			}
		case <-s.done:
			s.t.Fatalf("%s has ended, and was to say %s", s.cfg.Member.Name, key)
		case <-time.After(time.Minute):
			s.t.Fatalf("%s does not say %s within a minute", s.cfg.Member.Name, key)
		}
	}
}

func (s *service) ready() {
	s.t.Helper()
	s.base.Store(s.hear("Base").(string))
}

func (s *service) say(op string) { _ = s.in.Encode(map[string]string{"Op": op}) }

func (s *service) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

func (s *service) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Process.Signal(syscall.SIGCONT)
	<-s.done
}

// services are three nodes in processes of their own.
type services struct {
	t     testing.TB
	nets  *networks.Networks // nil: the nodes are on loopback addresses
	all   []*service
	token string
	plays string
	names int
	mu    sync.Mutex
}

func newServices(t testing.TB, workers ...int) *services {
	t.Helper()
	return newServicesIn(t, nil, workers...)
}

// newServicesApart makes nodes that can be cut off, and skips the test where that needs
// more than it may do.
func newServicesApart(t testing.TB, workers ...int) *services {
	t.Helper()
	nets := networks.New(t)
	if nets == nil {
		t.Skip("cutting nodes off needs networks of their own: root, and the command ip")
	}
	return newServicesIn(t, nets, workers...)
}

func newServicesIn(t testing.TB, nets *networks.Networks, workers ...int) *services {
	t.Helper()
	need.Time(t)
	to := &services{t: t, nets: nets, plays: filepath.Join(t.TempDir(), "plays")}
	var all []*service
	for i, cfg := range configs(t, len(workers)) {
		all = append(all, &service{t: t, dir: t.TempDir(), cfg: serviceConfig{Member: cfg, Workers: workers[i], Plays: to.plays, Host: "127.0.0.1"}})
	}
	if nets != nil {
		var peers []string
		for i, s := range all {
			s.at = nets.Plug(t, i+1)
			s.cfg.Host, s.cfg.Member.Listen = s.at.Client, s.at.Peer
			peers = append(peers, s.at.Peer)
		}
		for _, s := range all {
			s.cfg.Member.Peers = peers
		}
	}
	for _, s := range all {
		s.start()
		t.Cleanup(s.kill)
		to.all = append(to.all, s)
	}
	for _, s := range to.all {
		s.ready()
	}
	_ = to.all[0].in.Encode(map[string]string{"Op": "token", "Name": "ada"})
	to.token = to.all[0].hear("Token").(string)
	to.whole()
	return to
}

// cut cuts a node off from the others, but not from its clients.
func (to *services) cut(s *service) { to.nets.Cut(to.t, s.at) }

func (to *services) heal(s *service) { to.nets.Heal(to.t, s.at) }

// load lets so many clients ask until stop is called, which waits for them.
func (to *services) load(clients int, ask func(client, i int)) (stop func()) {
	over := make(chan struct{})
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				default:
					ask(c, i)
				}
			}
		})
	}
	return func() {
		close(over)
		all.Wait()
	}
}

// whole waits until every node serves the workers of all.
func (to *services) whole() {
	to.t.Helper()
	want := 0
	for _, s := range to.all {
		want += s.cfg.Workers
	}
	soon(to.t, "every node knows all workers", func() bool {
		for _, s := range to.all {
			r := to.get(s, "/v1/workers")
			if r.status != 200 || strings.Count(r.text, `"online"`) != want {
				return false
			}
		}
		return true
	})
}

func (to *services) get(s *service, path string) reply { return to.ask(s, "GET", path, "") }

// ask asks a node. That there is no answer is told, too: its status is 0.
func (to *services) ask(s *service, method, path, body string, header ...string) (r reply) {
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	req, err := http.NewRequest(method, s.base.Load().(string)+path, strings.NewReader(body))
	if err != nil {
		return reply{text: err.Error()}
	}
	req.Header.Set("Authorization", "Bearer "+to.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := patientClient.Do(req)
	if err != nil {
		return reply{text: err.Error()}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	r = reply{status: res.StatusCode, header: res.Header, text: string(b)}
	if err != nil {
		r.text += err.Error()
	}
	_ = json.Unmarshal(b, &r)
	return r
}

var patientClient = &http.Client{Timeout: 3 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}

// task is a task with a name of its own, which takes so long.
func (to *services) task(takes time.Duration, more string) (body, name string) {
	to.mu.Lock()
	defer to.mu.Unlock()
	to.names++
	name = fmt.Sprintf("n%d", to.names)
	return fmt.Sprintf(`{%s"actions":[{"wait":%d},{"evaluate":%q}]}`, more, takes.Milliseconds(), name), name
}

// played is how often each named task was played.
func (to *services) played() map[string]int {
	b, _ := os.ReadFile(to.plays)
	all := map[string]int{}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 {
			all[f[2]]++
		}
	}
	return all
}

// once fails the test for each task that was played again.
func (to *services) once() {
	to.t.Helper()
	for name, n := range to.played() {
		if n > 1 {
			to.t.Errorf("%s was played %d times", name, n)
		}
	}
}
