// Package gate weighs, in bytes, what requests have in memory: bodies that came, what is
// loaded for an answer, and answers that their clients have not taken. An account that asks
// for too much at once waits, or is refused, and nobody else notices.
package gate

import (
	"context"
	"errors"
	"sync"
)

// Limits are how many bytes there may be at once.
type Limits struct {
	Account   int64 // of one account
	Strangers int64 // of all requests without one together
	All       int64 // of everybody together
}

// Stranger stands for the account of a request that has none.
const Stranger = ""

// Errors of what there is no room for.
var (
	ErrAccount = errors.New("the account has too much under way")
	ErrAll     = errors.New("the service has too much under way")
)

// Gate counts what is in memory.
type Gate struct {
	limits Limits
	mu     sync.Mutex
	by     map[string]int64
	all    int64
	held   map[string]int64 // of by, and of all: what those have that wait for more
	holds  int64
	freed  chan struct{} // closed when something is given back; nil: nobody waits
}

// New makes a gate.
func New(l Limits) *Gate { return &Gate{limits: l, by: map[string]int64{}, held: map[string]int64{}} }

// Of is how much an account has.
func (g *Gate) Of(account string) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.by[account]
}

// All is how much everybody has together.
func (g *Gate) All() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all
}

// add counts bytes if there is room for them. The lock is held.
func (g *Gate) add(account string, n int64) error {
	if n > 0 {
		own, all := g.limits.Account, g.limits.All
		if account == Stranger {
			own, all = g.limits.Strangers, g.limits.All
		}
		switch {
		case g.by[account]+n > own:
			return ErrAccount
		case g.all+n > all:
			return ErrAll
		}
	}
	g.put(account, n)
	return nil
}

// put counts bytes, whether or not there is room for them. The lock is held.
func (g *Gate) put(account string, n int64) {
	g.all += n
	if g.by[account] += n; g.by[account] <= 0 {
		delete(g.by, account)
	}
	if n < 0 && g.freed != nil {
		close(g.freed)
		g.freed = nil
	}
}

// Weight is what one request has. It is not for several goroutines at once.
type Weight struct {
	gate    *Gate
	account string
	n       int64
	held    bool
}

// Weigh begins to weigh a request of an account, which has nothing yet.
func (g *Gate) Weigh(account string) *Weight { return &Weight{gate: g, account: account} }

// Add counts further bytes, or says why there is no room for them. Nil counts nothing.
func (w *Weight) Add(n int64) error {
	if w == nil {
		return nil
	}
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	if err := w.gate.add(w.account, n); err != nil {
		return err
	}
	if w.n += n; w.held {
		w.gate.hold(w.account, n)
	}
	return nil
}

// Wait counts further bytes as soon as there is room for them, if that is before ctx ends.
// More than an account may have at all counts as all that it may have.
func (w *Weight) Wait(ctx context.Context, n int64) error {
	g := w.gate
	most := g.limits.Account
	if w.account == Stranger {
		most = g.limits.Strangers
	}
	n = min(n, most)
	for {
		g.mu.Lock()
		err := g.add(w.account, n)
		if err == nil {
			w.n += n
			g.mu.Unlock()
			return nil
		}
		if g.freed == nil {
			g.freed = make(chan struct{})
		}
		freed := g.freed
		g.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return err
		}
	}
}

// Is says how many bytes there are, once that is known.
func (w *Weight) Is(n int64) {
	if w == nil {
		return
	}
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	w.gate.put(w.account, n-w.n)
	if w.held {
		w.gate.hold(w.account, n-w.n)
		w.held = n > 0
	}
	w.n = n
}

// Hold says that what is weighed stays while its request waits for more. All such have a
// quarter of what there may be at most, so that requests never wait for each other.
func (w *Weight) Hold() error {
	if w == nil || w.held {
		return nil
	}
	g := w.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.limits.Account
	if w.account == Stranger {
		own = g.limits.Strangers
	}
	switch {
	case g.held[w.account]+w.n > own/heldPart:
		return ErrAccount
	case g.holds+w.n > g.limits.All/heldPart:
		return ErrAll
	}
	g.hold(w.account, w.n)
	w.held = true
	return nil
}

// heldPart is which part of what there may be requests have that wait for more.
const heldPart = 4

// hold counts bytes that their requests have while they wait for more. The lock is held.
func (g *Gate) hold(account string, n int64) {
	g.holds += n
	if g.held[account] += n; g.held[account] <= 0 {
		delete(g.held, account)
	}
}

// Release gives everything back. It may be called again, and of nil.
func (w *Weight) Release() { w.Is(0) }
