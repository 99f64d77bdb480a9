package admin

import (
	"fmt"
	"sync"
	"time"

	"troupe/engine"
	"troupe/http/answer"
)

// Commands over HTTP that change something are bounded, all operators' together:
// so nobody can push what they did out of the audit log within days.
const (
	commandBurst = 600
	commandEvery = 6 * time.Second
)

// commandLimiter says when as many commands as [commandBurst] may come again.
type commandLimiter struct {
	mu   sync.Mutex
	even time.Time
}

// wait takes one command out of the budget, or says how long to wait for one.
func (b *commandLimiter) wait(now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.even.Before(now) {
		b.even = now
	}
	if wait = b.even.Sub(now) - (commandBurst-1)*commandEvery; wait > 0 {
		return wait
	}
	b.even = b.even.Add(commandEvery)
	return 0
}

// viewLog remembers which live pictures of other accounts operators look at: a
// page that connects again is no new act.
type viewLog struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

const (
	viewAgain = time.Hour
	maxViews  = 10_000
)

// seenLately reports whether something was looked at within the last hour, and notes
// that it is now.
func (b *viewLog) seenLately(what string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at, ok := b.seen[what]; ok && now.Sub(at) < viewAgain {
		return true
	}
	if b.seen == nil || len(b.seen) >= maxViews {
		b.seen = map[string]time.Time{}
	}
	b.seen[what] = now
	return false
}

// admit refuses what is over the budget.
func (b *commandLimiter) admit() *answer.Refusal {
	wait := b.wait(time.Now())
	if wait <= 0 {
		return nil
	}
	no := answer.RefuseText(engine.CodeRateLimited, fmt.Sprintf("Operators have sent %d commands over HTTP within an hour: wait, or use the command line on the machine itself", commandBurst))
	no.RetryAfter = wait
	return no
}
