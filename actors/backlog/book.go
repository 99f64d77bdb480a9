package backlog

import (
	"slices"
	"time"

	"troupe/engine"
	"troupe/persistence/clock"
)

// Book knows which tasks wait, as far as it must to say which one runs next: of each
// lane the next few keys and how many there are. It is told of each task that is
// added, and asks for more keys of a lane when it runs out of them, see [Book.Wants].
type Book struct {
	accounts map[string]*account
	running  map[string]taken // by task
	waiting  int
	turn     uint64
	clock    *clock.Clock
	showed   time.Time // the wall clock, when it was looked at last
	soonest  time.Time // no task begins earlier that may not yet, see [Book.NextAt]; zero: unknown
}

// account is what waits for one account.
type account struct {
	turn    uint64 // the lowest is next
	lanes   map[Lane]*lane
	groups  map[string]int       // tasks of a group that run
	paused  map[string]clock.Due // groups of which nothing runs before a time
	running int
	until   clock.Due // nothing of it runs before
	waiting [engine.MaxPriority + 1]int
	bytes   int64
	// first and next are numbers of tasks of a priority: about that of the first one
	// that waits, and that of the next to be added.
	first, next [engine.MaxPriority + 1]uint64
	gap         time.Duration // between the last tasks that began, smoothed
	began       time.Time     // the last one
	starts      int
}

// NewBook makes an empty book, over a wall clock.
func NewBook(c *clock.Clock) *Book {
	return &Book{accounts: map[string]*account{}, running: map[string]taken{}, clock: c}
}

func (b *Book) account(name string) *account {
	a := b.accounts[name]
	if a == nil {
		b.turn++
		a = &account{turn: b.turn, lanes: map[Lane]*lane{}, groups: map[string]int{}}
		b.accounts[name] = a
	}
	return a
}

// lane finds a lane; empty: nothing of it was on the disk when it is made.
func (a *account) lane(id Lane, empty bool) *lane {
	l := a.lanes[id]
	if l == nil {
		l = &lane{Lane: id, whole: empty, adding: map[string]bool{}}
		a.lanes[id] = l
	}
	return l
}

// tidy drops what nothing waits in.
func (b *Book) tidy(name string, id Lane) {
	a := b.accounts[name]
	if a == nil {
		return
	}
	if l := a.lanes[id]; l != nil && l.whole && !l.loading && len(l.window)+len(l.held)+len(l.adding)+len(l.gone) == 0 {
		delete(a.lanes, id)
	}
	if len(a.lanes) == 0 && a.running == 0 {
		delete(b.accounts, name)
	}
}

// Len is how many tasks wait.
func (b *Book) Len() int { return b.waiting }

// Running is how many tasks were taken and have not ended.
func (b *Book) Running() int { return len(b.running) }

// IsRunning reports whether a task was taken and has not ended.
func (b *Book) IsRunning(task string) bool { _, is := b.running[task]; return is }

// Waiting is how many tasks of an account wait, and how many bytes they have.
func (b *Book) Waiting(name string) (tasks int, bytes int64) {
	a := b.accounts[name]
	if a == nil {
		return 0, 0
	}
	for _, n := range a.waiting {
		tasks += n
	}
	return tasks, a.bytes
}

// Groups is how many groups of an account have tasks that wait, with this lane.
func (b *Book) Groups(with Lane) int {
	groups := map[string]bool{with.Group: true}
	if a := b.accounts[with.Account]; a != nil {
		for id := range a.lanes {
			groups[id.Group] = true
		}
	}
	delete(groups, "")
	return len(groups)
}

func (b *Book) count(a *account, p Place, n int, bytes int64) {
	b.waiting += n
	a.waiting[p.Priority] += n
	a.bytes = max(a.bytes+bytes, 0)
}

// Found takes in a task that was on the disk at the start. All are found before
// anything else is done. The numbers are those in their records, of the first one of
// each lane alone; zero of the others.
func (b *Book) Found(p Place, bytes int64, number uint64) {
	a := b.account(p.Account)
	a.lane(p.Lane, false).whole = false
	b.count(a, p, 1, bytes)
	if first := &a.first[p.Priority]; number > 0 && (*first == 0 || number < *first) {
		*first = number
	}
	a.next[p.Priority] = a.first[p.Priority] + uint64(a.waiting[p.Priority])
}

// Adding takes in a task that is about to be written, and returns its number.
// [Book.Added] or [Book.NotAdded] must follow.
func (b *Book) Adding(p Place, task string, bytes int64) (number uint64) {
	a := b.account(p.Account)
	a.lane(p.Lane, true).adding[p.Key(task)] = true
	b.count(a, p, 1, bytes)
	if a.next[p.Priority] == 0 {
		a.first[p.Priority], a.next[p.Priority] = 1, 1
	}
	a.next[p.Priority]++
	return a.next[p.Priority] - 1
}

// Has reports whether a task is known to wait, or is among those on the disk that are still
// to be read.
func (b *Book) Has(p Place, task string) bool {
	a := b.accounts[p.Account]
	if a == nil || a.lanes[p.Lane] == nil {
		return false
	}
	return a.lanes[p.Lane].has(p.Key(task))
}

// Added says that the task is on the disk, with how many bytes, and how many it was
// counted with.
func (b *Book) Added(p Place, task string, bytes, counted int64) {
	if a := b.accounts[p.Account]; a != nil {
		if l := a.lanes[p.Lane]; l != nil {
			key := p.Key(task)
			delete(l.adding, key)
			l.insert(item{key: key, bytes: bytes})
			b.note(p.At())
			b.count(a, p, 0, bytes-counted)
		}
	}
}

// NotAdded says that it is not.
func (b *Book) NotAdded(p Place, task string, bytes int64) {
	if a := b.accounts[p.Account]; a != nil {
		if l := a.lanes[p.Lane]; l != nil {
			delete(l.adding, p.Key(task))
		}
		b.count(a, p, -1, -bytes)
		b.tidy(p.Account, p.Lane)
	}
}

// Load is a question for the next keys of a lane.
type Load struct {
	Lane  Lane
	After string // the key behind which they are
	Most  int
}

// Wants lists the lanes that need more keys. [Book.Loaded] must follow for each.
func (b *Book) Wants() (all []Load) {
	for _, a := range b.accounts {
		for _, l := range a.lanes {
			if !l.whole && !l.loading && len(l.window) <= l.most()/2 {
				l.loading = true
				all = append(all, Load{l.Lane, l.cursor, l.most()})
			}
		}
	}
	return all
}

// Found is a key that was read, with the size of its value.
type Found struct {
	Key    string
	Size   int64
	Begins *clock.Due // when its task may begin, where the key does not say it
}

// Loaded takes in the keys that were asked for. Without them, after a failure, they
// are asked for again.
func (b *Book) Loaded(m Load, keys []Found, failed bool) {
	if a := b.accounts[m.Lane.Account]; a != nil {
		if l := a.lanes[m.Lane]; l != nil {
			l.loaded(m, keys, failed)
			b.soonest = time.Time{}
			b.tidy(m.Lane.Account, m.Lane)
		}
	}
}

// Next takes the task that runs next. [Book.Ended] or [Book.PutBack] must follow.
func (b *Book) Next(now time.Time) (p Place, task string, ok bool) {
	var best *account
	var from *lane
	at := b.see(now)
	for _, a := range b.accounts {
		if best != nil && a.turn > best.turn || !at.came(a.until) {
			continue
		}
		if l := a.next1(at); l != nil {
			best, from = a, l
		}
	}
	if best == nil {
		return p, "", false
	}
	it := from.take(at)
	p, task, ok = ParseKey(it.key)
	b.turn++
	best.turn = b.turn
	b.count(best, p, -1, -it.bytes)
	if _, twice := b.running[task]; !twice { // where others write records, it may wait again before that is heard of
		best.running++
		if p.Group != "" {
			best.groups[p.Group]++
		}
	}
	b.running[task] = taken{p, it.bytes}
	best.start(now)
	return p, task, ok
}

// next1 is the lane with the account's next task; nil: there is none that may begin.
func (a *account) next1(at moment) (best *lane) {
	var first string
	for id, l := range a.lanes {
		if id.Group != "" && (a.groups[id.Group] >= id.Concurrency || !at.came(a.paused[id.Group])) {
			continue
		}
		it, ok := l.head(at)
		if !ok {
			continue
		}
		order := it.key[len(l.Prefix()):]
		if best == nil || id.Priority > best.Priority || id.Priority == best.Priority && order < first {
			best, first = l, order
		}
	}
	return best
}

// taken is a task that runs, with how many bytes it is counted when it waits again.
type taken struct {
	Place
	bytes int64
}

// Resume takes in a task that runs, and whose record, of so many bytes, is in the queue until
// its end. [Book.Ended] and [Book.Removed] must follow.
func (b *Book) Resume(p Place, task string, bytes int64) {
	a := b.account(p.Account)
	l := a.lane(p.Lane, false)
	l.whole = false
	if l.gone == nil {
		l.gone = map[string]bool{}
	}
	l.gone[p.Key(task)] = true
	b.running[task] = taken{p, bytes}
	a.running++
	if p.Group != "" {
		a.groups[p.Group]++
	}
}

// Ended says that a task that was taken does not run any more.
func (b *Book) Ended(task string) {
	p, was := b.running[task]
	if !was {
		return
	}
	delete(b.running, task)
	a := b.account(p.Account)
	a.running--
	if p.Group != "" {
		if a.groups[p.Group]--; a.groups[p.Group] <= 0 {
			delete(a.groups, p.Group)
		}
	}
	b.tidy(p.Account, p.Lane)
}

// PutBack returns a task that was taken and has not begun to its place, until a time.
func (b *Book) PutBack(task string, until clock.Due) {
	p, was := b.running[task]
	if !was {
		return
	}
	a := b.account(p.Account)
	l := a.lane(p.Lane, true)
	l.held = append(l.held, heldItem{item{key: p.Key(task), bytes: p.bytes}, until})
	b.soonest = time.Time{}
	slices.SortFunc(l.held, func(x, y heldItem) int { return compare(x.key, y.key) })
	b.count(a, p.Place, 1, p.bytes)
	b.Ended(task)
}

// Remove takes a waiting task out, which is about to be deleted. [Book.Removed] must
// follow.
func (b *Book) Remove(p Place, task string, bytes int64) {
	a := b.accounts[p.Account]
	if a == nil || a.lanes[p.Lane] == nil {
		return
	}
	a.lanes[p.Lane].remove(p.Key(task))
	b.count(a, p, -1, -bytes)
}

// Removed says that the record of a removed task is deleted.
func (b *Book) Removed(p Place, task string) {
	a := b.accounts[p.Account]
	if a == nil || a.lanes[p.Lane] == nil {
		return
	}
	a.lanes[p.Lane].removed(p.Key(task))
	b.tidy(p.Account, p.Lane)
}

// Forget drops all that waits for an account.
func (b *Book) Forget(name string) {
	a := b.accounts[name]
	if a == nil {
		return
	}
	for _, n := range a.waiting {
		b.waiting -= n
	}
	delete(b.accounts, name)
	for task, p := range b.running {
		if p.Account == name {
			delete(b.running, task)
		}
	}
}

// Oldest is since when the task may begin that waits longest, or when the first may: a time
// that is to come. Zero: none waits. Tasks of an account that has come to a limit of its plan
// do not count until it may go on.
func (b *Book) Oldest(now time.Time) (at time.Time) {
	first := func(key string) {
		if p, _, ok := ParseKey(key); ok && (at.IsZero() || p.At().Before(at)) {
			at = p.At()
		}
	}
	for _, a := range b.accounts {
		if b.clock.Left(a.until, now) > 0 {
			continue
		}
		for _, l := range a.lanes {
			if len(l.window) > 0 {
				first(l.window[0].key)
			}
			if len(l.held) > 0 {
				first(l.held[0].key)
			}
		}
	}
	return at
}
