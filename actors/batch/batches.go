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
	Order   func() uint64 // grows with each call, also over restarts
	NewID   func() string
	Log     zerolog.Logger
}

// Batches are the batches of a node. Its methods may be called from any goroutine.
type Batches struct {
	cfg  Config
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu   sync.Mutex
	all  map[string]*state
	gone map[string]bool // accounts that were removed
}

// state is a batch in memory. The mutex of [Batches] guards it.
type state struct {
	id, account string
	plan        engine.Plan

	b        records.Batch
	template *engine.Template // nil until it is needed
	loaded   chan struct{}    // closed when what follows is known
	at       records.BatchAt
	live     map[int]*item // given to the queue, or about to be
	parts    map[int]int   // by number: how many items have not ended
	over     []int         // parts whose items have all ended
	fed      bool          // all its items were given to the queue, failed ones of its round too
	early    []int         // items that came back before it was loaded

	ended    int
	failed   map[engine.Code]records.BatchFailed
	running  int
	held     engine.Code     // why no more items begin now
	inFlight map[uint64]bool // orders of ends that are being written
	rate     rate

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
	part   int
	queued bool // the queue has it
	runs   bool
	asked  bool // its cancellation was asked for
}

// Open reads the batches of an earlier process. They go on when Start is called.
func Open(ctx context.Context, cfg Config) (*Batches, error) {
	m := &Batches{cfg: cfg, all: map[string]*state{}, gone: map[string]bool{}}
	m.ctx, m.stop = context.WithCancel(context.Background())
	all, err := cfg.Records.Batches().All(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		s := newState(b)
		s.touched = time.Time{}
		m.all[b.ID] = s
	}
	return m, nil
}

func newState(b records.Batch) *state {
	return &state{
		id: b.ID, account: b.Account, plan: b.Plan, b: b, loaded: make(chan struct{}), live: map[int]*item{}, parts: map[int]int{}, failed: map[engine.Code]records.BatchFailed{},
		inFlight: map[uint64]bool{}, wake: make(chan struct{}, 1), done: make(chan struct{}), touched: time.Now(),
	}
}

// Start lets batches give tasks to the queue.
func (m *Batches) Start() {
	if m == nil {
		return
	}
	m.mu.Lock()
	for _, s := range m.all {
		if s.b.State != api.BatchReceiving {
			m.feed(s)
		}
	}
	m.mu.Unlock()
	m.work.Go(m.sweep)
}

// Stop ends what batches do.
func (m *Batches) Stop() {
	if m != nil {
		m.stop()
		m.work.Wait()
	}
}

// Forget drops the batches of an account that is removed. When it returns they write
// nothing more.
func (m *Batches) Forget(account string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.gone[account] = true
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

// Holds reports whether tasks of a batch are not to begin.
func (m *Batches) Holds(of *api.BatchRef) bool {
	if m == nil || of == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.all[of.Batch]
	return s != nil && s.b.State == api.BatchPaused
}

// Returned tells that the queue has given an item back that was not to begin.
func (m *Batches) Returned(of *api.BatchRef) {
	m.change(of, func(s *state) {
		if it := s.live[of.Item]; it != nil {
			it.queued = false
		} else {
			s.early = append(s.early, of.Item)
		}
	})
}

// Began tells that an item begins.
func (m *Batches) Began(of *api.BatchRef) { m.runs(of, true) }

// Waits tells that an item waits for another attempt.
func (m *Batches) Waits(of *api.BatchRef) { m.runs(of, false) }

func (m *Batches) runs(of *api.BatchRef, is bool) {
	m.change(of, func(s *state) {
		if it := s.live[of.Item]; it != nil && it.runs != is {
			it.runs = is
			s.running += step(is)
		}
	})
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
	order = m.cfg.Order()
	s.inFlight[order] = true
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

// finish counts an item that has ended.
func (s *state) finish(it *item, code engine.Code, failed bool) {
	s.drop(it)
	s.ended++
	s.rate.count(time.Now())
	if failed {
		f := s.failed[code]
		if f.Count++; f.Count == 1 {
			f.Item = it.Item
		}
		s.failed[code] = f
	}
}

// drop forgets an item that the queue does not have any more.
func (s *state) drop(it *item) {
	delete(s.live, it.Item)
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

// rate counts what ended in each second of the last minute.
type rate struct {
	seconds [60]int
	last    int64 // the second of the newest count
	first   time.Time
}

func (r *rate) to(now time.Time) {
	at := now.Unix()
	if r.first.IsZero() {
		r.first, r.last = now, at
	}
	for r.last = max(r.last, at-int64(len(r.seconds))); r.last < at; {
		r.last++
		r.seconds[r.last%int64(len(r.seconds))] = 0
	}
}

func (r *rate) count(now time.Time) {
	r.to(now)
	r.seconds[r.last%int64(len(r.seconds))]++
}

// perMinute is how many ended in the last minute, or would have at the rate since the
// first.
func (r *rate) perMinute(now time.Time) float64 {
	if r.first.IsZero() {
		return 0
	}
	r.to(now)
	n := 0
	for _, c := range r.seconds {
		n += c
	}
	span := min(max(now.Sub(r.first), time.Second), time.Minute)
	return float64(n) * float64(time.Minute) / float64(span)
}
