package actors

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/batch"
	"troupe/actors/cron"
	"troupe/actors/lease"
	"troupe/actors/notice"
	"troupe/actors/records"
	"troupe/actors/runs"
	"troupe/actors/view"
	"troupe/engine"
	"troupe/engine/lately"
	"troupe/persistence"
)

// nodeParts is what the actors of a node share.
type nodeParts struct {
	cfg    Config
	log    zerolog.Logger
	system *actor.ActorSystem
	root   *actor.PID
	pool   *actor.PID
	// admission takes requests from the edge, for pool.
	admission *actor.PID
	// keys takes requests that carry a key, for admission.
	keys *actor.PID
	// tasks is where asynchronous tasks are.
	tasks *actor.PID
	// queue is where tasks wait on the disk; nil: there is no queue. Of several nodes one
	// orders it: see [queueMember].
	queue   *actor.PID
	holder  atomic.Pointer[records.Holder] // of several nodes: which one that is
	orderer atomic.Pointer[actor.PID]      // where it is ordered; nil: at another node
	boot    string                         // of this process
	// unkeepQueue ends what keepQueue began.
	unkeepQueue  func()
	orders       backlog.Clock
	book         *backlog.Book   // what waited when the node began
	queued       atomic.Int64    // tasks that wait in the queue
	queueOldest  atomic.Int64    // see [queue.oldest]
	sending      sync.Map        // failed tasks of the queue that are being sent again
	queueHeld    atomic.Bool     // no task of the queue begins
	lingering    atomic.Int64    // tasks of the queue that have ended and have an actor
	batches      *batch.Batches  // nil where there is no queue, and where several nodes share it
	schedules    *cron.Schedules // nil where there is no queue
	notices      *notice.Notices // nil where nothing sends them
	noticeLead   atomic.Pointer[noticeLead]
	batchLead    atomic.Pointer[batch.Batches] // of several nodes: the one that orders the queue has it
	noticeCounts notice.Counts
	stopTelling  context.CancelFunc
	records      *records.Store
	// usage is where tasks are counted; nil: they are not.
	usage        *persistence.Usage
	statusCache  view.StatusCache
	feed         view.Feed
	screencasts  view.Screencasts
	leases       *lease.Leases     // nil: there are no other nodes
	sessions     sessionSet        // the sessions of its workers
	fileCleanups callbacks[func()] // the files of its asynchronous tasks
	beginChecks  callbacks[func(context.Context) error]
	clients      callbacks[engine.Client]     // that attach to its sessions
	recovered    map[string]*recoveredSession // by worker: what goes on from an earlier process

	launches    *launchLimiter
	launchTimes lately.Mean // of browsers, where it went well
	resetTimes  lately.Mean // the same
	background  taskGroup   // what runs outside of the mailboxes
	grouped     groupedWrites
	status      atomic.Pointer[api.Status]
	limits      atomic.Pointer[map[engine.Plan]engine.Limits]
}

// props are those of an actor whose mailbox runs on the node's goroutine pool.
func (n *nodeParts) props(a func() actor.Actor) *actor.Props {
	p := actor.PropsFromProducer(a, actor.WithDispatcher(&n.background.goroutines))
	if n.cfg.decorate != nil {
		p.Configure(actor.WithContextDecorator(n.cfg.decorate))
	}
	return p
}

func (n *nodeParts) changed(info api.WorkerInfo) {
	if n.cfg.OnChange != nil {
		n.cfg.OnChange(info)
	}
}

// Node is a running set of actors. Its methods may be called from any
// goroutine.
type Node struct {
	parts *nodeParts
	ended chan struct{} // closed when the actors are gone
	stop  func()
}

// Start starts the actors. Browsers come up in the background: see
// [Node.Ready].
func Start(cfg Config) (*Node, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	system := newSystem(cfg.Log)
	parts := &nodeParts{
		cfg: cfg, log: cfg.Log, system: system,
		root:      system.NewLocalPID("node"),
		pool:      system.NewLocalPID("node/pool"),
		admission: system.NewLocalPID("node/admission"),
		keys:      system.NewLocalPID("node/keys"),
		tasks:     system.NewLocalPID("node/tasks"),
		launches:  newLaunchLimiter(cfg.Browser.Launches),
		boot:      random(8),
	}
	parts.grouped.node = parts
	if cfg.Node == "" || parts.sharesQueue() {
		parts.queue = system.NewLocalPID("node/queue")
	}
	if parts.usage = cfg.Usage; parts.usage == nil && cfg.Store != nil {
		parts.usage = persistence.NewUsage(cfg.Store)
	}
	if parts.records, err = records.Open(cfg.records()); err != nil {
		return nil, fmt.Errorf("start the actors: %w", err)
	}
	written := func() {}
	if s, ok := cfg.Store.(interface{ Hold() (end func()) }); ok {
		written = s.Hold() // what a full disk does not take now is written when there is room
	}
	defer written()
	parts.openLeases()
	if err := parts.recover(); err != nil {
		parts.leases.Close()
		return nil, fmt.Errorf("start the actors: %w", err)
	}
	parts.limits.Store(&cfg.Limits)
	parts.records.Runs.BoundBy(func(plan engine.Plan) persistence.Allowance {
		l := (*parts.limits.Load())[plan]
		return persistence.Allowance{Bytes: l.StorageBytes, Files: l.StorageFiles}
	})
	workers := len(parts.cfg.Workers) // with those that were added
	n := &Node{parts: parts, ended: make(chan struct{})}
	if err := n.openBatches(); err != nil {
		parts.leases.Close()
		return nil, fmt.Errorf("start the actors: %w", err)
	}
	if err := n.openSchedules(); err != nil {
		parts.leases.Close()
		return nil, fmt.Errorf("start the actors: %w", err)
	}
	written()
	parts.openNotices()
	parts.status.Store(&api.Status{Workers: workers, Offline: workers})
	t := &root{parts: parts, up: make(chan error, 1)}
	n.stop = sync.OnceFunc(n.drainAndEnd)
	if _, err = system.Root.SpawnNamed(parts.props(func() actor.Actor { return t }), "node"); err != nil {
		return nil, fmt.Errorf("start the actors: %w", err)
	}
	if err := <-t.up; err != nil {
		n.end(context.Background()) // nothing runs yet, and who would end it may not be there
		return nil, fmt.Errorf("start the actors: %w", err)
	}
	if parts.sharesQueue() {
		n.keepQueue()
	}
	parts.batches.Start()
	parts.schedules.Start()
	if err := parts.startNotices(); err != nil {
		n.Stop()
		return nil, fmt.Errorf("start the actors: %w", err)
	}
	return n, nil
}

// Execute runs a task and returns its answer. When ctx ends first, the task is
// cancelled wherever it is, and the answer, which comes soon, says so. A task
// with a key is not cancelled: its answer is kept for repeated requests. An error
// means that ctx had ended before and nothing of the task has begun.
func (n *Node) Execute(ctx context.Context, m *api.Execute) (*api.Executed, error) {
	m = withID(m)
	defer n.counted(m)
	lost := func(no *api.Refusal) *api.Executed { return m.Refused(0, no) }
	if m.Idempotency.Key != "" {
		return request(context.WithoutCancel(ctx), n, n.parts.keys, m, &keyed{Execute: m}, lost)
	}
	return request(ctx, n, n.parts.admission, m, m, lost)
}

// Attach lets a client play a task in the place of its list, in a session of this node. It returns
// when the client has left.
func (n *Node) Attach(ctx context.Context, m *api.Execute, c engine.Client) (*api.Executed, error) {
	attaching := *m
	attaching.Attach = n.parts.clients.add(c)
	defer n.parts.clients.take(attaching.Attach)
	return n.Execute(ctx, &attaching)
}

// ExecuteIf is Execute for a task that needs a permission: begin is asked before
// the task begins. If begin returns an error, nothing runs.
func (n *Node) ExecuteIf(ctx context.Context, m *api.Execute, begin func(ctx context.Context) error) (*api.Executed, error) {
	asking := *m
	asking.BeginCheck = n.parts.beginChecks.add(begin)
	defer n.parts.beginChecks.take(asking.BeginCheck)
	return n.Execute(ctx, &asking)
}

// counted waits until the store has what a request has counted, so that the count
// survives the process. It does not wait where that would take a majority of
// nodes.
func (n *Node) counted(m *api.Execute) {
	if n.parts.usage == nil || n.parts.usage.Shared() || !m.Task.Counts() {
		return
	}
	if err := n.parts.usage.Written(context.Background(), m.Account.ID); err != nil {
		n.parts.log.Error().Err(err).Str("task", m.TaskID).Msg("daily count not changed")
	}
}

// Runs is the history of runs; nil: none is kept.
func (n *Node) Runs() *runs.History { return n.parts.records.Runs }

// Status returns the node in numbers without asking any actor.
func (n *Node) Status() api.Status {
	s := *n.parts.status.Load()
	s.Queued = int(n.parts.queued.Load())
	return s
}

// HoldQueue lets no task of the queue begin, until it is called again.
func (n *Node) HoldQueue(on bool) {
	if n.parts.queue != nil {
		n.parts.queueHeld.Store(on)
		n.parts.system.Root.Send(n.parts.queue, &queueHold{})
		n.parts.system.Root.Send(n.parts.pool, &queueHold{})
	}
}

// SetLimits changes what each plan allows, for requests that come from now on.
func (n *Node) SetLimits(l map[engine.Plan]engine.Limits) {
	l = maps.Clone(l)
	n.parts.limits.Store(&l)
}

// Ready reports whether a request has a chance now.
func (n *Node) Ready() bool { return n.Status().Ready() }

// Drain takes no more tasks, lets running ones end until grace is over and
// interrupts the rest. It returns when no task runs any more. Calling it again
// does no harm; with less grace it shortens what is left.
func (n *Node) Drain(ctx context.Context, grace time.Duration) (*api.Drained, error) {
	d, err := askNode[api.Drained](ctx, n, n.parts.pool, &api.Drain{Grace: grace})
	if err == nil {
		err = n.flush(ctx, "")
	}
	if err != nil {
		return nil, err
	}
	if n.parts.usage != nil { // nothing more is admitted: others may use what is left of the day
		within, cancel := context.WithTimeout(ctx, giveBackWithin)
		defer cancel()
		n.parts.usage.GiveAllBack(within)
	}
	return d, nil
}

// giveBackWithin bounds how long a stop waits to give the unused parts of its
// accounts' days back to the store.
const giveBackWithin = 3 * time.Second

// Held is what the node holds of each account's day and has not used.
func (n *Node) Held() map[string]int64 {
	if n.parts.usage == nil {
		return nil
	}
	return n.parts.usage.Held(time.Now())
}

// flush waits until the ends of tasks are on disk, of an account or of all.
func (n *Node) flush(ctx context.Context, account string) error {
	for _, pid := range []*actor.PID{n.parts.keys, n.parts.tasks, n.parts.queue} {
		if pid == nil {
			continue
		}
		if _, err := askNode[flushed](ctx, n, pid, &flush{Account: account}); err != nil {
			return err
		}
	}
	return n.parts.records.Runs.Flush(ctx) // sums follow by themselves, or with the end of the node
}

func askNode[T any](ctx context.Context, n *Node, to *actor.PID, m any) (*T, error) {
	q := put(n.parts.system, to, m)
	defer q.forget()
	x, err := await[T](ctx, q, n.ended)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", to.Id, err)
	}
	return x, nil
}

// Stop ends the node with everything it has started. Tasks that still run are
// interrupted. Calling it again waits for the end and does no more.
func (n *Node) Stop() { n.stop() }

// stopTimeout bounds each part of a stop: a browser that cannot be closed must
// not keep the service from ending.
const stopTimeout = 10 * time.Second

func (n *Node) drainAndEnd() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	n.parts.schedules.Stop()
	n.parts.feeder().Stop()
	if _, err := n.Drain(ctx, 0); err != nil {
		n.parts.log.Error().Err(err).Msg("tasks still ran when the actors were stopped")
	}
	n.end(ctx)
}

func (n *Node) end(ctx context.Context) {
	gone := whenEnded(n.parts.system, n.parts.root)
	n.parts.system.Root.Stop(n.parts.root)
	wait(gone, stopTimeout, func() { n.parts.log.Error().Msg("an actor did not stop") })
	close(n.ended)
	n.parts.stopNotices() // what ended last is on the disk
	n.parts.nothingAhead(ctx)
	if n.parts.unkeepQueue != nil {
		n.parts.unkeepQueue()
	}
	done := make(chan struct{})
	go func() { n.parts.background.Wait(); close(done) }()
	wait(done, stopTimeout, func() { n.parts.log.Error().Msg("a browser did not stop") })
	for _, free := range n.parts.fileCleanups.takeAll() { // of tasks that had no time to end
		n.parts.runCleanup(free)
	}
	if n.parts.usage != nil {
		_ = n.parts.usage.Flush(ctx)
	}
	if err := n.parts.records.Runs.Close(ctx); err != nil { // those of tasks that the stop has ended
		n.parts.log.Error().Err(err).Msg("runs not kept")
	}
	n.parts.leases.Close() // and with it the order of the queue
	n.parts.records.Close()
	n.parts.system.Shutdown()
	n.parts.background.goroutines.close()
}

func wait(c <-chan struct{}, most time.Duration, late func()) {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-c:
	case <-t.C:
		late()
	}
}

// reply answers a message if somebody waits for the answer.
func reply(ctx actor.Context, m any) {
	if ctx.Sender() != nil {
		ctx.Respond(m)
	}
}

// OpenScreencast shows a browser of this process. The caller closes the viewer.
func (n *Node) OpenScreencast(m *view.ScreencastRequest) (*view.Viewer, *api.Refusal) {
	return n.parts.screencasts.Open(m)
}

// Subscribe follows an account's tasks and workers, beginning with so many recent
// tasks. All follows those of all accounts, without the results of other
// accounts' tasks. The caller closes the reader.
func (n *Node) Subscribe(account string, all bool, tasks int) view.Subscription {
	return n.parts.feed.Subscribe(account, all, tasks)
}

// Recent returns the last tasks that an account may see, the newest first.
func (n *Node) Recent(account string, all bool, most int) []view.TaskProgress {
	return n.parts.feed.Recent(account, all, most)
}

// RecentTask returns one of them.
func (n *Node) RecentTask(account string, all bool, id string) (view.TaskProgress, bool) {
	return n.parts.feed.RecentTask(account, all, id)
}
