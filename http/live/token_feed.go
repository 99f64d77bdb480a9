package live

import (
	"sync"
	"time"

	"troupe/persistence"
)

// tokenEvent is the event of a feed about a token.
type tokenEvent struct {
	Event string             `json:"event"` // issued or revoked
	ID    string             `json:"tokenId"`
	At    time.Time          `json:"at"`
	By    persistence.Issuer `json:"by"`
}

// maxTokenFeed is how many events wait for a reader before it is cut off.
const maxTokenFeed = 100

// tokenFeeds hands what happens to tokens to those who read an account's feed.
type tokenFeeds struct {
	mu sync.Mutex
	by map[string]map[*tokenFeed]struct{}
}

// tokenFeed is what one reader has not taken yet.
type tokenFeed struct {
	account string
	mu      sync.Mutex
	events  []persistence.TokenEvent
	behind  bool
	notify  func() // nil: nobody waits
}

func (f *tokenFeeds) open(account string) *tokenFeed {
	r := &tokenFeed{account: account}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = map[string]map[*tokenFeed]struct{}{}
	}
	if f.by[account] == nil {
		f.by[account] = map[*tokenFeed]struct{}{}
	}
	f.by[account][r] = struct{}{}
	return r
}

func (f *tokenFeeds) close(r *tokenFeed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.by[r.account], r)
	if len(f.by[r.account]) == 0 {
		delete(f.by, r.account)
	}
}

// tell hands an event to the readers of its account. It waits for nobody.
func (f *tokenFeeds) tell(e persistence.TokenEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.by[e.Account] {
		r.add(e)
	}
}

func (r *tokenFeed) add(e persistence.TokenEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.behind = r.behind || len(r.events) == maxTokenFeed; !r.behind {
		r.events = append(r.events, e)
	}
	if r.notify != nil {
		r.notify()
	}
}

// wake calls notify as soon as there is an event.
func (r *tokenFeed) wake(notify func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.notify = notify; len(r.events) > 0 || r.behind {
		notify()
	}
}

// take returns the events since the last call. After that notify is not called.
func (r *tokenFeed) take() (events []persistence.TokenEvent, behind bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	events, r.events, r.notify = r.events, nil, nil
	return events, r.behind
}
