package access

import (
	"net/netip"
	"sync"
	"time"
)

// Bounds of how often an address may be wrong about a token.
const (
	GuessBurst  = 10              // at once
	guessEvery  = 6 * time.Second // one more after so long
	maxGuessers = 1 << 16         // addresses that are remembered; the rest share one row
)

// How often wrong tokens are logged.
const (
	toldEvery = time.Minute // of one address
	maxTold   = 20          // lines in that time, of all addresses
)

// authLimiter counts tokens that nobody has, by address. A valid token is never counted and
// never refused, whatever else its address sends: a token has 256 random bits, so looking
// one up gives nothing away.
type authLimiter struct {
	mu    sync.Mutex
	rows  map[netip.Prefix]guessRow
	rest  guessRow // of all addresses for which there was no room
	swept time.Time

	told  int       // lines in the log since
	since time.Time // this moment
}

// guessRow says when an address is where it would be without a wrong token.
// Each one moves that moment; how far it lies ahead is what is owed.
type guessRow struct {
	even   time.Time
	told   time.Time // the log has it
	untold int       // wrong tokens since
}

func newAuthLimiter() *authLimiter {
	return &authLimiter{rows: map[netip.Prefix]guessRow{}}
}

// wrong notes a token that nobody has. It returns how long its address is refused further
// ones; zero: this one was within what an address may. Tell is how many wrong tokens of the
// address are to be logged now; zero: none.
func (g *authLimiter) wrong(from netip.Prefix, now time.Time) (wait time.Duration, tell int) {
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
	to := &row
	if !known && len(g.rows) >= maxGuessers {
		to = &g.rest
	}
	wait = to.add(now)
	if to.untold++; now.Sub(to.told) >= toldEvery && g.mayTell(now) {
		tell, to.told, to.untold = to.untold, now, 0
	}
	if to == &row {
		g.rows[from] = row
	}
	return wait, tell
}

// add counts a wrong token, unless the address has used up what it may.
func (r *guessRow) add(now time.Time) (wait time.Duration) {
	if free := r.even.Add(-(GuessBurst - 1) * guessEvery); free.After(now) {
		return free.Sub(now)
	}
	if r.even.Before(now) {
		r.even = now
	}
	r.even = r.even.Add(guessEvery)
	return 0
}

// mayTell bounds the lines of all addresses: somebody with many of them fills no disk.
func (g *authLimiter) mayTell(now time.Time) bool {
	if now.Sub(g.since) >= toldEvery {
		g.told, g.since = 0, now
	}
	g.told++
	return g.told <= maxTold
}
