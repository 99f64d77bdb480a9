package notice

import (
	"container/heap"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/persistence/clock"
)

const (
	// perLine is how many notices one receiver gets at once, and perAccount how many all
	// receivers of an account do. A receiver that fails gets one at a time.
	perLine    = 4
	perAccount = 32
	// MaxWaiting is how many notices of an account may wait before its tasks with
	// receivers are refused.
	MaxWaiting = 100_000
	// earlyAtMost is how long a notice waits for its client to see the end: the actor of
	// the task may have failed in between.
	earlyAtMost = 10 * time.Second
)

// Config is what notices need. Zero values mean the defaults that the comments name.
type Config struct {
	Records *records.Store
	// Client sends notices, under the rules of the way out. Required.
	Client *http.Client
	// Result makes the answer of get-result about a task that has ended.
	Result func(*api.Polled) ([]byte, error)
	// Address is the service's own for clients; empty: notices have paths.
	Address string
	Delays  []time.Duration // before the second attempt and the following ones; about a day
	Timeout time.Duration   // of an attempt; 15 s
	OffAt   time.Duration   // after so long without success a receiver is switched off; 5 days
	// Shared tells that several nodes share the records. Then what others change is followed.
	Shared bool
	// Counts are gone on with; nil: they begin at zero.
	Counts *Counts
	// Serves reports whether this node may deliver; nil: it may.
	Serves func() bool
	Clock  *clock.Clock // nil: the machine's
	Log    zerolog.Logger
}

// standardDelays add up to 24 hours.
var standardDelays = []time.Duration{
	5 * time.Second, 15 * time.Second, 40 * time.Second, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 9*time.Hour + 42*time.Minute,
}

// Notices delivers. Its methods may be called from any goroutine.
type Notices struct {
	cfg    Config
	client *http.Client
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup

	mu       sync.Mutex
	accounts map[string]*account
	early    map[string][]*entry // by task: its client cannot see the end yet
	stopped  bool
	counts   map[string]count // of nodes that share the records: what waits of accounts
}

// account has what waits of an account.
type account struct {
	id      string
	ctx     context.Context
	end     context.CancelFunc
	gone    bool // it is removed
	work    sync.WaitGroup
	entries map[string]*entry // by notice
	lines   map[string]*line  // by receiver
	blocked []*line           // have something due, and the account sends as much as it may
	sending int
	states  map[string]records.EndpointState // of receivers that fail, by endpoint
}

// entry is a notice that waits.
type entry struct {
	id, host string
	since    time.Time // it waits
	at       time.Time // of its next attempt
	due      clock.Due // the same, whatever is done to the wall clock
	index    int       // in its line; -1: it is not there
	sends    bool      // it is on its way
}

// New returns notices that deliver nothing before [Notices.Start].
func New(cfg Config) *Notices {
	if cfg.Delays == nil {
		cfg.Delays = standardDelays
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 15 * time.Second
	}
	if cfg.OffAt == 0 {
		cfg.OffAt = 5 * 24 * time.Hour
	}
	if cfg.Counts == nil {
		cfg.Counts = &Counts{}
	}
	if cfg.Clock == nil {
		cfg.Clock = new(clock.Clock)
	}
	client := *cfg.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	m := &Notices{cfg: cfg, client: &client, accounts: map[string]*account{}, early: map[string][]*entry{}}
	m.ctx, m.stop = context.WithCancel(context.Background())
	if !cfg.Shared {
		cfg.Records.OnNotices = m.added
	}
	return m
}

// Start delivers what an earlier process has left, and what comes.
func (m *Notices) Start(ctx context.Context) error {
	if m == nil {
		return nil
	}
	if m.cfg.Shared {
		m.work.Go(m.follow)
		return nil
	}
	if err := m.readStates(ctx); err != nil {
		return err
	}
	m.work.Go(m.load)
	return nil
}

func (m *Notices) readStates(ctx context.Context) error {
	return m.cfg.Records.Notices().EachState(ctx, func(id string, s records.EndpointState) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.of(id).states[records.EndpointID(s.URL)] = s
	})
}

// load reads what waits, a part at a time.
func (m *Notices) load() {
	const most = 256
	for after := ""; ; {
		list, lost, next, err := m.cfg.Records.Notices().List(m.ctx, records.NoticePrefix, after, most)
		if err != nil {
			if m.ctx.Err() != nil {
				return
			}
			m.cfg.Log.Error().Err(err).Msg("notices not read")
			if !m.pause(time.Second) {
				return
			}
			continue
		}
		for _, id := range lost {
			m.cfg.Log.Error().Str("notice", id).Msg("notice not read: the key is another one")
		}
		m.mu.Lock()
		for _, n := range list {
			m.push(m.of(n.Account), &entry{id: n.ID, host: hostOf(n.URL), since: n.Since, at: due(n), due: m.dueAt(n), index: -1})
		}
		m.mu.Unlock()
		if after = next; after == "" {
			return
		}
	}
}

// dueAt is due, whatever is done to the wall clock: a notice waits no longer than it was to
// wait after its last attempt.
func (m *Notices) dueAt(n records.Notice) clock.Due {
	if n.Next.IsZero() || len(n.Tries) == 0 {
		return clock.Due{}
	}
	return m.cfg.Clock.Within(n.Next, time.Now(), max(n.Next.Sub(n.Tries[len(n.Tries)-1].At), 0))
}

// pause waits, and reports whether deliveries go on.
func (m *Notices) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-m.ctx.Done():
	}
	return m.ctx.Err() == nil
}

// Stop ends the attempts that run: they are made again.
func (m *Notices) Stop() {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.stopped = true
	for _, a := range m.accounts {
		for _, l := range a.lines {
			l.quiet()
		}
	}
	m.mu.Unlock()
	m.stop()
	m.work.Wait()
}

// Forget ends the delivery of an account that is removed. When it returns nothing more
// is written.
func (m *Notices) Forget(id string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	a := m.of(id)
	a.gone = true
	a.end()
	for _, l := range a.lines {
		l.quiet()
	}
	a.lines, a.blocked, a.entries = map[string]*line{}, nil, map[string]*entry{}
	m.mu.Unlock()
	a.work.Wait()
}

func (l *line) quiet() {
	if l.timer != nil {
		l.timer.Stop()
	}
}

// of returns an account. The mutex is held.
func (m *Notices) of(id string) *account {
	a := m.accounts[id]
	if a == nil {
		a = &account{id: id, entries: map[string]*entry{}, lines: map[string]*line{}, states: map[string]records.EndpointState{}}
		a.ctx, a.end = context.WithCancel(m.ctx)
		m.accounts[id] = a
	}
	return a
}

// drop forgets an account of which nothing waits and no receiver fails. The mutex is held.
func (m *Notices) drop(a *account) {
	if a.gone || a.sending > 0 || len(a.entries)+len(a.lines)+len(a.states) > 0 || m.accounts[a.id] != a {
		return
	}
	a.end()
	delete(m.accounts, a.id)
}

// forgetState forgets that a receiver fails. The mutex is held.
func (m *Notices) forgetState(account, endpoint string) {
	if a := m.accounts[account]; a != nil {
		delete(a.states, endpoint)
		m.drop(a)
	}
}

// added takes notices that were written. Those of a task wait until its client can see
// that it has ended.
func (m *Notices) added(list []records.Notice) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range list {
		a, e := m.of(n.Account), &entry{id: n.ID, host: hostOf(n.URL), since: n.Since, at: n.Since, index: -1}
		if n.Task == nil {
			m.push(a, e)
		} else if !a.gone && a.entries[e.id] == nil {
			a.entries[e.id] = e
			m.early[n.Task.ID] = append(m.early[n.Task.ID], e)
			time.AfterFunc(earlyAtMost, func() { m.Ended(n.Account, n.Task.ID) })
		}
	}
}

// Ended tells that clients see the end of a task.
func (m *Notices) Ended(account, task string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.early[task]
	delete(m.early, task)
	for _, e := range all {
		a := m.of(account)
		delete(a.entries, e.id)
		m.push(a, e)
	}
}

// push puts a notice into its line, unless it is there. The mutex is held.
func (m *Notices) push(a *account, e *entry) {
	if a.gone || m.stopped || a.entries[e.id] != nil {
		return
	}
	a.entries[e.id] = e
	l := a.lines[e.host]
	if l == nil {
		l = &line{account: a, host: e.host}
		a.lines[e.host] = l
	}
	heap.Push(&l.wait, e)
	m.pump(l)
}

// pump sends what is due of a line, as far as that may be now. The mutex is held.
func (m *Notices) pump(l *line) {
	l.quiet()
	a := l.account
	most := perLine
	if l.failing {
		most = 1
	}
	for len(l.wait) > 0 && l.sending < most && !a.gone && !m.stopped {
		if e := l.wait[0]; !m.cfg.Clock.Came(e.due, time.Now()) {
			l.timer = m.cfg.Clock.AfterFunc(e.due, func() {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.pump(l)
			})
			return
		}
		if a.sending >= perAccount {
			if !l.blocked {
				l.blocked, a.blocked = true, append(a.blocked, l)
			}
			return
		}
		e := heap.Pop(&l.wait).(*entry)
		e.sends = true
		l.sending++
		a.sending++
		m.work.Add(1)
		a.work.Go(func() {
			defer m.work.Done()
			m.send(l, e)
		})
	}
	if len(l.wait) == 0 && l.sending == 0 && a.lines[l.host] == l {
		delete(a.lines, l.host)
	}
}

// sent takes what became of an attempt: the notice waits for another one, or is gone.
func (m *Notices) sent(l *line, e *entry, again time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := l.account
	l.sending--
	a.sending--
	e.sends = false
	l.failing = !ok
	if a.entries[e.id] == e {
		if again.IsZero() {
			delete(a.entries, e.id)
		} else if !a.gone {
			now := time.Now()
			e.at, e.due = again, m.cfg.Clock.After(now, again.Sub(now))
			heap.Push(&l.wait, e)
		}
	}
	m.pump(l)
	for len(a.blocked) > 0 && a.sending < perAccount {
		next := a.blocked[0]
		a.blocked = a.blocked[1:]
		next.blocked = false
		m.pump(next)
	}
	m.drop(a)
}
