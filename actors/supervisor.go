package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"
)

// supervisor supervises one worker. It delays the start of browsers that keep
// failing, so that they do not use up the machine, and it restarts the worker
// after a panic.
//
// The death of a browser is no panic: the worker reports it and goes on
// answering. The library suspends the mailbox of a failed actor while its
// supervisor waits, and drops its messages when the supervisor gives up, so
// clients would get no answer. Therefore the delay is between browserDown and
// launch here, and giving up means a long delay.
type supervisor struct {
	worker   *actor.Props
	restarts Restarts
	node     *nodeParts
	log      zerolog.Logger

	child  *actor.PID
	streak int
	timer  *time.Timer
}

func (k *supervisor) Receive(ctx actor.Context) {
	defer recoverIn(ctx, k.node, k)
	switch m := ctx.Message().(type) {
	case *actor.Started:
		k.spawn(ctx)
	case *actor.Stopping:
		if k.timer != nil {
			k.timer.Stop()
		}
	case *browserDown:
		k.schedule(ctx, m.Early)
	}
}

func (k *supervisor) spawn(ctx actor.Context) {
	child, err := ctx.SpawnNamed(k.worker, "browser")
	if err != nil {
		k.log.Error().Err(err).Msg("the worker could not be spawned")
	}
	k.child = child
}

func (k *supervisor) schedule(ctx actor.Context, early bool) {
	if !early {
		k.streak = 0
	}
	k.streak++
	wait, gaveUp := k.restarts.delay(k.streak)
	if gaveUp {
		k.log.Error().Int("failures", k.streak).Dur("wait", wait).Msg("worker given up: its browser keeps failing")
	}
	if k.timer != nil {
		k.timer.Stop()
	}
	root, child := ctx.ActorSystem().Root, k.child
	k.timer = time.AfterFunc(wait, func() { root.Send(child, &launch{}) })
}

// HandleFailure restarts a worker that panicked, at once: its mailbox must not
// stay shut. Its browser is what has to wait.
func (k *supervisor) HandleFailure(_ *actor.ActorSystem, up actor.Supervisor, child *actor.PID,
	_ *actor.RestartStatistics, reason, message any) {
	k.log.Error().Interface("panic", reason).Type("message", message).Msg("worker restarted after a panic")
	up.RestartChildren(child)
}

// Restarts says how long to wait before a browser that failed is started
// again. The wait doubles with each failure in a row up to Max; after Limit
// failures in a row the worker is given up for Slow at a time.
type Restarts struct {
	First time.Duration // 50 ms
	Max   time.Duration // 10 s
	Limit int           // 8
	Slow  time.Duration // 1 min
	// Stable is how long a browser must have lived for its end to be the first
	// failure again. One that has played a task counts as stable at once:
	// otherwise pages that end their browser would slow down the next task.
	Stable time.Duration // 10 s
}

func (r Restarts) withDefaults() Restarts {
	def(&r.First, 50*time.Millisecond)
	def(&r.Max, 10*time.Second)
	def(&r.Limit, 8)
	def(&r.Slow, time.Minute)
	def(&r.Stable, 10*time.Second)
	return r
}

// delay returns the wait after the n-th failure in a row, counted from 1, and
// whether the worker is given up for now.
func (r Restarts) delay(n int) (wait time.Duration, gaveUp bool) {
	if n > r.Limit {
		return r.Slow, true
	}
	d := r.First
	for i := 1; i < n && d < r.Max; i++ {
		d *= 2
	}
	return min(d, r.Max), false
}
