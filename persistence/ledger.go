package persistence

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// ErrQuota: the account's storage is full.
var ErrQuota = errors.New("the account's storage is full")

// Allowance is how much an account may keep at once. Zero is no limit.
type Allowance struct {
	Bytes int64
	Files int
}

// Kept is what an account, or all of them, have stored: at rest and in progress.
type Kept struct {
	Bytes, HeldBytes int64
	Files, HeldFiles int
}

// Ledger counts what is stored for each account, in bytes and files, and refuses
// excess before it is written. Holds reserve room for writes in progress: they are
// released, or become stored files. The counts are in memory: they are taken from
// the files at each start. A nil Ledger limits nothing.
type Ledger struct {
	max int64                // bytes of all; 0: no limit
	own func() (int64, bool) // how many bytes the disk may still take; nil: any number
	mu  sync.Mutex
	all Kept
	by  map[string]*Kept       // accounts that keep anything
	ids map[string]ledgerEntry // files at rest

	records   map[string]recordsKept // by account
	parents   map[string]string      // accounts of the records that others belong to, by prefix and identifier
	meanwhile recordCounts           // what changes while records are counted; nil: they are not
	doubts    chan struct{}          // see Doubts

	counting bool            // a recount runs: it must not undo what happens meanwhile
	added    map[string]bool // meanwhile
	dropped  map[string]bool
}

type ledgerEntry struct {
	account string
	bytes   int64
	expires time.Time
}

// NewLedger makes a ledger that lets all accounts together keep max bytes, zero
// being no limit. free says how many more bytes the disk may take; nil: any
// number.
func NewLedger(max int64, free func() (int64, bool)) *Ledger {
	return &Ledger{max: max, own: free, by: map[string]*Kept{}, ids: map[string]ledgerEntry{}, records: map[string]recordsKept{}, parents: map[string]string{}, doubts: make(chan struct{}, 1)}
}

// Of returns what an account has stored.
func (l *Ledger) Of(account string) Kept {
	if l == nil {
		return Kept{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.by[account]; k != nil {
		return *k
	}
	return Kept{}
}

// All returns what all accounts have stored.
func (l *Ledger) All() Kept {
	if l == nil {
		return Kept{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// Bound is the effective limit of an account: no account gets more than half of
// the service's room, whatever its allowance, so that none can fill the service
// alone.
func (l *Ledger) Bound(within Allowance) Allowance {
	if l == nil {
		return within
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if half := l.room() / 2; half < math.MaxInt64/2 && (within.Bytes <= 0 || half < within.Bytes) {
		within.Bytes = max(half, 1) // zero would be no limit
	}
	return within
}

// room is how many bytes may be kept in all, with what is there.
func (l *Ledger) room() int64 {
	room := int64(math.MaxInt64)
	if l.max > 0 {
		room = l.max
	}
	if l.own != nil {
		if free, ok := l.own(); ok {
			room = min(room, max(l.all.Bytes+free, 0))
		}
	}
	return room
}

// Hold reserves room for a write. It is [ErrQuota] if the account would have too
// much, and [ErrFull] if the service would. An account at its limit does not
// affect others.
func (l *Ledger) Hold(account string, within Allowance, bytes int64, files int) (*Hold, error) {
	if l == nil {
		return nil, nil
	}
	h := &Hold{ledger: l, account: account, within: within}
	if err := h.Grow(bytes, files); err != nil {
		if errors.Is(err, ErrQuota) {
			select {
			case l.doubts <- struct{}{}:
			default:
			}
		}
		return nil, err
	}
	return h, nil
}

// Full says why an account could keep nothing more, or nil.
func (l *Ledger) Full(account string, within Allowance) error {
	h, err := l.Hold(account, within, 1, 1)
	h.Release()
	return err
}

// Doubts receives when an account was refused room: it is time to count again what others
// have removed.
func (l *Ledger) Doubts() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.doubts
}

// Hold is room that is reserved. A nil Hold bounds nothing.
type Hold struct {
	ledger  *Ledger
	account string
	within  Allowance
	bytes   int64
	files   int
}

// Grow reserves more.
func (h *Hold) Grow(bytes int64, files int) error {
	if h == nil || bytes == 0 && files == 0 {
		return nil
	}
	l := h.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	var has Kept
	if k := l.by[h.account]; k != nil {
		has = *k
	}
	mine, n := has.Bytes+has.HeldBytes, has.Files+has.HeldFiles
	switch room := l.room(); {
	case h.within.Bytes > 0 && bytes > h.within.Bytes-mine:
		return fmt.Errorf("%w: bytes: %d of %d, and %d more to come", ErrQuota, mine, h.within.Bytes, bytes)
	case h.within.Files > 0 && files > h.within.Files-n:
		return fmt.Errorf("%w: files: %d of %d", ErrQuota, n, h.within.Files)
	case bytes > room-l.all.Bytes-l.all.HeldBytes:
		return fmt.Errorf("%w: the service keeps %d bytes, and may keep %d", ErrFull, l.all.Bytes+l.all.HeldBytes, room)
	case h.within.Bytes > 0 && bytes > room/2-mine:
		return fmt.Errorf("%w: %d bytes, and half of the service's room is %d", ErrQuota, mine, room/2)
	}
	h.bytes, h.files = h.bytes+bytes, h.files+files
	l.change(h.account, Kept{HeldBytes: bytes, HeldFiles: files})
	return nil
}

// Shrink gives back all but n bytes.
func (h *Hold) Shrink(bytes int64) {
	if h == nil {
		return
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	if less := h.bytes - bytes; less > 0 {
		h.bytes = bytes
		h.ledger.change(h.account, Kept{HeldBytes: -less})
	}
}

// Release gives back everything. It may be called again.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	h.release()
}

func (h *Hold) release() {
	h.ledger.change(h.account, Kept{HeldBytes: -h.bytes, HeldFiles: -h.files})
	h.bytes, h.files = 0, 0
}

// Keep turns the hold into a stored file.
func (h *Hold) Keep(b Blob) {
	if h == nil {
		return
	}
	h.ledger.mu.Lock()
	defer h.ledger.mu.Unlock()
	h.release()
	h.ledger.add(b)
}

// change adds to the counts of an account, which is forgotten when it keeps nothing.
func (l *Ledger) change(account string, d Kept) {
	k := l.by[account]
	if k == nil {
		k = &Kept{}
		l.by[account] = k
	}
	for _, to := range []*Kept{k, &l.all} {
		to.Bytes, to.HeldBytes = to.Bytes+d.Bytes, to.HeldBytes+d.HeldBytes
		to.Files, to.HeldFiles = to.Files+d.Files, to.HeldFiles+d.HeldFiles
	}
	if *k == (Kept{}) {
		delete(l.by, account)
	}
}

func (l *Ledger) add(b Blob) {
	l.drop(b.ID)
	l.ids[b.ID] = ledgerEntry{b.Account, b.Size, b.Expires}
	l.change(b.Account, Kept{Bytes: b.Size, Files: 1})
	if l.counting {
		l.added[b.ID] = true
		delete(l.dropped, b.ID)
	}
}

func (l *Ledger) drop(id string) {
	e, ok := l.ids[id]
	if !ok {
		return
	}
	delete(l.ids, id)
	l.change(e.account, Kept{Bytes: -e.bytes, Files: -1})
}

// Drop forgets a file that is there no more.
func (l *Ledger) Drop(id string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(id)
	if l.counting {
		l.dropped[id] = true
		delete(l.added, id)
	}
}

// Expired lists the files whose time was over, and forgets such records.
func (l *Ledger) Expired(now time.Time) (ids []string) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetRecords(now)
	for id, e := range l.ids {
		if expired(stamp(e.expires), now) {
			ids = append(ids, id)
		}
	}
	return ids
}
