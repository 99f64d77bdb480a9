package actors

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/actors/runs"
	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/clock"
)

// Config is what a node is started with. Zero values mean the defaults that
// the comments name.
type Config struct {
	// Engine starts the browsers. Required.
	Engine engine.Engine
	// Store keeps the daily counts, sessions, asynchronous tasks and answers
	// to keys. Without one nothing is counted and nothing outlives the node.
	Store persistence.Store
	// Usage counts the tasks; nil: one on the Store. Where several nodes keep the
	// Store it is one with shares: see [persistence.NewSharedUsage].
	Usage *persistence.Usage
	// Files keeps what is too large for the Store. Without one such values do
	// not outlive the node.
	Files persistence.Files
	// Seal encrypts the state of sessions before it is stored. Without one sessions
	// do not outlive the node.
	Seal *persistence.Seal
	// QueuedUploads is the folder for files of tasks that wait in the queue. Nothing
	// else is in it. Without one such tasks are refused.
	QueuedUploads string
	// SaveFile keeps what tasks make: pictures and downloads.
	SaveFile engine.SaveFile
	// Secrets gives the secrets of an account to its tasks; nil: there are none.
	Secrets engine.SecretsOf
	// Profiles keeps what tasks leave of sites; nil: tasks with a profile are refused.
	Profiles *persistence.Profiles
	// Account finds an account as it is now, for runs of schedules;
	// [persistence.ErrNotFound]: it is gone. Nil: it is as when the schedule was written.
	Account func(ctx context.Context, id string) (api.Account, error)
	// Node names this process among others; the identifiers of its workers
	// come from it, so that they are the same after a restart.
	Node string
	// Peers reaches the other nodes that share the Store, for the queue. Without it, or
	// without a lease, several nodes have no queue.
	Peers Peers
	// LeadsStore reports whether this node leads the Store: what it writes goes to no other
	// node first. Such a node is to order the queue. Nil: no node leads it.
	LeadsStore func() bool
	// WorkerNode is a node that may come and go at any time: it orders no queue, and what it
	// knows of other nodes' leases it asks for.
	WorkerNode bool
	// Workers are the node's workers. See SharedWorkers for the usual ones.
	Workers []api.WorkerSpec
	// Limits is what each plan allows; nil: engine.DefaultLimits.
	Limits map[engine.Plan]engine.Limits

	// Isolation is what the engine leaves of a task for the next one; empty:
	// engine.IsolateTask. Tasks that want less are refused.
	Isolation engine.Isolation

	// History says how much of the history of runs is kept; nil: nothing.
	History *runs.Bounds

	// Clock is the wall clock; nil: the machine's. It may be shared with whoever else waits
	// for stored times.
	Clock *clock.Clock

	Queue   QueueConfig
	Notices NoticesConfig
	Browser BrowserConfig
	Session SessionConfig

	// OnChange, when set, is called for every change of a worker's state, in order.
	// It is called by an actor and must not block.
	OnChange func(api.WorkerInfo)

	Log zerolog.Logger

	decorate actor.ContextDecorator // what tests put around the contexts of actors
}

// Peers are the other nodes.
type Peers interface {
	// Ask has a verb carried out by a node: see [Node.Do].
	Ask(ctx context.Context, node string, m any) (any, error)
	// AskQueue has a verb carried out where the queue is ordered.
	AskQueue(ctx context.Context, m any) (any, error)
	// Keepers are the nodes that keep the shared store, in order; nil while not all of
	// them are known.
	Keepers() []string
	// Up reports whether a node seems to be there.
	Up(node string) bool
	// StartQueued has a task queued that has its identifier, wherever the queue is
	// ordered. CancelQueued cancels one, wherever it is.
	StartQueued(ctx context.Context, m *api.Execute) (*api.Started, error)
	CancelQueued(ctx context.Context, m *api.Cancel) error
	// Place finds the node that has the worker or the session which a task names.
	Place(ctx context.Context, m *api.Execute) (node string, no *api.Refusal, err error)
}

// NoticesConfig is how receivers are told of the ends of tasks and batches. Zero values
// mean the defaults that [notice.Config] names.
type NoticesConfig struct {
	// Client sends notices; nil: tasks with receivers are refused.
	Client *http.Client
	// Result makes the answer of get-result about a task that has ended.
	Result func(*api.Polled) ([]byte, error)
	// Address is the service's own for clients.
	Address string
	Delays  []time.Duration
	Timeout time.Duration
	OffAt   time.Duration
}

// QueueConfig bounds waiting.
type QueueConfig struct {
	PerAccount int           // waiters that one account may have; 100
	Watchdog   time.Duration // how often the queue is checked for requests that wait for a free worker; 3 s
}

// BrowserConfig is how browsers are started, watched and replaced.
type BrowserConfig struct {
	Launches      int           // launches at the same time; twice the cores
	LaunchTimeout time.Duration // 20 s
	ResetTimeout  time.Duration // 2 s; a browser that takes longer is replaced
	// AnswerMargin is how long after its deadline a task may go on before its
	// client is answered without it; 250 ms.
	AnswerMargin time.Duration
	// StopMargin is how long after its deadline a task may go on before its
	// browser is closed under it; 5 s.
	StopMargin time.Duration
	Restarts   Restarts
	// RenewTasks, RenewAge and RenewMemory replace a browser that nothing uses
	// after so many tasks, so long a time, or when it takes so many bytes; zero:
	// never.
	RenewTasks  int
	RenewAge    time.Duration
	RenewMemory int64
	// CheckEvery is how often each browser is asked whether it answers; 5 s.
	// Negative: never.
	CheckEvery time.Duration
	// CheckTimeout is how long it may take to answer before it counts as dead;
	// 10 s.
	CheckTimeout time.Duration
	// MemoryEvery is how often the memory of each browser is looked at, which
	// takes a hundredth of a second of a processor; a minute.
	MemoryEvery time.Duration
}

// SessionConfig bounds sessions.
type SessionConfig struct {
	MaxAge      time.Duration // a session on a shared worker ends after it; 8 h
	SharePerMil int           // thousandths of the shared pool that one account may reserve; 500
	SaveTimeout time.Duration // for reading a browser's state after a request; 2 s
	ProfileSave time.Duration // how often the profile of a session is saved while it changes; 5 min
	// Lease is how long a silent node keeps its sessions; then another node of the
	// same Store may continue them. Zero: no lease.
	Lease time.Duration
}

var workerID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,20}$`)

// withDefaults returns the config with its zero values filled in, or what is
// wrong with it.
func (c Config) withDefaults() (Config, error) {
	if c.Engine == nil {
		return c, errors.New("start the actors: no engine was given")
	}
	if c.Limits == nil {
		c.Limits = engine.DefaultLimits()
	}
	if c.Clock == nil {
		c.Clock = new(clock.Clock)
	}
	def(&c.Queue.PerAccount, 100)
	def(&c.Queue.Watchdog, 3*time.Second)
	def(&c.Browser.Launches, 2*runtime.NumCPU())
	def(&c.Browser.LaunchTimeout, 20*time.Second)
	def(&c.Browser.ResetTimeout, 2*time.Second)
	def(&c.Browser.AnswerMargin, 250*time.Millisecond)
	def(&c.Browser.StopMargin, 5*time.Second)
	def(&c.Browser.CheckEvery, 5*time.Second)
	def(&c.Browser.CheckTimeout, 10*time.Second)
	def(&c.Browser.MemoryEvery, time.Minute)
	c.Browser.Restarts = c.Browser.Restarts.withDefaults()
	def(&c.Session.MaxAge, 8*time.Hour)
	def(&c.Session.SharePerMil, 500)
	def(&c.Session.SaveTimeout, 2*time.Second)
	def(&c.Session.ProfileSave, 5*time.Minute)
	if c.Session.Lease > 0 && (c.Store == nil || c.Node == "") {
		return c, errors.New("start the actors: a lease needs a node's name and a store that others share")
	}
	if err := checkWorkers(c.Workers); err != nil {
		return c, fmt.Errorf("start the actors: %w", err)
	}
	return c, nil
}

func checkWorkers(all []api.WorkerSpec) error {
	ids, names := map[string]bool{}, map[string]bool{}
	for _, w := range all {
		switch {
		case !workerID.MatchString(w.ID):
			return fmt.Errorf("worker id %q is not 1 to 20 letters, digits, '_' or '-'", w.ID)
		case ids[w.ID]:
			return fmt.Errorf("two workers have the id %q", w.ID)
		case w.Name == "" || names[w.Name]:
			return fmt.Errorf("worker %s needs a name that no other has, not %q", w.ID, w.Name)
		}
		ids[w.ID], names[w.Name] = true, true
	}
	return nil
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func (c Config) records() records.Config {
	return records.Config{Store: c.Store, Files: c.Files, Seal: c.Seal, Node: c.Node, Log: c.Log, Uploads: c.QueuedUploads, History: c.History, Secrets: c.Secrets}
}
