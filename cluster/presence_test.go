package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/cluster/link"
)

// fakePeer answers pings as a node does that is well, dead or frozen.
type fakePeer struct {
	mu   sync.Mutex
	boot string
	how  string
}

func (f *fakePeer) set(how, boot string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.how, f.boot = how, boot
}

func (f *fakePeer) ping(ctx context.Context, _ string) (string, error) {
	f.mu.Lock()
	how, boot := f.how, f.boot
	f.mu.Unlock()
	switch how {
	case "dead":
		return "", link.ErrUndelivered
	case "frozen":
		<-ctx.Done()
		return "", ctx.Err()
	}
	time.Sleep(time.Millisecond)
	return boot, nil
}

func watched(t *testing.T, f func(t *testing.T, p *presence, far *fakePeer, news func() []string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, far := newPresence("n1"), &fakePeer{boot: "b1"}
		defer p.close()
		p.ping = far.ping
		var mu sync.Mutex
		var told []string
		say := func(what string) func(*peer) {
			return func(one *peer) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, what+" "+one.name)
			}
		}
		p.up, p.down = say("up"), say("down")
		f(t, p, far, func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(told)
		})
	})
}

// TestPresence: who is killed is down within a second, who is frozen within
// three, and who wakes up is there again.
func TestPresence(t *testing.T) {
	t.Parallel()
	for how, within := range map[string]time.Duration{"dead": time.Second, "frozen": 3 * time.Second} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			watched(t, func(t *testing.T, p *presence, far *fakePeer, news func() []string) {
				p.update(&link.Inventory{Node: "n1", Boot: "mine"})
				p.update(&link.Inventory{Node: "n2", Boot: "b1", Sent: time.Now()})
				time.Sleep(10 * time.Second)
				if got := news(); !slices.Equal(got, []string{"up n2"}) {
					t.Fatalf("told of %v", got)
				}
				alive, _ := p.aliveContext("n2")
				far.set(how, "b1")
				began := time.Now()
				<-alive.Done()
				if took := time.Since(began); took > within || took < pingEvery || !errors.Is(context.Cause(alive), errDown) {
					t.Errorf("%s is down after %v (%v)", how, took, context.Cause(alive))
				}
				if _, up := p.aliveContext("n2"); up {
					t.Error("a node that is down is up")
				}
				time.Sleep(15 * time.Second)
				far.set("", "b1")
				time.Sleep(2 * time.Second)
				if got := news(); !slices.Equal(got, []string{"up n2", "down n2", "up n2"}) {
					t.Errorf("told of %v", got)
				}
			})
		})
	}
}

// TestOneMissIsNone: a node that did not answer once is not down.
func TestOneMissIsNone(t *testing.T) {
	t.Parallel()
	watched(t, func(t *testing.T, p *presence, far *fakePeer, news func() []string) {
		p.update(&link.Inventory{Node: "n2", Boot: "b1"})
		for range 5 {
			time.Sleep(pingEvery / 2)
			far.set("dead", "b1")
			time.Sleep(pingEvery)
			far.set("", "b1")
			time.Sleep(pingTimeout - pingEvery/2)
		}
		if got := news(); !slices.Equal(got, []string{"up n2"}) {
			t.Errorf("told of %v", got)
		}
	})
}

// TestAnotherProcessIsAnotherNode: a node that was killed and started again
// between two pings has lost what it was asked.
func TestAnotherProcessIsAnotherNode(t *testing.T) {
	t.Parallel()
	watched(t, func(t *testing.T, p *presence, far *fakePeer, news func() []string) {
		p.update(&link.Inventory{Node: "n2", Boot: "b1", Sent: time.Now()})
		alive, _ := p.aliveContext("n2")
		far.set("", "b2")
		time.Sleep(2 * pingEvery)
		if alive.Err() == nil {
			t.Error("the process that was asked is alive")
		}
		late := &link.Inventory{Node: "n2", Boot: "b1", Sent: time.Now()}
		time.Sleep(time.Millisecond)
		p.update(&link.Inventory{Node: "n2", Boot: "b2", Sent: time.Now()})
		p.update(late)
		time.Sleep(5 * time.Second)
		if got := news(); !slices.Equal(got, []string{"up n2", "down n2", "up n2"}) {
			t.Errorf("told of %v", got)
		}
		far.set("dead", "")
		time.Sleep(forgetAfter + time.Minute)
		if known := p.known(); len(known) != 0 {
			t.Errorf("still known: %v", known)
		}
	})
}

// TestLeaving: a node that says that it leaves is down at once, and stays so.
func TestLeaving(t *testing.T) {
	t.Parallel()
	watched(t, func(t *testing.T, p *presence, far *fakePeer, news func() []string) {
		p.update(&link.Inventory{Node: "n2", Boot: "b1"})
		p.update(&link.Inventory{Node: "n2", Boot: "b1", Leaving: true})
		time.Sleep(5 * time.Second)
		if got := news(); !slices.Equal(got, []string{"up n2", "down n2"}) {
			t.Errorf("told of %v", got)
		}
	})
}

// TestSeenTasksAreNotPlayedAgain: whatever comes twice is taken once, unless it
// was refused and so did not begin.
func TestSeenTasksAreNotPlayedAgain(t *testing.T) {
	t.Parallel()
	var g hostedTasks
	o := &link.ForwardedExecute{Origin: "n2"}
	o.TaskID = "t1"
	one, err := g.begin(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.begin(o); !errors.Is(err, errDuplicateTask) {
		t.Errorf("while it runs: %v", err)
	}
	g.end(one, false, nil)
	if _, err := g.begin(o); !errors.Is(err, errDuplicateTask) {
		t.Errorf("after it was played: %v", err)
	}
	o.TaskID = "t2"
	if one, err = g.begin(o); err != nil {
		t.Fatal(err)
	}
	g.end(one, true, nil)
	if one, err = g.begin(o); err != nil {
		t.Errorf("after it was refused: %v", err)
	}
	g.end(one, false, nil)
	for i := range maxSeenTasks {
		o.TaskID = string(rune(i)) + "x"
		if one, err := g.begin(o); err == nil {
			g.end(one, false, nil)
		}
	}
	if len(g.seen) > maxSeenTasks || len(g.ended) > maxSeenTasks {
		t.Errorf("%d are remembered", len(g.seen))
	}
}
