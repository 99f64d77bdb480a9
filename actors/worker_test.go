package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/actors/records"
	"troupe/actors/schedule"
	"troupe/engine"
)

// TestPoolHearsBeforeTheClient checks the order in which a worker tells of the
// end of a task. A client that sends its next task when it has the answer must
// find the worker free; the cleaning must not hold the answer up.
func TestPoolHearsBeforeTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &orderEngine{}
		cfg, err := Config{Engine: e, Workers: SharedWorkers("", 1)}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		n := &nodeParts{cfg: cfg, log: zerolog.Nop(), system: newSystem(zerolog.Nop()), launches: newLaunchLimiter(1), records: &records.Store{}}
		// Pool and the client are the same actor, so the order is known.
		n.pool = n.system.NewLocalPID("pool")
		_, err = n.system.Root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) {
			switch m := ctx.Message().(type) {
			case *schedule.WorkerStatus:
				e.said = append(e.said, "note "+string(m.State))
				if m.State == api.Online && m.Seq == 0 && m.Ready {
					ctx.Send(ctx.Children()[0], &claim{Seq: 1, Client: ctx.Self(), Timeout: time.Second, Claim: fsm.Claim{Task: "t1"},
						Execute: &api.Execute{TaskID: "t1", Task: &engine.Task{Steps: make([]engine.Step, 1)}}})
				}
			case *api.Executed:
				e.said = append(e.said, "answer")
			case *actor.Started:
				ctx.Spawn(newWorker(cfg.Workers[0], n))
			}
		}), "pool")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		want := []string{"note offline", "note online", "note busy", "note online", "answer", "note online"}
		if len(e.said) != len(want) {
			t.Fatalf("said %q, want %q", e.said, want)
		}
		for i := range want {
			if e.said[i] != want[i] {
				t.Fatalf("said %q, want %q", e.said, want)
			}
		}
		n.system.Root.Stop(n.pool)
		n.background.Wait()
		n.background.goroutines.close()
		time.Sleep(2 * time.Second)
	})
}

// orderEngine is an engine whose browsers take a second for everything.
type orderEngine struct {
	said []string
}

type orderBrowser struct {
	engine.Instance
	gone chan struct{}
}

func (*orderEngine) Launch(context.Context, string) (engine.Instance, error) {
	return &orderBrowser{gone: make(chan struct{})}, nil
}

func (*orderBrowser) Play(context.Context, *engine.Task, engine.TaskEnv) *engine.Outcome {
	return &engine.Outcome{End: engine.EndCompleted}
}

func (*orderBrowser) Reset(context.Context) error {
	time.Sleep(time.Second)
	return nil
}

func (*orderBrowser) Check(context.Context) error { return nil }
func (*orderBrowser) Memory() int64               { return 0 }
func (*orderBrowser) Warm()                       {}

func (b *orderBrowser) Gone() <-chan struct{} { return b.gone }
func (b *orderBrowser) Close()                { close(b.gone) }
