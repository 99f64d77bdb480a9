package actors

import (
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/schedule"
)

// root is the parent of all actors: its end is the end of everything. Workers
// that are added while the node runs are its children too.
type root struct {
	parts *nodeParts
	up    chan error
}

func (t *root) Receive(ctx actor.Context) {
	defer recoverIn(ctx, t.parts, t)
	switch m := ctx.Message().(type) {
	case *actor.Started:
		t.up <- errors.Join(t.spawn(ctx)...)
	case *startWorker:
		if err := t.startWorker(ctx, m.spec); err != nil {
			t.parts.log.Error().Err(err).Str("worker", m.spec.ID).Msg("worker not started")
		}
	case *stopWorker:
		t.stopWorker(ctx, m)
	}
}

func (t *root) spawn(ctx actor.Context) (errs []error) {
	n := t.parts
	child := func(name string, a func() actor.Actor) {
		_, err := ctx.SpawnNamed(n.props(a), name)
		errs = append(errs, err)
	}
	r := schedule.NewRoster(n.cfg.Workers, func(s api.WorkerSpec) *actor.PID { return n.workerPID(s.ID) }, time.Now())
	for id, s := range n.recovered { // before anybody asks for it
		r.Apply(schedule.WorkerStatus{Worker: id, State: api.Offline, Session: s.rec.ID, Holder: s.rec.Account}, time.Now())
	}
	child("pool", func() actor.Actor { return newPool(n, r) })
	child("admission", func() actor.Actor { return newAdmission(n) })
	child("keys", func() actor.Actor {
		return &keys{node: n, live: map[[2]string]*keyedRequest{}, tasks: map[string]*keyedRequest{}, repeats: map[string]int{}}
	})
	if n.sharesQueue() {
		child("queue", func() actor.Actor { return newQueueMember(n) })
	} else if n.queue != nil {
		child("queue", func() actor.Actor { return newQueue(n, n.book) })
	}
	child("tasks", func() actor.Actor { return &tasks{node: n, live: map[string]*liveTask{}} })
	for _, s := range n.cfg.Workers {
		errs = append(errs, t.startWorker(ctx, s))
	}
	return errs
}

// startWorker starts the actors of a worker.
func (t *root) startWorker(ctx actor.Context, s api.WorkerSpec) error {
	n := t.parts
	if _, there := n.system.ProcessRegistry.GetLocal(supervisorPath(s.ID)); there {
		return nil
	}
	worker, log := newWorker(s, n), n.log.With().Str("worker", s.ID).Logger()
	_, err := ctx.SpawnNamed(n.props(func() actor.Actor {
		return &supervisor{worker: worker, restarts: n.cfg.Browser.Restarts, node: n, log: log}
	}), "worker/"+s.ID)
	return err
}

// stopWorker ends the actors of a worker.
func (t *root) stopWorker(ctx actor.Context, m *stopWorker) {
	t.parts.screencasts.Remove(m.worker)
	ctx.Stop(t.parts.system.NewLocalPID(supervisorPath(m.worker)))
}

// supervisorPath is the path of a worker's supervisor.
func supervisorPath(worker string) string { return "node/worker/" + worker }

// workerPID addresses the worker itself, below its supervisor.
func (n *nodeParts) workerPID(worker string) *actor.PID {
	return n.system.NewLocalPID(supervisorPath(worker) + "/browser")
}
