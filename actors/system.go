package actors

import (
	"log/slog"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
	cmap "github.com/orcaman/concurrent-map"
	"github.com/rs/zerolog"
)

// The library has its processes in 1,024 maps, each of which would be made of 32 more.
// Those are 2.8 MB and 7 ms for every system; the maps are many enough without them.
func init() {
	cmap.SHARD_COUNT = 1
}

// newSystem makes an actor system that logs to the service's log. It logs
// warnings and errors only, and no dead letters: late messages are normal here.
func newSystem(log zerolog.Logger) *actor.ActorSystem {
	quiet := slog.New(zerolog.NewSlogHandler(log.Level(max(log.GetLevel(), zerolog.WarnLevel))))
	return actor.NewActorSystem(func(c *actor.Config) {
		c.LoggerFactory = func(*actor.ActorSystem) *slog.Logger { return quiet }
		c.DeadLetterRequestLogging = false
	})
}

// deathWatch is a process that gets a message when an actor has ended.
type deathWatch struct {
	gone chan struct{}
	done atomic.Bool
}

func (w *deathWatch) SendUserMessage(*actor.PID, any) {}

func (w *deathWatch) SendSystemMessage(_ *actor.PID, m any) {
	if _, ok := m.(*actor.Terminated); ok && w.done.CompareAndSwap(false, true) {
		close(w.gone)
	}
}

func (w *deathWatch) Stop(*actor.PID) {}

// whenEnded returns a channel that is closed when the actor has ended.
func whenEnded(system *actor.ActorSystem, pid *actor.PID) <-chan struct{} {
	w := &deathWatch{gone: make(chan struct{})}
	watcher, _ := system.ProcessRegistry.Add(w, "watch"+system.ProcessRegistry.NextID())
	if p, ok := system.ProcessRegistry.Get(pid); ok {
		p.SendSystemMessage(pid, &actor.Watch{Watcher: watcher})
	} else {
		close(w.gone)
	}
	return w.gone
}
