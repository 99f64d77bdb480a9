package backlog

// Demand is who wants the workers of a node.
type Demand struct {
	Workers int // that have a browser and are held by no session
	Queued  int // of them, those that play queued tasks
	// Synchronous is how many workers tasks that are not queued have wanted at once
	// lately, see [Lately].
	Synchronous int
	LastQueued  bool // a queued task got the last worker that both wanted
}

// QueueMay is how many workers queued tasks may have at once: all of them while
// nobody else wants one. Else as many stay free as synchronous tasks have wanted, and
// one more for the next, up to half. A queue always gets one.
func (d Demand) QueueMay() int {
	if d.Workers == 0 {
		return 0
	}
	keep := 0
	if d.Synchronous > 0 {
		keep = min(d.Synchronous+1, d.Workers/2)
	}
	return max(d.Workers-keep, 1)
}

// Owes reports whether queued tasks have a worker more than they may, beside those that
// so many synchronous tasks wait for already. The next one that becomes free is theirs:
// see [Demand.QueueFirst].
func (d Demand) Owes(waiting int) bool { return d.Queued-d.QueueMay() > waiting }

// QueueFirst reports whether a worker goes to a queued task where a synchronous one
// waits for it as well: while the queue has less than half of the workers. The middle
// one of an odd number goes to both in turn.
func (d Demand) QueueFirst() bool {
	switch half := d.Workers / 2; {
	case d.Queued < half:
		return true
	case d.Queued == half && d.Workers%2 == 1:
		return !d.LastQueued
	default:
		return false
	}
}

// Lately remembers the most of something in the last one to two spans of time.
type Lately struct{ now, before int }

// Add takes a value in.
func (l *Lately) Add(n int) { l.now = max(l.now, n) }

// Most is the most that was added.
func (l *Lately) Most() int { return max(l.now, l.before) }

// Turn begins another span.
func (l *Lately) Turn() { l.now, l.before = 0, l.now }
