package cluster_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors"
	"troupe/cluster/member"
	"troupe/testkit/need"
)

// newFleet starts three nodes that keep the store and have no workers, and as many worker
// nodes as numbers are given, each in a process of its own. The worker nodes come first.
func newFleet(t testing.TB, workers ...int) (to *services, hubs []string) {
	t.Helper()
	need.Time(t)
	to = &services{t: t, plays: filepath.Join(t.TempDir(), "plays")}
	cfgs, hubs := keeperConfigs(t)
	var keepers []*service
	for _, cfg := range cfgs {
		keepers = append(keepers, &service{t: t, dir: t.TempDir(), cfg: serviceConfig{Member: cfg, Plays: to.plays, Host: "127.0.0.1"}})
	}
	for i, n := range workers {
		to.all = append(to.all, to.worker(fmt.Sprintf("w%d", i+1), n, hubs))
	}
	to.all = append(to.all, keepers...)
	for _, s := range to.all {
		s.start()
		t.Cleanup(s.kill)
	}
	for _, s := range to.all {
		s.ready()
	}
	_ = keepers[0].in.Encode(map[string]string{"Op": "token", "Name": "ada"})
	to.token = keepers[0].hear("Token").(string)
	to.whole()
	return to, hubs
}

// worker is a worker node that was not started.
func (to *services) worker(name string, workers int, hubs []string) *service {
	cfg := member.Config{Name: name, Role: member.Worker, Peers: hubs, Secret: secret}
	return &service{t: to.t, dir: to.t.TempDir(), cfg: serviceConfig{Member: cfg, Workers: workers, Plays: to.plays, Host: "127.0.0.1"}}
}

// TestWorkerNodes: worker nodes serve everything that a node serves, and so do nodes
// without workers by them. What a killed one had goes on elsewhere.
func TestWorkerNodes(t *testing.T) {
	to, _ := newFleet(t, 2, 2)
	w1, w2, store := to.all[0], to.all[1], to.all[2]
	for _, s := range to.all {
		for range 3 {
			body, _ := to.task(0, `"queueTimeout":5000,`)
			if r := to.ask(s, "POST", "/v1/", body); r.status != 200 || !r.Success {
				t.Errorf("%s: a task: %d %s", s.cfg.Member.Name, r.status, r.text)
			}
		}
		body, _ := to.task(200*time.Millisecond, `"async":true,"queueTimeout":5000,`)
		started := to.ask(s, "POST", "/v1/", body)
		if started.status != 200 || started.TaskID == "" {
			t.Errorf("%s: an asynchronous task: %d %s", s.cfg.Member.Name, started.status, started.text)
			continue
		}
		for _, o := range to.all {
			if end := to.polled(o, started.TaskID, 5*time.Second); !strings.HasPrefix(end, "complete") {
				t.Errorf("a task started at %s is %q at %s", s.cfg.Member.Name, end, o.cfg.Member.Name)
			}
		}
		body, name := to.queuedTask(0, "true")
		r := to.ask(s, "POST", "/v1/", body)
		if end := to.polled(w2, r.TaskID, 10*time.Second); r.status != 202 || !strings.HasPrefix(end, "complete") {
			t.Errorf("%s: a queued task: %d %s; %q", s.cfg.Member.Name, r.status, r.text, end)
		}
		if n := to.played()[name]; n != 1 {
			t.Errorf("%s: the queued task was played %d times", s.cfg.Member.Name, n)
		}
		body, name = to.task(0, `"queueTimeout":5000,`)
		one, two := to.ask(s, "POST", "/v1/", body, "Idempotency-Key", name), to.ask(w1, "POST", "/v1/", body, "Idempotency-Key", name)
		if one.status != 200 || two.status != 200 || one.TaskID != two.TaskID || to.played()[name] != 1 {
			t.Errorf("%s: a key is answered %d %s and %d %s, and played %d times", s.cfg.Member.Name, one.status, one.text, two.status, two.text, to.played()[name])
		}
		at := s // a node without workers has no session
		if s.cfg.Workers == 0 {
			at = w2
		}
		session := to.session(at)
		for _, o := range to.all {
			if r := to.ask(o, "POST", "/v1/", to.sessionTask(session, 0)); r.status != 200 {
				t.Errorf("a session of %s at %s: %d %s", s.cfg.Member.Name, o.cfg.Member.Name, r.status, r.text)
			}
		}
		to.closeSession(w2, session)
	}
	for _, s := range to.all {
		if r := to.get(s, "/v1/usage"); r.status != 200 || r.Used == 0 {
			t.Errorf("%s: usage is %d %s", s.cfg.Member.Name, r.status, r.text)
		}
	}

	// What waits for a killed worker node is answered, and its session goes on.
	session := to.session(w1)
	var waits sync.WaitGroup
	for _, s := range []*service{w2, store} {
		waits.Go(func() {
			body, _ := to.task(20*time.Second, fmt.Sprintf(`"workerId":%q,"queueTimeout":1000,`, actors.WorkerID("w1", 2)))
			r := to.ask(s, "POST", "/v1/", body)
			if r.Code != "worker_lost" && r.Code != "worker_offline" && r.Code != "queue_timeout" && r.Code != "worker_busy" {
				t.Errorf("a task on the killed node: %d %s", r.status, r.text)
			}
			if r.took > 8*time.Second {
				t.Errorf("a task on the killed node is answered after %v", r.took)
			}
		})
	}
	soon(t, "the killed node runs a task", func() bool { return strings.Contains(to.get(store, "/v1/workers").text, `"busy"`) })
	began := time.Now()
	w1.kill()
	waits.Wait()
	t.Logf("answered %v after the kill", time.Since(began).Round(10*time.Millisecond))
	soon(t, "the session goes on at the other worker node", func() bool {
		return to.ask(store, "POST", "/v1/", to.sessionTask(session, 0)).status == 200
	})
	t.Logf("the session goes on %v after the kill", time.Since(began).Round(100*time.Millisecond))
	w1.start()
	w1.ready()
	to.once()
}

// TestWorkerNodesComeAndGo: worker nodes join and leave under load, and nodes that keep
// the store are renewed. No request fails.
func TestWorkerNodesComeAndGo(t *testing.T) {
	need.All(t)
	to, hubs := newFleet(t, 2, 2)
	keepers := to.all[2:5]
	var asked, failed atomic.Int64
	stop := to.load(6, func(client, i int) {
		s := keepers[(client+i)%2] // the third one is renewed
		if client%3 == 0 {
			s = to.all[0]
		}
		mode := `"queueTimeout":10000,`
		if i%5 == 0 {
			mode = `"queueTimeout":10000,"async":true,`
		}
		body, _ := to.task(20*time.Millisecond, mode)
		r := to.ask(s, "POST", "/v1/", body)
		if asked.Add(1); r.status != 200 {
			failed.Add(1)
			t.Errorf("at %s: %d %s", s.cfg.Member.Name, r.status, r.text)
		}
	})
	for i := range 4 {
		next := to.worker(fmt.Sprintf("x%d", i), 2, hubs)
		began := time.Now()
		next.start()
		t.Cleanup(next.kill)
		next.ready()
		soon(t, "the new node serves", func() bool {
			body, _ := to.task(0, `"queueTimeout":5000,`)
			return to.ask(next, "POST", "/v1/", body).status == 200
		})
		soon(t, "the new node is known", func() bool { return strings.Contains(to.get(keepers[0], "/v1/workers").text, next.cfg.Member.Name) })
		t.Logf("%s is known and serves after %v", next.cfg.Member.Name, time.Since(began).Round(10*time.Millisecond))
		if i == 1 {
			keepers[2].say("stop")
			keepers[2].hear("Stopped")
			<-keepers[2].done
			keepers[2].start()
			keepers[2].ready()
		}
		next.say("stop")
		next.hear("Stopped")
		<-next.done
	}
	stop()
	to.once()
	t.Logf("%d of %d requests failed", failed.Load(), asked.Load())
}
