package actors

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/schedule"
	"troupe/engine"
)

// TestWatchdogHealsTheQueue puts pool into a state that it must never be in: a
// free worker and a request that waits for it.
func TestWatchdogHealsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		cfg, err := Config{Engine: noEngine{}, Workers: SharedWorkers("", 1)}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		n := &nodeParts{cfg: cfg, log: zerolog.New(&log), system: newSystem(zerolog.Nop())}
		n.status.Store(&api.Status{})
		claims := make(chan *claim, 1)
		worker := n.system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			if c, ok := ctx.Message().(*claim); ok {
				claims <- c
			}
		}))
		p := newPool(n, schedule.NewRoster(cfg.Workers, func(api.WorkerSpec) *actor.PID { return worker }, time.Now()))
		n.pool = n.system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			if spoil, ok := ctx.Message().(func()); ok {
				spoil()
				return
			}
			p.Receive(ctx)
		}))
		defer func() {
			n.system.Root.Stop(n.pool)
			n.system.Root.Stop(worker)
			time.Sleep(2 * time.Second)
		}()
		root, began := n.system.Root, time.Now()
		root.Send(n.pool, &schedule.Request{Execute: &api.Execute{TaskID: "t1", Task: &engine.Task{
			Steps: make([]engine.Step, 1), QueueTimeout: time.Minute}}, Client: worker})
		root.Send(n.pool, func() { // the worker is free, and pool forgets to look for one who waits
			p.scheduler.Apply(schedule.WorkerStatus{Worker: cfg.Workers[0].ID, State: api.Online, Ready: true, Claimable: true}, time.Now())
		})
		if c := <-claims; c.Claim.Task != "t1" {
			t.Errorf("served %q", c.Claim.Task)
		}
		if took := time.Since(began); took != 2*cfg.Queue.Watchdog {
			t.Errorf("healed after %v", took)
		}
		if !strings.Contains(log.String(), "idle") {
			t.Errorf("log: %s", log.String())
		}
	})
}

type noEngine struct{ engine.Engine }
