package access

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// Bounds of how often an address may be wrong about a token.
const (
	GuessBurst  = 10              // at once
	guessEvery  = 6 * time.Second // one more after so long
	maxGuessers = 1 << 16         // addresses that are remembered; the rest share one row
	maxProven   = 1 << 14         // tokens that are remembered as good
)

// authLimiter bounds how often an address may try tokens. After too many tries, it
// refuses the address before it checks a token, so even the right one changes nothing. A
// token that was valid before still works: it may share the address with a guesser.
type authLimiter struct {
	seed maphash.Seed

	mu     sync.Mutex
	rows   map[netip.Prefix]guessRow
	rest   guessRow // of all addresses for which there was no room
	swept  time.Time
	proven map[uint64]struct{}
}

// guessRow says when an address is where it would be without a wrong token.
// Each one moves that moment; how far it lies ahead is what is owed.
type guessRow struct{ even time.Time }

func newAuthLimiter() *authLimiter {
	return &authLimiter{seed: maphash.MakeSeed(), rows: map[netip.Prefix]guessRow{}, proven: map[uint64]struct{}{}}
}

// wait returns how long an address has to wait before it may show a token.
func (g *authLimiter) wait(from netip.Prefix, token string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	row, known := g.rows[from]
	if !known {
		if len(g.rows) < maxGuessers {
			return 0
		}
		row = g.rest
	}
	free := row.even.Add(-(GuessBurst - 1) * guessEvery)
	if !free.After(now) {
		return 0
	}
	if _, ok := g.proven[maphash.String(g.seed, token)]; ok {
		return 0
	}
	return free.Sub(now)
}

// wrong notes a token that nobody has.
func (g *authLimiter) wrong(from netip.Prefix, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	row, known := g.rows[from]
	if !known && len(g.rows) >= maxGuessers && now.Sub(g.swept) >= guessEvery {
		g.swept = now
		for k, r := range g.rows {
			if !r.even.After(now) {
				delete(g.rows, k)
			}
		}
	}
	switch {
	case !known && len(g.rows) >= maxGuessers:
		g.rest.add(now)
	default:
		row.add(now)
		g.rows[from] = row
	}
}

func (r *guessRow) add(now time.Time) {
	if r.even.Before(now) {
		r.even = now
	}
	r.even = r.even.Add(guessEvery)
}

// right notes a valid token. The wrong tries still count: an account's own token must
// not let it try others faster.
func (g *authLimiter) right(token string) {
	h := maphash.String(g.seed, token)
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.proven[h]; ok {
		return
	}
	if len(g.proven) >= maxProven {
		for k := range g.proven {
			delete(g.proven, k)
			break
		}
	}
	g.proven[h] = struct{}{}
}
