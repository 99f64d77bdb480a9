package actors

import "sync"

// lent is what callers have lent to their tasks, and what messages cannot hold, as
// they are plain data: the functions that free a task's files, or are asked before
// it begins. Messages have the numbers; 0 is nothing.
type callbacks[F any] struct {
	mu   sync.Mutex
	last uint64
	all  map[uint64]F
}

func (l *callbacks[F]) add(f F) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[uint64]F{}
	}
	l.last++
	l.all[l.last] = f
	return l.last
}

// get looks at what may have been taken back.
func (l *callbacks[F]) get(n uint64) (f F, there bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, there = l.all[n]
	return f, there
}

// take gives it back to one caller; false: somebody else has it.
func (l *callbacks[F]) take(n uint64) (f F, there bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, there = l.all[n]
	delete(l.all, n)
	return f, there
}

// rest takes all that is left.
func (l *callbacks[F]) takeAll() (all []F) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, f := range l.all {
		all = append(all, f)
		delete(l.all, n)
	}
	return all
}

// free frees what was lent to a task, beside the mailbox.
func (n *nodeParts) cleanUpFiles(files uint64) {
	if free, there := n.fileCleanups.take(files); there {
		n.background.Go(func() { n.runCleanup(free) })
	}
}

func (n *nodeParts) runCleanup(free func()) {
	if err := protect(func() error { free(); return nil }); err != nil {
		n.log.Error().Err(err).Msg("files of a task not removed")
	}
}
