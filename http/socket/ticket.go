package socket

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
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
// most clients can send no headers. It is in no store: other nodes ask the one that has made it.
type ticket struct {
	account persistence.Account
	by      persistence.Digest // the token that made it, and that it is worth no more than
	session string
	expires time.Time // zero: with its session
}

// carriedTicket is a ticket for another node.
type carriedTicket struct {
	Account persistence.Account `json:"account"`
	By      []byte              `json:"by"`
}

// Ticket returns a ticket of this node for another one: see [Others].
func (s *Sockets) Ticket(sum []byte, session string, use bool) []byte {
	if len(sum) != sha256.Size {
		return nil
	}
	t := s.tickets.find([sha256.Size]byte(sum), session, use, time.Now())
	if t == nil {
		return nil
	}
	b, err := json.Marshal(carriedTicket{t.account, t.by[:]})
	if err != nil {
		return nil
	}
	return b
}

// ticket finds a ticket, whichever node has made it, and uses it up if it is to.
func (s *Sockets) ticket(ctx context.Context, plain, session string, use bool) *ticket {
	sum := sha256.Sum256([]byte(plain))
	t := s.tickets.find(sum, session, use, time.Now())
	if t != nil || s.cfg.Others == nil || !strings.HasPrefix(plain, ticketSign) {
		return t
	}
	var found carriedTicket
	b := s.cfg.Others.SessionTicket(ctx, sum[:], session, use)
	if json.Unmarshal(b, &found) != nil || found.Account.ID == "" {
		return nil
	}
	t = &ticket{account: found.Account, session: session}
	copy(t.by[:], found.By)
	return t
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

// find finds a ticket of a session, and uses it up if it opens one connection and is to. Nil: there
// is none, or somebody else has used it.
func (t *tickets) find(sum [sha256.Size]byte, session string, use bool, now time.Time) *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.all[sum]
	if v == nil || v.session != session || v.over(now) {
		return nil
	}
	if use && !v.expires.IsZero() {
		delete(t.all, sum)
	}
	return v
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
