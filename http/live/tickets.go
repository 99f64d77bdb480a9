package live

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
	"troupe/persistence/owned"
)

// tickets are those that are alive. They are short-lived, so those of one node end
// with its process. Several nodes keep them in their store, and each has them all
// in memory: what is made at one holds at the others, and what is revoked at one
// ends at the others, with what it has opened there.
type tickets struct {
	shared persistence.Store // nil: there are no other nodes
	log    zerolog.Logger

	mu    sync.Mutex
	alive map[ticketSum]*ticket // by the hash: memory that leaks holds none
	ended map[ticketSum]endedTicket
}

// endedTicket was revoked, and counts for its account until it is forgotten: who
// makes and revokes tickets without end would fill the store with what tells the
// other nodes of them.
type endedTicket struct {
	account string
	link    bool
	until   time.Time
}

// rememberRevoked is how long the record of a revoked ticket tells the other nodes
// of it. One that does not follow meanwhile finds no record when it lists them.
const rememberRevoked = time.Minute

type ticketSum [sha256.Size]byte

const (
	// ticketPrefix is followed by the hash of a ticket, in hexadecimal.
	ticketPrefix = "ticket/"
	// ticketDigits is how many digits of the hash are in an identifier.
	ticketDigits = 16
)

var _ = owned.Register(owned.Kind{Prefix: ticketPrefix, By: owned.Nobody, Apart: "maxTickets and maxLinks of an account"})

// ticketRecord is what the other nodes know of a ticket. One that was revoked stays
// for a minute, or until it would have ended.
type ticketRecord struct {
	Account persistence.Account `json:"account"`
	By      []byte              `json:"by"` // the digest of its token
	Object  string              `json:"object"`
	Made    time.Time           `json:"made"`
	Expires time.Time           `json:"expires"`
	Link    bool                `json:"link,omitempty"`
	Label   string              `json:"label,omitempty"`
	Revoked bool                `json:"revoked,omitempty"`
}

func newTickets(shared persistence.Store, log zerolog.Logger) *tickets {
	return &tickets{shared: shared, log: log, alive: map[ticketSum]*ticket{}, ended: map[ticketSum]endedTicket{}}
}

// idOf is what a ticket is called. Its secret cannot be found from it.
func (s ticketSum) idOf(link bool) string {
	as := Ticket
	if link {
		as = Link
	}
	return as.id + hex.EncodeToString(s[:])[:ticketDigits]
}

// sumOf reads the hash of a ticket out of the key of its record.
func sumOf(key string) (sum ticketSum, ok bool) {
	b, err := hex.DecodeString(strings.TrimPrefix(key, ticketPrefix))
	if err != nil || len(b) != len(sum) {
		return sum, false
	}
	return ticketSum(b), true
}

// write lets the other nodes know of a ticket.
func (t *tickets) write(ctx context.Context, sum ticketSum, v *ticket, revoked bool) error {
	if t.shared == nil {
		return nil
	}
	expires := v.expires
	if soon := time.Now().Add(rememberRevoked); revoked && soon.Before(expires) {
		expires = soon
	}
	b, err := json.Marshal(ticketRecord{v.account, v.by[:], v.object, v.made, expires, v.link, v.label, revoked})
	if err == nil {
		_, err = t.shared.Put(ctx, persistence.Write{Key: ticketPrefix + hex.EncodeToString(sum[:]), Value: b, Expires: expires, Durable: true})
	}
	if err != nil {
		return fmt.Errorf("keep a ticket: %w", err)
	}
	return nil
}

// of finds a living ticket for an object.
func (t *tickets) of(ctx context.Context, plain, object string, now time.Time) (*ticket, bool, error) {
	found, err := t.find(ctx, plain)
	return found, found != nil && found.object == object && found.expires.After(now), err
}

// find finds a ticket; nil: there is none.
func (t *tickets) find(ctx context.Context, plain string) (*ticket, error) {
	sum := ticketSum(sha256.Sum256([]byte(plain)))
	t.mu.Lock()
	found := t.alive[sum]
	t.mu.Unlock()
	if found == nil && t.shared != nil { // it may just have been made, at another node
		r, err := t.shared.Get(ctx, ticketPrefix+hex.EncodeToString(sum[:]))
		switch {
		case errors.Is(err, persistence.ErrNotFound):
		case err != nil:
			return nil, fmt.Errorf("look for a ticket: %w", err)
		default:
			found = t.learn(r)
		}
	}
	return found, nil
}

// learn takes over what another node has written; nil: there is no such ticket.
func (t *tickets) learn(r persistence.Record) *ticket {
	var rec ticketRecord
	sum, ok := sumOf(r.Key)
	if err := json.Unmarshal(r.Value, &rec); err != nil || !ok {
		t.log.Error().Err(err).Msg("a ticket record of another node could not be read")
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.alive[sum]
	if rec.Revoked {
		t.ended[sum] = endedTicket{rec.Account.ID, rec.Link, rec.Expires}
	}
	switch {
	case rec.Revoked && known != nil:
		delete(t.alive, sum)
		close(known.revoked)
		return nil
	case rec.Revoked || !rec.Expires.After(time.Now()):
		return nil
	case known == nil:
		known = &ticket{
			id: sum.idOf(rec.Link), account: rec.Account, object: rec.Object, made: rec.Made, expires: rec.Expires,
			revoked: make(chan struct{}), link: rec.Link, label: rec.Label, written: true,
		}
		copy(known.by[:], rec.By)
		t.alive[sum] = known
	}
	return known
}

// drop forgets a ticket whose time is over. What it has opened goes on for as long
// as it may.
func (t *tickets) drop(key string) {
	if sum, ok := sumOf(key); ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.alive, sum)
		delete(t.ended, sum)
	}
}

// listWithin bounds the reading of all tickets.
const listWithin = 30 * time.Second

// followAgain is how long after a failure the other nodes are listened to again.
const followAgain = time.Second

// follow reads what the other nodes write, until ctx ends or the store is closed.
func (t *tickets) follow(ctx context.Context) {
	for {
		if errors.Is(t.hear(ctx), persistence.ErrClosed) {
			return
		}
		pause := time.NewTimer(followAgain)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
	}
}

// hear takes over what is there and what changes, until that ends.
func (t *tickets) hear(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := t.shared.Watch(ctx, ticketPrefix)
	if err != nil {
		return err
	}
	listed := time.Now()
	listing, enough := context.WithTimeout(ctx, listWithin)
	all, err := t.shared.List(listing, ticketPrefix)
	enough()
	if err != nil {
		return err
	}
	t.reconcile(all, listed)
	for e := range changes {
		if e.Deleted { // its time is over
			t.drop(e.Key)
		} else {
			t.learn(e.Record)
		}
	}
	return nil // it has lost the thread, or the store is closed
}

// reconcile learns what there is, and ends the tickets that were revoked while this
// node did not follow: those that have no record any more. The record of a younger
// one still says that it was revoked.
func (t *tickets) reconcile(all []persistence.Record, listed time.Time) {
	there := map[ticketSum]bool{}
	for _, r := range all {
		if sum, ok := sumOf(r.Key); ok {
			there[sum] = true
		}
		t.learn(r)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for sum, v := range t.alive {
		if !there[sum] && v.written && listed.Sub(v.made) > rememberRevoked && v.expires.After(time.Now()) {
			delete(t.alive, sum)
			close(v.revoked)
		}
	}
}

// revoke ends a ticket of an account, and what it has opened at any node.
func (t *tickets) revoke(ctx context.Context, account, id string, link bool) (bool, error) {
	mine := func(v *ticket) bool { return v.id == id && v.account.ID == account && v.link == link }
	digits := id[max(len(id)-ticketDigits, 0):]
	if _, err := hex.DecodeString(digits); t.shared != nil && err == nil && len(digits) == ticketDigits && !t.knows(mine) {
		all, err := t.shared.List(ctx, ticketPrefix+digits)
		if err != nil {
			return false, fmt.Errorf("look for a ticket: %w", err)
		}
		for _, r := range all {
			t.learn(r)
		}
	}
	n, err := t.end(ctx, mine)
	return n > 0, err
}

func (t *tickets) knows(is func(*ticket) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range t.alive {
		if is(v) {
			return true
		}
	}
	return false
}

// fall ends all tickets that a token has made.
func (t *tickets) revokeMadeBy(ctx context.Context, by persistence.Digest) error {
	_, err := t.end(ctx, func(v *ticket) bool { return v.by == by })
	return err
}

// forget ends all tickets of an account.
func (t *tickets) forget(ctx context.Context, account string) error {
	_, err := t.end(ctx, func(v *ticket) bool { return v.account.ID == account })
	return err
}

// end ends tickets: here at once, and then for the others.
func (t *tickets) end(ctx context.Context, is func(*ticket) bool) (int, error) {
	ended, soon := map[ticketSum]*ticket{}, time.Now().Add(rememberRevoked)
	t.mu.Lock()
	for k, v := range t.alive {
		if is(v) {
			delete(t.alive, k)
			close(v.revoked)
			ended[k] = v
			t.ended[k] = endedTicket{v.account.ID, v.link, soon}
		}
	}
	t.mu.Unlock()
	var err error
	for sum, v := range ended {
		err = errors.Join(err, t.write(ctx, sum, v, true))
	}
	return len(ended), err
}

// linkViewers counts the clients of each link of an account.
func (t *tickets) linkViewers(account string) map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	by := map[string]int{}
	for _, v := range t.alive {
		if v.link && v.account.ID == account && v.viewers > 0 {
			by[v.id] = v.viewers
		}
	}
	return by
}

// LinkViewers returns how many clients of this process use each link of an account.
func (s *Authorizer) LinkViewers(account string) map[string]int {
	return s.tickets.linkViewers(account)
}
