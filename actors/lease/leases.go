package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
	"troupe/persistence/owned"
)

// Prefix is the part of the store's keys where leases are.
const Prefix = "lease/"

var _ = owned.Register(owned.Kind{Prefix: Prefix, By: owned.Nobody, Apart: "one for each session and node"})

var (
	// ErrHeld tells that the node's lease goes on.
	ErrHeld = errors.New("the node holds its lease")
	// ErrRenewed tells that the node renews its lease: it is there, and has its
	// sessions.
	ErrRenewed = errors.New("the node renews its lease")
)

// Leases keeps the node's own lease, and follows those of the others: see
// rules.go. A nil one belongs to a node without others, which always holds its
// sessions.
type Leases struct {
	store      persistence.Store
	workerNode bool
	Duration   time.Duration
	log        zerolog.Logger
	began      time.Time
	// onLost ends what runs for sessions; confirm finds out which of the node's
	// sessions are still its own.
	onLost  func()
	confirm func(ctx context.Context, term uint64) error

	// keepers are the nodes that keep the store, where that is known; ask asks one of them
	// to agree to the end of a lease.
	keepers func() []string
	ask     func(ctx context.Context, keeper, node string, revision uint64, look bool) (Ends, error)

	mu         sync.Mutex
	own        ownLease
	promises   promises
	others     map[string]*seenLease
	changed    chan struct{} // closed at the next change of another's lease
	expiry     *time.Timer   // fires when the lease has lapsed
	confirming bool

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// Config is what [Leases] are made from.
type Config struct {
	Store    persistence.Store
	Node     string
	Boot     string        // of the process: another one at each start
	Duration time.Duration // zero: there are no other nodes
	// WorkerNode is a node that does not follow the leases of the others: it asks for the one
	// that it waits for.
	WorkerNode bool
	Log        zerolog.Logger
	// Keepers are the nodes that keep the store, in order; nil while they are not known. Ask
	// asks one of them [Leases.Agree]. Without them a lease is carried by its renewals alone.
	Keepers func() []string
	Ask     func(ctx context.Context, keeper, node string, revision uint64, look bool) (Ends, error)
}

// New makes the leases of a node; nil: there are no other nodes.
func New(cfg Config) *Leases {
	if cfg.Duration == 0 {
		return nil
	}
	l := &Leases{
		store: cfg.Store, workerNode: cfg.WorkerNode, Duration: cfg.Duration, log: cfg.Log, began: time.Now(),
		onLost: func() {}, confirm: func(context.Context, uint64) error { return nil },
		own:    ownLease{node: cfg.Node, boot: cfg.Boot, lasts: cfg.Duration},
		others: map[string]*seenLease{}, changed: make(chan struct{}), keepers: cfg.Keepers, ask: cfg.Ask,
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// Notify sets the functions to call: lapsed when the lease has lapsed, which ends
// what runs for sessions, and confirm when it was taken anew. Call it before
// [Leases.Open].
func (l *Leases) Notify(lapsed func(), confirm func(ctx context.Context, term uint64) error) {
	l.onLost, l.confirm = lapsed, confirm
}

// now is a clock that is never set.
func (l *Leases) now() time.Duration { return time.Since(l.began) }

// Serving reports whether the node may use its sessions.
func (l *Leases) Serving() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.own.serves(l.now())
}

// Serves reports whether a session may be used that is known to be the node's
// since a term of its lease.
func (l *Leases) Serves(term uint64) bool { return l.Serving() && l.Term() == term }

// Term is that of the lease that the node has, or had last.
func (l *Leases) Term() uint64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.own.term
}

// Open takes the lease over from an earlier process of the node, and keeps it
// until close.
func (l *Leases) Open(ctx context.Context) error {
	if l == nil {
		return nil
	}
	for {
		rec, revision, err := l.read(ctx, l.own.node)
		if err == nil {
			l.own.inherit(rec, revision)
			began := l.now()
			next, over, _ := l.own.next(l.electors())
			if revision, err = l.write(ctx, next, over); err == nil {
				l.mu.Lock()
				l.own.stored(next, revision, began)
				l.promises.after = revision
				l.mu.Unlock()
				break
			}
		}
		if !errors.Is(err, persistence.ErrConflict) {
			return fmt.Errorf("take the node's lease: %w", err)
		}
	}
	// Actors that start now read their sessions before they use them.
	l.mu.Lock()
	l.own.confirmed = l.own.term
	l.expiry = time.AfterFunc(l.own.until-l.now(), l.checkExpiry)
	l.mu.Unlock()
	l.wg.Go(l.keep)
	if !l.workerNode {
		l.wg.Go(l.followPeers)
	}
	return nil
}

// Close gives the lease back: what the node's sessions have become is on disk.
func (l *Leases) Close() {
	if l == nil || l.expiry == nil {
		return
	}
	l.stop()
	l.wg.Wait()
	l.expiry.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), l.Duration/2)
	defer cancel()
	if err := l.giveBack(ctx); err != nil {
		l.log.Warn().Err(err).Msg("the node's lease was not given back: its sessions go on elsewhere only when it is over")
	}
}

// giveBack writes that the lease is over. A renewal can be on disk whose answer did not
// come: then it is written over that one.
func (l *Leases) giveBack(ctx context.Context) error {
	for {
		l.mu.Lock()
		last, over, mine := l.own.next(nil)
		l.own.until = 0
		l.mu.Unlock()
		if !mine {
			return nil
		}
		last.Over = true
		_, err := l.write(ctx, last, over)
		if !errors.Is(err, persistence.ErrConflict) {
			return err
		}
		found, revision, err := l.read(ctx, l.own.node)
		if err != nil {
			return err
		}
		if found.Over || found.Boot != l.own.boot { // nothing is left to give back
			return nil
		}
		l.mu.Lock()
		l.own.met(found, revision)
		l.mu.Unlock()
	}
}

// keep renews the lease until the node ends, where promises do not carry it.
func (l *Leases) keep() {
	tick := time.NewTicker(l.Duration / 10)
	defer tick.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
			l.renew()
		}
	}
}

func (l *Leases) renew() {
	ctx, cancel := context.WithTimeout(l.ctx, l.Duration/4)
	defer cancel()
	l.mu.Lock()
	began := l.now()
	keepers := l.electors()
	if l.own.isCarried(began, keepers) {
		l.mu.Unlock()
		return
	}
	rec, over, write := l.own.next(keepers)
	l.mu.Unlock()
	err := error(persistence.ErrConflict)
	var revision uint64
	if write {
		revision, err = l.write(ctx, rec, over)
	}
	var found Record
	if errors.Is(err, persistence.ErrConflict) {
		if found, revision, err = l.read(ctx, l.own.node); err == nil {
			err = persistence.ErrConflict
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch had := l.own.term; {
	case err == nil:
		l.own.stored(rec, revision, began)
	case errors.Is(err, persistence.ErrConflict):
		if l.own.met(found, revision); had != 0 && l.own.term != had {
			l.log.Warn().Msg("the node's lease was ended by another node: its sessions are looked at before they go on")
		}
	default: // the bell says when it is too late
	}
	l.expiry.Reset(max(l.own.until-l.now(), 0))
	if l.own.holds(l.now()) && l.own.confirmed != l.own.term && !l.confirming {
		l.confirming = true
		term := l.own.term
		l.wg.Go(func() { l.regain(term) })
	}
}

// regain finds out which sessions are still the node's after its lease was ended.
func (l *Leases) regain(term uint64) {
	ctx, cancel := context.WithTimeout(l.ctx, l.Duration)
	defer cancel()
	err := l.confirm(ctx, term)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.confirming = false; err != nil { // the next renewal tries again
		l.log.Warn().Err(err).Msg("the node's sessions could not be looked at")
		return
	}
	l.own.confirmed = term
}

// checkExpiry ends what runs for sessions once the lease has lapsed.
func (l *Leases) checkExpiry() {
	l.mu.Lock()
	holds := l.own.holds(l.now())
	if holds { // promises have carried it further
		l.expiry.Reset(l.own.until - l.now())
	}
	l.mu.Unlock()
	if !holds && l.ctx.Err() == nil {
		l.onLost()
	}
}

// read returns revision 0 if there is no record.
func (l *Leases) read(ctx context.Context, node string) (rec Record, revision uint64, err error) {
	r, err := l.store.Get(ctx, Prefix+node)
	if errors.Is(err, persistence.ErrNotFound) {
		return rec, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(r.Value, &rec)
	}
	return rec, r.Revision, err
}

func (l *Leases) write(ctx context.Context, rec Record, over uint64) (revision uint64, err error) {
	b, err := json.Marshal(rec)
	if err != nil {
		return 0, err
	}
	return l.store.Put(ctx, persistence.Write{Key: Prefix + rec.Node, Value: b, If: &over, Durable: true})
}
