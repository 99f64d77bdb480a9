package actors_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// sharing puts each n workers into one browser.
func sharing(n int) func(*actors.Config) {
	return func(c *actors.Config) {
		for i := range c.Workers {
			c.Workers[i].Browser = fmt.Sprint("b", i/n)
		}
	}
}

func TestASharedBrowserServesOneAccountAtATime(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 2, Config: sharing(2)}, func(t *testing.T, k *testkit.Kit) {
		hold := k.Start(anna, testkit.Task(), lasting(10*time.Second))
		k.AwaitIdle()
		k.WantRefused(k.Start(bert, testkit.Task(), quick), engine.CodeNoWorkerAvailable)
		k.WantRefused(k.Start(bert, testkit.Task(testkit.On("w2")), quick), engine.CodeWorkerBusy)
		k.WantEnd(k.Start(anna, testkit.Task(), quick), engine.EndCompleted)
		k.WantEnd(hold, engine.EndCompleted)
		k.AwaitIdle()
		k.WantEnd(k.Start(bert, testkit.Task(), quick), engine.EndCompleted)
	})
}

// While another account waits for a browser, the account that has it gets no
// more of its workers: it would keep it for ever.
func TestASharedBrowserChangesHands(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 2, Config: sharing(2)}, func(t *testing.T, k *testkit.Kit) {
		k.Start(anna, testkit.Task(), lasting(2*time.Second))
		k.AwaitIdle()
		waits := k.Start(bert, testkit.Task(testkit.Waiting(time.Minute)), lasting(time.Second))
		k.AwaitIdle()
		for range 20 { // anna would never let go
			k.Start(anna, testkit.Task(testkit.Waiting(time.Minute)), lasting(2*time.Second))
			k.AwaitIdle()
		}
		began := time.Now()
		k.WantEnd(waits, engine.EndCompleted)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the other account waited %v", took)
		}
	})
}

// Each of two accounts that always wait has all workers of a browser, and none
// has all browsers.
func TestSharedBrowsersAreSharedOut(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 8, Config: sharing(2)}, func(t *testing.T, k *testkit.Kit) {
		began := time.Now()
		var mu sync.Mutex
		playing, most := map[string]int{}, map[string]int{}
		var sent []*testkit.Request
		send := func(account api.Account, after time.Duration) {
			sent = append(sent, k.Start(account, testkit.Task(testkit.Waiting(10*time.Minute)), testkit.Script{Do: func(context.Context, testkit.Call) *engine.Outcome {
				mu.Lock()
				playing[account.ID]++
				if time.Since(began) > after {
					most[account.ID] = max(most[account.ID], playing[account.ID])
				}
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				playing[account.ID]--
				mu.Unlock()
				return &engine.Outcome{End: engine.EndCompleted}
			}}))
		}
		for range 40 {
			send(anna, 5*time.Second)
		}
		k.AwaitIdle() // all browsers are anna's now
		for range 40 {
			send(bert, 5*time.Second)
		}
		for _, r := range sent {
			k.WantEnd(r, engine.EndCompleted)
		}
		if most[anna.ID] < 4 || most[bert.ID] < 4 {
			t.Errorf("at most %v tasks were played at once, want 4 of each account", most)
		}
		if took := time.Since(began); took > 13*time.Second {
			t.Errorf("80 tasks of a second took 8 workers %v", took)
		}
	})
}

func TestASessionKeepsItsSharedBrowser(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 2, Config: sharing(2)}, func(t *testing.T, k *testkit.Kit) {
		open := k.WantEnd(k.Start(anna, testkit.Task(testkit.Preserve()), quick), engine.EndCompleted)
		k.AwaitIdle()
		waits := k.Start(bert, testkit.Task(testkit.Waiting(time.Minute)), quick)
		k.AwaitIdle()
		k.WantEnd(k.Start(anna, testkit.Task(), quick), engine.EndCompleted) // the other worker is of use to nobody else
		k.WantEnd(k.Start(anna, testkit.Task(testkit.Close(open.SessionID)), quick), engine.EndCompleted)
		k.WantEnd(waits, engine.EndCompleted)
	})
}

// TestSharedBrowsersInAnyHistory lets accounts send tasks of any length at any
// time: no two of them are in one browser at once, and nobody waits for ever.
func TestSharedBrowsersInAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		each, browsers := rapid.IntRange(2, 4).Draw(rt, "workers of a browser"), rapid.IntRange(1, 3).Draw(rt, "browsers")
		type request struct {
			after, lasts time.Duration
			account      api.Account
		}
		all := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) request {
			return request{
				after:   time.Duration(rapid.IntRange(0, 40).Draw(rt, "after")) * 10 * time.Millisecond,
				lasts:   time.Duration(rapid.IntRange(0, 60).Draw(rt, "lasts")) * 10 * time.Millisecond,
				account: rapid.SampledFrom([]api.Account{anna, bert, testkit.Pro("carl")}).Draw(rt, "account"),
			}
		}), 1, 40).Draw(rt, "requests")
		testkit.Run(t, testkit.Options{Workers: each * browsers, Config: sharing(each)}, func(t *testing.T, k *testkit.Kit) {
			var mu sync.Mutex
			inside := map[string]map[string]int{} // by browser and account
			var sent []*testkit.Request
			for _, q := range all {
				time.Sleep(q.after)
				sent = append(sent, k.Start(q.account, testkit.Task(testkit.Waiting(time.Minute)), testkit.Script{Do: func(_ context.Context, c testkit.Call) *engine.Outcome {
					b := browserOf(c.Browser.Worker(), each)
					mu.Lock()
					if inside[b] == nil {
						inside[b] = map[string]int{}
					}
					inside[b][q.account.ID]++
					if len(inside[b]) > 1 {
						t.Errorf("browser %s plays for %v at once", b, inside[b])
					}
					mu.Unlock()
					time.Sleep(q.lasts)
					mu.Lock()
					if inside[b][q.account.ID]--; inside[b][q.account.ID] == 0 {
						delete(inside[b], q.account.ID)
					}
					mu.Unlock()
					return &engine.Outcome{End: engine.EndCompleted}
				}}))
			}
			for _, r := range sent {
				k.WantEnd(r, engine.EndCompleted)
			}
		})
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// browserOf is the browser of a worker as sharing has it.
func browserOf(worker string, each int) string {
	var n int
	fmt.Sscanf(worker, "w%d", &n)
	return fmt.Sprint("b", (n-1)/each)
}
