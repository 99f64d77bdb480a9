package batch

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
)

// Queue is what batches give their tasks to.
type Queue interface {
	// Name gives a task the identifier under which [Queue.Add] queues it.
	Name(x *api.Execute) *api.Execute
	// Add queues a task that has its identifier. Adding it again changes nothing.
	Add(ctx context.Context, x *api.Execute) (*api.Started, error)
	// Cancel ends a task wherever it is.
	Cancel(ctx context.Context, m *api.Cancel) error
}

// Config is what batches need.
type Config struct {
	Records *records.Store
	Queue   Queue
	Limits  func() map[engine.Plan]engine.Limits
	// Account finds an account as it is now; [persistence.ErrNotFound]: it is gone. Nil: it
	// is as when the batch began.
	Account func(ctx context.Context, id string) (api.Account, error)
	Order   func() uint64 // grows with each call, also over restarts
	NewID   func() string
	Log     zerolog.Logger
	// Serves reports whether this node still orders the queue that several share. It hears
	// of ends by [Batches.Over] then. Nil: there are no other nodes.
	Serves func() bool
}

func (c *Config) shared() bool { return c.Serves != nil }

// Batches are the batches of a node. Its methods may be called from any goroutine.
type Batches struct {
	cfg  Config
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu   sync.Mutex
	all  map[string]*state
	gone map[string]bool // accounts that were removed
	// readying are the requests with a key that make a batch ready: one at a time of each key.
	readying map[[2]string]chan struct{}
	// tasks are those that were given to the queue and have not ended.
	tasks map[string]*item
	// barred are the accounts of which the queue begins no more tasks now.
	barred map[string]bar
	// parsed are the accounts of which a large task is parsed, or was refused lately.
	parsed  map[string]*parsing
	parsing chan struct{} // has so many as there are
}

// state is a batch in memory. The mutex of [Batches] guards it.
type state struct {
	id, account string
	plan        engine.Plan // of the account, as it was last looked up
	looked      time.Time   // when that was

	b        records.Batch    // without its task once it has ended
	rev      uint64           // of its record
	tasks    map[string]*item // those of [Batches]
	admitted admitted
	sites    []string // of its task, once they were read
	read     bool
	loaded   chan struct{} // closed when what follows is known
	at       records.BatchAt
	atRev    uint64        // of the record of it
	live     map[int]*item // given to the queue, or about to be
	parts    map[int]int   // by number: how many items have not ended
	over     []int         // parts whose items have all ended
	fed      bool          // all its items were given to the queue, failed ones of its round too
	early    []int         // items that came back before it was loaded

	ended   int
	failed  map[engine.Code]records.BatchFailed
	running int
	held    engine.Code // why no more items begin now
	// heldSince is since when there is such a reason.
	heldSince time.Time
	inFlight  map[uint64]bool // orders of ends that are being written
	last      uint64          // the last order
	rate      rate

	received int
	bytes    int64
	touched  time.Time
	changes  sync.Mutex // one change of its record at a time
	wake     chan struct{}
	done     chan struct{} // closed when it ends
	feeds    bool
	idle     chan struct{} // closed when it does not feed any more; nil: it never has
}

// item is one that was given to the queue.
type item struct {
	records.BatchTask
	of     *state
	part   int
	queued bool // the queue has it
	onDisk bool // the queue has its record, and may not have found it
	runs   bool
	back   bool // the queue has given it back since it was last added
	asked  bool // its cancellation was asked for
	check  bool // what has become of it is to be looked up
}

// Open reads the batches of an earlier process. They go on when Start is called.
func Open(ctx context.Context, cfg Config) (*Batches, error) {
	m := &Batches{cfg: cfg, all: map[string]*state{}, gone: map[string]bool{}, readying: map[[2]string]chan struct{}{}, tasks: map[string]*item{}, barred: map[string]bar{}, parsed: map[string]*parsing{}, parsing: make(chan struct{}, parsedAtOnce)}
	m.ctx, m.stop = context.WithCancel(context.Background())
	all, err := cfg.Records.Batches().All(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		s := m.newState(b)
		if !cfg.shared() { // whoever sent its items is gone
			s.touched = time.Time{}
		}
		m.all[b.ID] = s
	}
	return m, nil
}

// Start lets batches give tasks to the queue.
func (m *Batches) Start() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil { // the node stops while it takes the order of the queue
		return
	}
	for _, s := range m.all {
		if s.b.State != api.BatchReceiving {
			m.feed(s)
		}
	}
	m.work.Go(m.sweep)
}

// Stop ends what batches do. What has not started does not start any more.
func (m *Batches) Stop() {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.stop()
	m.mu.Unlock()
	m.work.Wait()
}

// Forget drops the batches of an account that is removed. When it returns they write
// nothing more.
func (m *Batches) Forget(account string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.gone[account] = true
	delete(m.barred, account)
	var feeds []chan struct{}
	for id, s := range m.all {
		if s.account == account {
			delete(m.all, id)
			if s.signal(); s.idle != nil {
				feeds = append(feeds, s.idle)
			}
		}
	}
	m.mu.Unlock()
	for _, idle := range feeds {
		<-idle
	}
}

func (s *state) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// find returns a batch of an account that clients may see; nil: there is none.
func (m *Batches) find(account, id string) *state {
	s := m.all[id]
	if s == nil || s.account != account || s.b.State == api.BatchReceiving {
		return nil
	}
	return s
}

// Returned tells that the queue has given an item back that was not to begin.
func (m *Batches) Returned(of *api.BatchRef) {
	m.change(of, func(s *state) {
		if it := s.live[of.Item]; it != nil {
			it.queued, it.back = false, true
		} else {
			s.early = append(s.early, of.Item)
		}
	})
}

// Began tells that a task begins.
func (m *Batches) Began(task string) { m.runs(task, true) }

// Waits tells that a task waits for another attempt.
func (m *Batches) Waits(task string) { m.runs(task, false) }

func (m *Batches) runs(task string, is bool) {
	m.heard(task, func(it *item) { it.run(is) })
}

// Over tells that the queue does not have a task any more. What has become of it is looked
// up: its record says so.
func (m *Batches) Over(task string) {
	m.heard(task, func(it *item) { it.check = true })
}

// heard calls f for the task of an item.
func (m *Batches) heard(task string, f func(*item)) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if it := m.tasks[task]; it != nil {
		f(it)
		it.of.signal()
	}
}

func (it *item) run(is bool) {
	if it.runs != is {
		it.runs = is
		it.of.running += step(is)
	}
}

func step(up bool) int {
	if up {
		return 1
	}
	return -1
}

func (m *Batches) change(of *api.BatchRef, f func(*state)) {
	if m == nil || of == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.all[of.Batch]; s != nil {
		f(s)
		s.signal()
	}
}

// Ending is called before the end of an item is written. It returns the place of the end
// in the list of ends: nothing behind it is listed until done was called.
func (m *Batches) Ending(ctx context.Context, of *api.BatchRef) (order uint64, done func(code engine.Code, failed bool, err error), err error) {
	m.mu.Lock()
	s := m.all[of.Batch]
	m.mu.Unlock()
	if s == nil || m.ctx.Err() != nil {
		return m.cfg.Order(), func(engine.Code, bool, error) {}, nil
	}
	select {
	case <-s.loaded:
	case <-m.ctx.Done():
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	order = m.order(s)
	return order, func(code engine.Code, failed bool, err error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(s.inFlight, order)
		if it := s.live[of.Item]; err == nil && it != nil && it.Round == of.Round {
			s.finish(it, code, failed)
		}
		s.signal()
	}, nil
}

// order is the place of an end of a batch in its list, behind all others. Nothing behind it
// is listed while it is in flight. The mutex is held.
func (m *Batches) order(s *state) uint64 {
	s.last = max(m.cfg.Order(), s.last+1)
	s.inFlight[s.last] = true
	return s.last
}

// hold takes in an item that is given to the queue.
func (s *state) hold(it *item) {
	it.of = s
	s.live[it.Item], s.tasks[it.Task] = it, it
}

// finish counts an item that has ended.
func (s *state) finish(it *item, code engine.Code, failed bool) {
	s.drop(it)
	s.rate.count(time.Now())
	s.count(it.Item, code, failed)
}

// count counts the end of an item.
func (s *state) count(item int, code engine.Code, failed bool) {
	s.ended++
	if !failed {
		return
	}
	f := s.failed[code]
	if f.Count++; f.Count == 1 {
		f.Item = item
	}
	s.failed[code] = f
}

// drop forgets an item that the queue does not have any more.
func (s *state) drop(it *item) {
	delete(s.live, it.Item)
	if s.tasks[it.Task] == it {
		delete(s.tasks, it.Task)
	}
	if it.runs {
		s.running--
	}
	if s.parts[it.part]--; s.parts[it.part] <= 0 {
		delete(s.parts, it.part)
		s.over = append(s.over, it.part)
	}
}

// uncount takes back that an item has failed, because it is played again.
func (s *state) uncount(e *records.BatchEnd) {
	s.ended--
	f := s.failed[e.Code]
	if f.Count--; f.Count <= 0 {
		delete(s.failed, e.Code)
		return
	}
	s.failed[e.Code] = f
}

// failures is how many items have failed.
func (s *state) failures() (n int) {
	for _, f := range s.failed {
		n += f.Count
	}
	return n
}
