package actors

import "sync"

// lent is what callers have lent to tasks that go on without them: each has the
// function that frees it, known by a number, as messages are plain data.
type lent struct {
	mu   sync.Mutex
	last uint64
	all  map[uint64]func()
}

// add keeps what frees something; nil: there is nothing to free, which is number 0.
func (l *lent) add(free func()) uint64 {
	if free == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[uint64]func(){}
	}
	l.last++
	l.all[l.last] = free
	return l.last
}

// take gives back what frees it, to one caller; nil: somebody else has it.
func (l *lent) take(n uint64) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := l.all[n]
	delete(l.all, n)
	return free
}

// rest takes all that is left.
func (l *lent) rest() (all []func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, free := range l.all {
		all = append(all, free)
		delete(l.all, n)
	}
	return all
}

// free frees what was lent to a task, beside the mailbox.
func (n *nodeParts) free(files uint64) {
	if free := n.lent.take(files); free != nil {
		n.goes.Go(func() { n.freed(free) })
	}
}

func (n *nodeParts) freed(free func()) {
	if err := protect(func() error { free(); return nil }); err != nil {
		n.log.Error().Err(err).Msg("files of a task not removed")
	}
}
