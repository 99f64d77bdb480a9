package socket

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"troupe/persistence"
)

// ticketTime is how long a ticket may be used that opens one connection.
const ticketTime = time.Minute

// maxTickets is how many tickets an account may have at once.
const maxTickets = 1000

// ticketSign begins every ticket.
const ticketSign = "attach_"

// ticket lets its bearer attach to one session. It stands in an address, where a token must not:
// most clients can send no headers. It is in no store, for its session is at this node.
type ticket struct {
	account persistence.Account
	by      persistence.Digest // the token that made it, and that it is worth no more than
	session string
	expires time.Time // zero: with its session
}

type tickets struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]*ticket // by the hash: memory that leaks holds none
}

// issue makes a ticket, unless the account has too many. alive reports which sessions of the
// account there are.
func (t *tickets) issue(n ticket, now time.Time, alive func(session string) bool) (plain string, ok bool) {
	secret := make([]byte, 32)
	rand.Read(secret)
	plain = ticketSign + base64.RawURLEncoding.EncodeToString(secret)
	t.mu.Lock()
	defer t.mu.Unlock()
	own := 0
	for sum, v := range t.all {
		switch {
		case v.over(now), v.account.ID == n.account.ID && !alive(v.session):
			delete(t.all, sum)
		case v.account.ID == n.account.ID:
			own++
		}
	}
	if own >= maxTickets {
		return "", false
	}
	if t.all == nil {
		t.all = map[[sha256.Size]byte]*ticket{}
	}
	t.all[sha256.Sum256([]byte(plain))] = &n
	return plain, true
}

func (v *ticket) over(now time.Time) bool { return !v.expires.IsZero() && !v.expires.After(now) }

// find finds a ticket of a session; nil: there is none.
func (t *tickets) find(plain, session string, now time.Time) *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.all[sha256.Sum256([]byte(plain))]
	if v == nil || v.session != session || v.over(now) {
		return nil
	}
	return v
}

// use uses up a ticket that opens one connection. It reports whether nobody else has.
func (t *tickets) use(plain string) bool {
	sum := sha256.Sum256([]byte(plain))
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.all[sum]
	if v != nil && !v.expires.IsZero() {
		delete(t.all, sum)
	}
	return v != nil
}

// forget ends the tickets of a session, or those that a token has made.
func (t *tickets) forget(is func(*ticket) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for sum, v := range t.all {
		if is(v) {
			delete(t.all, sum)
		}
	}
}
