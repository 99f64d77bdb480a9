package access

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// tries counts wrong tokens.
type tries struct{ *authLimiter }

// try shows a token that nobody has, and returns how long the address has to wait.
func (g tries) try(from string, now time.Time) time.Duration {
	wait, _ := g.wrong(Network(netip.MustParseAddr(from)), now)
	return wait
}

// TestGuessesOverTime runs on a time of its own: how the right to guess comes
// back, and what many addresses do.
func TestGuessesOverTime(t *testing.T) {
	g, now := tries{newAuthLimiter()}, time.Now()
	tried := 0
	for range 3600 { // an hour of guesses, one a second
		if g.try("192.0.2.1", now) == 0 {
			tried++
		}
		now = now.Add(time.Second)
	}
	if most := GuessBurst + int(time.Hour/guessEvery); tried > most || tried < most-2 {
		t.Errorf("%d guesses in an hour, want %d", tried, most)
	}
	if wait := g.try("192.0.2.1", now.Add(24*time.Hour)); wait != 0 {
		t.Errorf("a day later: wait %v", wait)
	}

	// More addresses than there is room for share what is left.
	g, now = tries{newAuthLimiter()}, time.Now()
	for i := range maxGuessers + 1000 {
		g.try(fmt.Sprintf("2001:db8:%x:%x::1", i>>16, i&0xffff), now)
	}
	if len(g.rows) != maxGuessers {
		t.Errorf("%d addresses are remembered", len(g.rows))
	}
	if wait := g.try("2001:db8:ffff:ffff::1", now); wait == 0 {
		t.Error("addresses without a row guess without bounds")
	}
	if wait := g.try("2001:db8:ffff:ffff::1", now.Add(24*time.Hour)); wait != 0 {
		t.Errorf("a day later: wait %v", wait)
	}
	if len(g.rows) > 2 {
		t.Errorf("%d addresses are remembered a day later", len(g.rows))
	}
}

// TestToldOnceAMinute: of each address the log hears once a minute, with how many wrong
// tokens came since, and of many addresses it hears of some.
func TestToldOnceAMinute(t *testing.T) {
	g, now := newAuthLimiter(), time.Now()
	from := Network(netip.MustParseAddr("192.0.2.1"))
	var told []int
	for range 150 { // a second each
		if _, tell := g.wrong(from, now); tell > 0 {
			told = append(told, tell)
		}
		now = now.Add(time.Second)
	}
	if !slices.Equal(told, []int{1, 60, 60}) {
		t.Errorf("told %v", told)
	}
	lines := 0
	for i := range 10 * maxTold {
		if _, tell := g.wrong(Network(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)})), now.Add(toldEvery)); tell > 0 {
			lines++
		}
	}
	if lines != maxTold {
		t.Errorf("%d lines about %d addresses", lines, 10*maxTold)
	}
}
