package cluster_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/actors"
	"troupe/testkit/need"
)

// session opens one on the worker of a node.
func (to *services) session(s *service) string {
	to.t.Helper()
	r := to.ask(s, "POST", "/v1/", fmt.Sprintf(`{"workerId":%q,"session":{"preserve":true},"queueTimeout":5000,"actions":[{"wait":1}]}`, actors.WorkerID(s.cfg.Member.Name, 1)))
	if r.status != 200 || r.SessionID == "" {
		to.t.Fatalf("no session: %d %s", r.status, r.text)
	}
	return r.SessionID
}

// sessionTask is a task of a session.
func (to *services) sessionTask(id string, takes time.Duration) string {
	body, _ := to.task(takes, fmt.Sprintf(`"session":{"id":%q},"queueTimeout":2000,`, id))
	return body
}

func (to *services) closeSession(at *service, id string) {
	to.t.Helper()
	r := to.ask(at, "POST", "/v1/", fmt.Sprintf(`{"session":{"id":%q,"close":true},"queueTimeout":5000}`, id))
	if r.status != 200 {
		to.t.Errorf("the session was not closed: %d %s", r.status, r.text)
	}
}

// mostOfSessions is what a request of a session takes at most: its queueTimeout and
// 5 s, and 3 s more in the ordinary suite, where tests of other packages keep the
// processors busy.
func mostOfSessions() time.Duration {
	if *doubts == ordinaryDoubts {
		return 10 * time.Second
	}
	return 7 * time.Second
}

// TestTheHomeOfASessionIsAskedFirst: a session whose node is well goes on there at once,
// although the asked node has stood still and thinks that it is down, or although its
// node was started again and the asked node has not heard of that.
func TestTheHomeOfASessionIsAskedFirst(t *testing.T) {
	need.All(t)
	to := newServices(t, 1, 1, 1)
	for round := range *doubts {
		asked, others := to.follower(round)
		home := others[0]
		id := to.session(home)
		if r := to.ask(asked, "POST", "/v1/", to.sessionTask(id, time.Millisecond)); r.status != 200 {
			t.Fatalf("before: %d %s", r.status, r.text)
		}
		asked.signal(syscall.SIGSTOP)
		time.Sleep(4 * time.Second) // for which it stands still
		asked.signal(syscall.SIGCONT)
		took := &timings{}
		for range 8 {
			r := to.ask(asked, "POST", "/v1/", to.sessionTask(id, time.Millisecond))
			if took.add(r.took); r.status != 200 || r.took > mostOfSessions() {
				t.Errorf("round %d, the asked node has woken: %d %s after %v", round+1, r.status, r.text, r.took)
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Logf("round %d, the asked node has woken: %v", round+1, took)

		// The home is killed, and there again soon.
		to.closeSession(asked, id)
		to.whole()
		home, others = to.follower(round + 1)
		id = to.session(home)
		at := others[round%2]
		home.kill()
		killed := time.Now()
		type ended struct {
			reply
			at time.Time
		}
		answers := make(chan ended, 256)
		done := make(chan struct{})
		go func() {
			defer close(answers)
			for {
				select {
				case <-done:
					return
				default:
				}
				r := to.ask(at, "POST", "/v1/", to.sessionTask(id, time.Millisecond))
				answers <- ended{r, time.Now()}
				time.Sleep(100 * time.Millisecond)
			}
		}()
		home.start()
		home.ready()
		back := time.Now()
		time.Sleep(5 * time.Second) // in which clients ask
		close(done)
		var slowest time.Duration
		for r := range answers {
			slowest = max(slowest, min(r.took, r.at.Sub(back))) // while the home was well
			if r.status != 200 {
				t.Logf("round %d, the home was started again: %d %s after %v", round+1, r.status, r.Code, r.took)
			}
		}
		last := to.ask(at, "POST", "/v1/", to.sessionTask(id, time.Millisecond))
		t.Logf("round %d: the home was back after %v; the slowest request took %v from then on", round+1, back.Sub(killed).Round(time.Millisecond), slowest.Round(time.Millisecond))
		if last.status != 200 || slowest > 3*time.Second {
			t.Errorf("round %d, the home was started again: %d %s, the slowest %v", round+1, last.status, last.Code, slowest)
		}
		to.closeSession(at, id)
		to.whole()
	}
	to.once()
}

// TestSessionsOutliveADrain: the sessions of a node that is drained go on there until it
// stops, from every node, and then on another one without a wait for its lease.
//
// Promise: A session survives the drain of its node (docs/cluster.md).
func TestSessionsOutliveADrain(t *testing.T) {
	need.All(t)
	to := newServices(t, 2, 2, 2)
	for round := range *doubts {
		home, others := to.follower(round)
		id := to.session(home)
		home.say("drain")
		home.hear("Drained")
		took := &timings{}
		for i := range 30 {
			r := to.ask(to.all[i%3], "POST", "/v1/", to.sessionTask(id, 20*time.Millisecond))
			if took.add(r.took); r.status != 200 {
				t.Errorf("round %d, while its node drains: %d %s", round+1, r.status, r.text)
			}
			body, _ := to.task(time.Millisecond, `"queueTimeout":2000,`)
			r = to.ask(home, "POST", "/v1/", body)
			if r.status != 200 || strings.Contains(r.text, home.cfg.Member.Name+"-worker") {
				t.Errorf("round %d, a task without a session: %d %s", round+1, r.status, r.text)
			}
		}
		home.say("stop")
		home.hear("Stopped")
		stopped := time.Now()
		var r reply
		soon(t, "the session goes on elsewhere", func() bool {
			r = to.ask(others[round%2], "POST", "/v1/", to.sessionTask(id, time.Millisecond))
			return r.status == 200
		})
		after := time.Since(stopped)
		t.Logf("round %d: while its node drains %v; elsewhere %v after its end", round+1, took, after.Round(time.Millisecond))
		if after > sessionLease/2 || strings.Contains(r.text, home.cfg.Member.Name+"-worker") {
			t.Errorf("round %d: it goes on elsewhere after %v: %s", round+1, after, r.text)
		}
		<-home.done
		home.start()
		home.ready()
		to.closeSession(others[0], id)
		to.whole()
	}
	to.once()
}
