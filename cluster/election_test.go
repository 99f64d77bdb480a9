package cluster_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"troupe/cluster/member"
	"troupe/testkit/need"
)

// TestAnElectionIsNotNoticed: when the node dies that leads what all have in
// common, who sends tasks to another one sees no error, and no pause like the one
// that whoever has to write sees.
func TestAnElectionIsNotNoticed(t *testing.T) {
	need.Time(t)
	t.Parallel()
	cfgs := configs(t, 3)
	victim := startProcess(t, cfgs[0])
	members := []*member.Member{join(t, cfgs[1]), join(t, cfgs[2])}
	victim.ready()
	ready(t, members...)
	n2 := openHTTPNode(t, members[0], 4)
	openHTTPNode(t, members[1], 2)
	tokens := map[string]string{"without a limit": n2.token("ada", "pro"), "with a limit": n2.token("bob", "basic")}
	soon(t, "the victim leads", func() bool {
		if victim.do(storeCommand{Op: "leader"}).OK {
			return true
		}
		_, _ = members[0].Conn().Request("$JS.API.STREAM.LEADER.STEPDOWN.STORE", nil, time.Second)
		return false
	})

	// The share follows what was used lately, so there is work until it is filled: on a
	// slow machine the same work is spread over more time.
	const task = `{"actions":[{"wait":0}],"queueTimeout":10000}`
	bob, before := idOf(t, n2, "bob"), 0
	soon(t, "the share is filled", func() bool {
		var burst sync.WaitGroup
		for range 4 {
			burst.Go(func() {
				for range 10 {
					if r := n2.ask("POST", "/v1/", tokens["with a limit"], task); r.status != 200 {
						t.Errorf("before the loss: %d %s", r.status, r.text)
					}
				}
			})
		}
		burst.Wait()
		before += 40
		return n2.Node.Held()[bob] > 400
	})

	over := make(chan struct{})
	var streams sync.WaitGroup
	var mu sync.Mutex
	var electing bool
	during, answers := map[string]int{}, map[string]int{}
	for plan, token := range tokens {
		streams.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(50 * time.Millisecond):
				}
				mu.Lock()
				began := electing
				mu.Unlock()
				r := n2.ask("POST", "/v1/", token, task)
				if r.status != 200 || !r.Success {
					t.Errorf("%s: %d %s after %v", plan, r.status, r.text, r.took)
				}
				mu.Lock()
				answers[plan]++
				if began && electing {
					during[plan]++
				}
				mu.Unlock()
			}
		})
	}
	soon(t, "they are on their way", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return answers["with a limit"] > 3 && answers["without a limit"] > 3
	})
	victim.kill()
	tell := func(is bool) {
		mu.Lock()
		defer mu.Unlock()
		electing = is
	}
	tell(true)
	began, starts, started := time.Now(), 0, reply{}
	for started.status != 200 && time.Since(began) < hang { // on a machine that stands still it may take longer than one waits
		starts++
		started = n2.ask("POST", "/v1/", tokens["without a limit"], `{"async":true,"queueTimeout":10000,"actions":[{"wait":0}]}`)
		if started.status != 200 && started.Code != "no_quorum" {
			break
		}
	}
	took := time.Since(began)
	tell(false)
	close(over)
	streams.Wait()
	if started.status != 200 || took < 2*time.Second {
		t.Fatalf("there was no election to be waited out: %d %s after %v", started.status, started.text, took)
	}
	for plan := range tokens { // one that has to wait for the election is answered after it
		t.Logf("%s: %d tasks, %d of them while what had to be written took %v", plan, answers[plan], during[plan], took.Round(time.Millisecond))
		if during[plan] < 5 {
			t.Errorf("%s: %d tasks were answered in %v without a leader", plan, during[plan], took)
		}
	}
	// And the asynchronous one; of a start that could not be written down nobody knows.
	counts := func(name string, used int) bool {
		if name == "bob" {
			return used == before+answers["with a limit"]
		}
		return used > answers["without a limit"] && used <= answers["without a limit"]+starts
	}
	soon(t, "the counts are right again", func() bool {
		return counts("ada", int(n2.ask("GET", "/v1/usage", tokens["without a limit"], "").Used))
	})
	if used := n2.ask("GET", "/v1/usage", tokens["with a limit"], "").Used; !counts("bob", int(used)) {
		t.Errorf("%d tasks were used of the limited plan, want %d", used, before+answers["with a limit"])
	}
	n2.Drain(0) // what it still holds goes back
	today := time.Now().UTC().Format(time.DateOnly)
	for _, name := range []string{"ada", "bob"} {
		key := "usage/" + idOf(t, n2, name) + "/" + today
		soon(t, "the store's count of "+name+" is right after the node was drained", func() bool {
			r, err := n2.Store.Get(ctx, key)
			used, wrong := strconv.Atoi(string(r.Value))
			return err == nil && wrong == nil && counts(name, used)
		})
	}
}
