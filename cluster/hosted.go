package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
	"troupe/engine"
)

// maxSeenTasks bounds how many identifiers of tasks are remembered.
const maxSeenTasks = 100_000

// errDuplicateTask: the node has had the task already.
var errDuplicateTask = errors.New("the node already had this task and does not run it again")

// errStillRunning: the node got the task in an earlier request. That one will not start it,
// but has not ended yet.
var errStillRunning = errors.New("the node still runs the task from an earlier request")

// hostedTasks are the tasks that this node runs for others. None runs twice:
// a second request for one that was accepted is refused.
type hostedTasks struct {
	local   Local
	edge    Edge
	remote  *remote
	uploads string // folder for the tasks' files
	boot    string // of this process
	node    string // this one's name
	served  *servedViews
	// keyed plays a task at the node that its key belongs to, which is this one.
	keyed keyOwner

	mu      sync.Mutex
	running map[string]*hostedTask
	unsent  map[string]*hostedTask // those that are over, and whose answer is not on its way
	seen    map[string]bool
	ended   []endedTask // of those, the ones that are over, the oldest first
	closed  bool
	// clientsLeave: no client is let into a session any more.
	clientsLeave bool
	wg           sync.WaitGroup

	answers     []keptAnswer // the oldest first
	answerBytes int
	withdrawn   map[string]uint64 // by origin and task: what has this number of tries, or a lower one, is not taken
	withdrawals []string          // the oldest first
}

type endedTask struct {
	id string
	at time.Time
}

type hostedTask struct {
	release             func() // nothing depends on its origin any more
	id, origin, account string
	ctx                 context.Context
	cancel              context.CancelCauseFunc
	outlivesOrigin      bool // it goes on without its origin
	startID, try        uint64
	withdrawn           atomic.Bool // it was not let begin
	client              bool        // it is an attached client
}

func (g *hostedTasks) begin(o *link.ForwardedExecute) (one *hostedTask, err error) {
	release := func() {}
	if g.remote != nil {
		release = g.remote.peers.attendTo(o.Origin) // before the lock, which is taken within that of presence
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running == nil {
		g.running, g.unsent, g.seen = map[string]*hostedTask{}, map[string]*hostedTask{}, map[string]bool{}
	}
	switch {
	case g.closed:
		return nil, link.ErrUndelivered
	case g.seen[o.TaskID]:
		if before := g.running[o.TaskID]; before != nil && before.startID != 0 && before.startID < o.StartID {
			return nil, errStillRunning
		}
		return nil, errDuplicateTask
	case o.To != "" && o.To != g.boot, o.Try != 0 && o.Try <= g.withdrawn[o.Origin+"/"+o.TaskID]:
		return nil, errWithdrawn
	}
	g.seen[o.TaskID] = true
	one = &hostedTask{release: release, id: o.TaskID, origin: o.Origin, account: o.Account.ID, outlivesOrigin: o.Idempotency.Key != "", startID: o.StartID, try: o.Try}
	one.ctx, one.cancel = context.WithCancelCause(context.Background())
	g.running[one.id] = one
	g.wg.Add(1)
	return one, nil
}

// end removes a hosted task. A task that was refused may come again, as another try.
func (g *hostedTasks) end(one *hostedTask, refused bool, answer any) {
	one.cancel(nil)
	one.release()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.running, one.id)
	g.unsent[one.id] = one
	g.keep(one, answer)
	if refused {
		delete(g.seen, one.id)
		if one.try != 0 {
			g.withdraw(one.origin, one.id, one.try)
		}
		return
	}
	// Only what was played counts here: refusals, however many, push none of it out.
	g.ended = append(g.ended, endedTask{one.id, time.Now()})
	for len(g.ended) > maxSeenTasks {
		delete(g.seen, g.ended[0].id)
		g.ended = g.ended[1:]
	}
}

// answered notes that the answer to a task is on its way.
func (g *hostedTasks) answered(one *hostedTask) {
	g.mu.Lock()
	if g.unsent[one.id] == one {
		delete(g.unsent, one.id)
	}
	g.mu.Unlock()
	g.wg.Done()
}

// cancel cancels a task of an account that the actors do not have yet.
func (g *hostedTasks) cancel(m *api.Cancel) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.running[m.TaskID]
	if one == nil || one.account != m.Account.ID {
		return false
	}
	one.cancel(m.Cause.Err())
	return true
}

// endFrom ends the tasks of a node that is down: its clients are gone with it.
func (g *hostedTasks) endFrom(origin string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.running {
		if one.origin == origin && !one.outlivesOrigin {
			one.cancel(engine.ErrClientGone)
		}
	}
}

const (
	// lastTasksWithin is for how long before its end a node that leaves names the tasks: a
	// sender that waits for longer knows from a receipt. maxLastTasks is how many at most.
	lastTasksWithin = 10 * time.Second
	maxLastTasks    = 5000
)

// last is what the node has begun for others in its last seconds; nil: that is too much to tell.
func (g *hostedTasks) last() *link.LastTasks {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := &link.LastTasks{Within: lastTasksWithin}
	for _, one := range slices.Backward(g.ended) {
		if time.Since(one.at) > lastTasksWithin {
			break
		}
		l.Begun = append(l.Begun, one.id)
	}
	if len(l.Begun) > maxLastTasks || len(g.running) > 0 {
		return nil
	}
	return l
}

// close ends all, and waits until they are answered.
func (g *hostedTasks) close() {
	g.mu.Lock()
	g.closed = true
	for _, one := range g.running {
		one.cancel(engine.ErrDraining)
	}
	g.mu.Unlock()
	g.wg.Wait()
}

// host plays a task for another node.
func (g *hostedTasks) host(one *hostedTask, o *link.ForwardedExecute) (answer any) {
	refused := true
	defer func() { g.end(one, refused, answer) }()
	m, folder, err := g.unpack(one.ctx, o)
	remove := func() { _ = os.RemoveAll(folder) }
	if err != nil {
		remove()
		return &link.Fault{Text: err.Error(), Unstarted: true}
	}
	if g.edge.Drains() && sessionOf(m.Task) == "" && m.Task.Queue == nil { // its sessions go on until it stops, and the queue that it orders
		remove()
		return draining(m)
	}
	if o.Carried != nil {
		x, err := g.attach(one, m, o.Carried)
		if err != nil {
			return &link.Fault{Text: err.Error(), Unstarted: true}
		}
		refused = x.Refusal != nil
		return x
	}
	// A key belongs to the node that its origin has found for it, which finds a worker
	// for the task. What comes from there is played here or not at all.
	keyed := m.Idempotency.Key != "" && !m.Forwarded && m.Task.Queue == nil
	if m.Task.Async {
		start := g.local.Start
		if keyed {
			start = g.keyed.startKeyed
		}
		x, err := start(one.ctx, m, remove)
		if err != nil || x.Refusal != nil || x.TaskID != m.TaskID { // else the task has them
			remove()
		}
		if err != nil {
			return &link.Fault{Text: err.Error(), Unstarted: true}
		}
		refused = x.Refusal != nil
		return x
	}
	defer remove()
	var x *api.Executed
	switch {
	case keyed:
		x, err = g.keyed.executeKeyed(one.ctx, m)
	case o.StartID != 0:
		x, err = g.local.ExecuteIf(one.ctx, m, g.mayStart(one, o))
	default:
		x, err = g.local.Execute(one.ctx, m)
	}
	switch refused = err != nil || x.Refusal != nil || one.withdrawn.Load(); {
	case one.withdrawn.Load():
		return &link.Fault{Text: errStartUnknown.Error(), Unstarted: true}
	case err != nil:
		return &link.Fault{Text: err.Error(), Unstarted: true}
	}
	return x
}

// drainingRefusal is the answer to requests while the node accepts no tasks.
var drainingRefusal = &api.Refusal{Code: engine.CodeDraining, Text: "The service takes no new tasks: it is drained or stopping", RetryAfter: 5 * time.Second}

func draining(m *api.Execute) any {
	if m.Task.Async {
		return &api.Started{TaskID: m.TaskID, Refusal: drainingRefusal}
	}
	return &api.Executed{TaskID: m.TaskID, Refusal: drainingRefusal}
}

// unpack makes the request for the actors from a message, with its files in a folder;
// empty without files.
func (g *hostedTasks) unpack(ctx context.Context, o *link.ForwardedExecute) (m *api.Execute, folder string, err error) {
	files := make([]engine.Upload, 0, len(o.Files))
	if len(o.Files) > 0 {
		if folder, err = os.MkdirTemp(g.uploads, "guest-"); err != nil {
			return nil, "", fmt.Errorf("make a folder for files: %w", err)
		}
	}
	if alive, up := g.remote.peers.aliveContext(o.Origin); up && len(o.Files) > 0 {
		var cancel context.CancelCauseFunc
		ctx, cancel = within(ctx, alive, pollTimeout)
		defer cancel(nil)
	}
	for i, f := range o.Files {
		path := filepath.Join(folder, strconv.Itoa(i))
		if err := g.remote.transport.FetchFile(ctx, f.Payload, path); err != nil {
			return nil, folder, err
		}
		files = append(files, engine.Upload{Name: f.Name, Type: f.Type, Path: path, Size: f.Payload.Size})
	}
	if o.Carried != nil {
		m = &o.Execute
		m.Task = carriedTask(o.Carried).Within(o.Sites)
		return m, "", nil
	}
	end, err := engine.BeginParse(ctx, len(o.Source))
	if err != nil {
		return nil, folder, err
	}
	defer end()
	m = &o.Execute
	if m.Task, err = engine.ParseWith(o.Source, files, o.Flows); err != nil {
		return nil, folder, fmt.Errorf("read a task: %w", err)
	}
	m.Task = m.Task.Within(o.Sites).AsText()
	return m, folder, nil
}
