package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"troupe/cluster"
	"troupe/cluster/member"
	"troupe/cluster/store"
	"troupe/persistence"
)

// nodeEnv makes the test binary a process that is one node, and does to the
// store what it is told on its input.
const nodeEnv = "TROUPE_TEST_NODE"

// storeCommand is one operation, and answer what came of it.
type storeCommand struct {
	ID    int
	Op    string // get, put, cas, add, leader
	Key   string
	Value string
	Rev   uint64
	Delta int64
	Limit int64
}

type answer struct {
	ID    int
	Value string
	Rev   uint64
	Total int64
	OK    bool
	Err   string // "conflict", "missing", or why it is not known
}

func runNode(text string) error {
	var cfg member.Config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return err
	}
	cfg.Log = quiet.With().Str("node", cfg.Name).Logger()
	m, err := member.Join(context.Background(), cfg)
	if err != nil {
		return err
	}
	opening, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := m.Ready(opening); err != nil {
		return err
	}
	s, err := store.Open(opening, m)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	say := func(a answer) {
		mu.Lock()
		defer mu.Unlock()
		out.Encode(a)
	}
	say(answer{OK: true}) // ready
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	for {
		var o storeCommand
		if err := in.Decode(&o); err != nil {
			return err
		}
		go func() { say(obey(m, s, o)) }()
	}
}

func obey(m *member.Member, s *store.Store, o storeCommand) answer {
	a := answer{ID: o.ID}
	var err error
	switch o.Op {
	case "get":
		var r persistence.Record
		r, err = s.Get(ctx, o.Key)
		a.Value, a.Rev = string(r.Value), r.Revision
	case "put":
		a.Rev, err = s.Put(ctx, persistence.Write{Key: o.Key, Value: []byte(o.Value), Durable: true})
	case "cas":
		a.Rev, err = s.Put(ctx, persistence.Write{Key: o.Key, Value: []byte(o.Value), If: &o.Rev, Durable: true})
	case "add":
		a.Total, a.OK, err = s.Add(ctx, o.Key, o.Delta, o.Limit, time.Time{})
	case "leader":
		a.OK = cluster.Leads(m)
	}
	switch {
	case errors.Is(err, persistence.ErrConflict):
		a.Err = "conflict"
	case errors.Is(err, persistence.ErrNotFound):
		a.Err = "missing"
	case err != nil:
		a.Err = err.Error()
	}
	return a
}

// errDead is what comes of an order to a node that is known to be dead.
const errDead = "the node is dead"

// process is a node in a process of its own.
type process struct {
	t    testing.TB
	cfg  member.Config
	cmd  *exec.Cmd
	in   *json.Encoder
	mu   sync.Mutex
	next int
	open map[int]chan answer
	dead bool
	up   chan struct{} // closed when it is ready
}

func startProcess(t testing.TB, cfg member.Config) *process {
	t.Helper()
	cfg.Log = quiet // not to be sent
	text, err := json.Marshal(struct {
		Name, Listen, Dir string
		Peers             []string
		Secret            []byte
		Unsynced          bool
	}{cfg.Name, cfg.Listen, cfg.Dir, cfg.Peers, cfg.Secret, cfg.Unsynced})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cfg: cfg, open: map[int]chan answer{}, up: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), nodeEnv+"="+string(text))
	p.cmd.SysProcAttr = mortal()
	if os.Getenv("TROUPE_TEST_LOG") != "" {
		p.cmd.Stderr = os.Stderr
	}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in = json.NewEncoder(in)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read(out)
	t.Cleanup(p.kill)
	return p
}

func (p *process) read(out io.Reader) {
	for dec := json.NewDecoder(out); ; {
		var a answer
		if dec.Decode(&a) != nil {
			break
		}
		if a.ID == 0 {
			close(p.up)
			continue
		}
		p.mu.Lock()
		ch := p.open[a.ID]
		delete(p.open, a.ID)
		p.mu.Unlock()
		ch <- a
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	for _, ch := range p.open {
		ch <- answer{Err: "the node died"}
	}
	p.open = map[int]chan answer{}
}

// do sends an order and waits for what comes of it.
func (p *process) do(o storeCommand) answer {
	ch := make(chan answer, 1)
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		return answer{Err: errDead}
	}
	p.next++
	o.ID = p.next
	p.open[o.ID] = ch
	err := p.in.Encode(o)
	p.mu.Unlock()
	if err != nil {
		return answer{Err: "the node died"}
	}
	return <-ch
}

// ready waits until the node can be used.
func (p *process) ready() {
	p.t.Helper()
	select {
	case <-p.up:
	case <-time.After(time.Minute):
		p.t.Errorf("%s is not ready within a minute", p.cfg.Name)
	}
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Process.Signal(syscall.SIGCONT)
	p.cmd.Wait()
}

func startProcesses(t testing.TB, cfgs []member.Config) []*process {
	t.Helper()
	var all []*process
	for _, cfg := range cfgs {
		all = append(all, startProcess(t, cfg))
	}
	for _, p := range all {
		p.ready()
	}
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// leading finds the process that leads the store.
func leading(t testing.TB, all []*process) int {
	t.Helper()
	found := -1
	soon(t, "a node leads the store", func() bool {
		for i, p := range all {
			if p.do(storeCommand{Op: "leader"}).OK {
				found = i
				return true
			}
		}
		return false
	})
	return found
}

func init() {
	if text := os.Getenv(nodeEnv); text != "" {
		fmt.Fprintln(os.Stderr, runNode(text))
		os.Exit(1)
	}
}
