package backlog

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"troupe/engine"
)

// Prefix begins the keys of waiting tasks.
const Prefix = "queued/"

// AccountPrefix begins those of an account.
func AccountPrefix(account string) string { return Prefix + account + "/" }

// Lane is a line of tasks in which one follows the other.
type Lane struct {
	Account     string
	Group       string // its hash; empty: none
	Concurrency int    // of the group
	Priority    int
}

// Prefix begins the keys of the lane's tasks.
func (l Lane) Prefix() string {
	return AccountPrefix(l.Account) + l.groupPart() + "/" + strconv.Itoa(engine.MaxPriority-l.Priority) + "/"
}

const noGroup = "-"

func (l Lane) groupPart() string {
	if l.Group == "" {
		return noGroup
	}
	return l.Group + strconv.FormatInt(int64(l.Concurrency), 36)
}

// Place is where a task waits.
type Place struct {
	Lane
	// Order is the time from which the task may run, see [Clock]. Tasks of a lane run
	// in its order.
	Order uint64
}

// orderDigits is the length of an order as text, groupLength that of a group's hash.
const (
	orderDigits = 14
	groupLength = 8
)

func (p Place) order() string { return fmt.Sprintf("%0*x", orderDigits, p.Order) }

// Key is the key of the record of a task that waits at the place.
func (p Place) Key(task string) string { return p.Prefix() + p.order() + "/" + task }

// At is when a task at the place may begin.
func (p Place) At() time.Time { return time.UnixMilli(int64(p.Order >> counterBits)) }

// mark is between the identifier of any task and the place of a queued one.
const mark = "_q"

// TaskID is the identifier of a task that is first queued at the place: base, and
// what leads to its record.
func (p Place) TaskID(base string) string {
	id := base + mark + strconv.Itoa(p.Priority) + p.order()
	if p.Group != "" {
		id += p.groupPart()
	}
	return id
}

// PlaceOf reads the place at which a task was first queued from its identifier.
func PlaceOf(account, task string) (p Place, ok bool) {
	at := strings.LastIndex(task, mark)
	if at < 0 {
		return p, false
	}
	text := task[at+len(mark):]
	if len(text) < 1+orderDigits {
		return p, false
	}
	p.Account = account
	return p, p.read(text[:1], text[1:1+orderDigits], text[1+orderDigits:])
}

// ParseKey reads the place and the task of a record.
func ParseKey(key string) (p Place, task string, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 6 || parts[0]+"/" != Prefix {
		return p, "", false
	}
	p.Account = parts[1]
	group := parts[2]
	if group == noGroup {
		group = ""
	}
	if ok = p.read(parts[3], parts[4], group); ok {
		p.Priority = engine.MaxPriority - p.Priority
	}
	return p, parts[5], ok
}

func (p *Place) read(priority, order, group string) bool {
	var err error
	if p.Priority, err = strconv.Atoi(priority); err != nil || p.Priority < 0 || p.Priority > engine.MaxPriority {
		return false
	}
	if p.Order, err = strconv.ParseUint(order, 16, 64); err != nil || len(order) != orderDigits {
		return false
	}
	if group == "" {
		return true
	}
	if len(group) <= groupLength {
		return false
	}
	n, err := strconv.ParseInt(group[groupLength:], 36, 32)
	p.Group, p.Concurrency = group[:groupLength], int(n)
	return err == nil && n >= 1
}

// LaneFor is the lane of a task with these options.
func LaneFor(account string, q *engine.Queue) Lane {
	l := Lane{Account: account, Priority: q.Priority}
	if q.Group != "" {
		l.Group, l.Concurrency = groupOf(q.Group), q.Concurrency
	}
	return l
}

// LaneOf is the lane of a task of the queue. Tasks that wait for the same profile are a
// group of which one runs at a time, unless they name another one.
func LaneOf(account string, t *engine.Task) Lane {
	l := LaneFor(account, t.Queue)
	if t.Profile.Waits() && l.Group == "" {
		l.Group, l.Concurrency = groupOf("profile\x00"+t.Profile.Name), 1
	}
	return l
}

func groupOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

// counterBits are the low bits of an order: they keep tasks of one millisecond apart.
const counterBits = 12

// Clock gives orders. Orders of tasks that may run at once grow with each call.
type Clock struct {
	mu    sync.Mutex
	last  uint64
	count uint64
}

// Order is that of a task that may run from a time on. Now is the time of the call.
func (c *Clock) Order(now, from time.Time) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from.After(now) {
		c.count++
		return uint64(from.UnixMilli())<<counterBits | c.count&(1<<counterBits-1)
	}
	c.last = max(c.last+1, uint64(max(now.UnixMilli(), 0))<<counterBits)
	return c.last
}
