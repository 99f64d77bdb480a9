package runs

import (
	"context"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/persistence"
)

const (
	// groupAfter is how long the end of a synchronous task waits for others: a kill of the
	// process loses no more than those.
	groupAfter = 200 * time.Millisecond
	groupLen   = 256
	settleTime = time.Second // for what waits when somebody reads
	// maxWaiting and maxWaitingBytes bound what waits for a store that is slower than the tasks.
	maxWaiting      = 8192
	maxWaitingBytes = 16 << 20
	// pruneAfter is after how many runs of an account too old ones are looked for.
	pruneAfter = 256
	pruneStep  = 2000
	// atOnce bounds the writes that are under way in a store that takes one at a time.
	atOnce = 32
)

// Add keeps a run soon, after its client was answered. It never waits.
func (h *History) Add(r *Run) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) >= maxWaiting {
		h.lost++
		return
	}
	if !h.keepsResult(r) || h.bytes+len(r.data) > maxWaitingBytes {
		r.data = nil
	}
	if h.bytes+r.weight() > maxWaitingBytes {
		r.Request = nil
	}
	h.waiting, h.bytes = append(h.waiting, r), h.bytes+r.weight()
	if len(h.waiting) == groupLen {
		go h.write()
		return
	}
	h.soon()
}

// weight is how many bytes a run has in memory that are a client's to choose.
func (r *Run) weight() int { return len(r.Request) + len(r.data) }

// soon writes what waits a little later. The mutex is held.
func (h *History) soon() {
	if !h.timed {
		h.timed = true
		time.AfterFunc(groupAfter, h.write)
	}
}

func (h *History) write() {
	ctx, cancel := context.WithTimeout(context.Background(), api.WriteTimeout)
	defer cancel()
	if err := h.Flush(ctx); err != nil {
		h.cfg.Log.Error().Err(err).Msg("runs not kept yet")
		h.mu.Lock()
		h.soon()
		h.mu.Unlock()
	}
}

// Flush writes what waits, and returns when it is written.
func (h *History) Flush(ctx context.Context) error {
	if h == nil {
		return nil
	}
	if err := h.writing.take(ctx); err != nil {
		return fmt.Errorf("wait for runs that are being written: %w", err)
	}
	defer h.writing.free()
	for {
		h.mu.Lock()
		group := h.waiting
		h.timed, h.waiting, h.bytes = false, nil, 0
		lost := h.lost
		h.lost = 0
		h.mu.Unlock()
		if lost > 0 {
			h.cfg.Log.Error().Int("runs", lost).Msg("runs not kept: more tasks ended than the store could take")
		}
		if len(group) == 0 {
			h.prune(ctx)
			return nil
		}
		if err := h.writeGroup(ctx, group); err != nil {
			return err
		}
	}
}

// settle writes what waits before the history is read: a client that has its answer finds the
// run of its task. What cannot be written now is only missing.
func (h *History) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if err := h.Flush(ctx); err != nil {
		h.mu.Lock()
		h.soon()
		h.mu.Unlock()
	}
}

// writeGroup writes runs, and before them what they add to sums. Those that could not be written
// wait again.
func (h *History) writeGroup(ctx context.Context, group []*Run) error {
	adds, of, err := groupsOf(group)
	if err != nil {
		return err
	}
	errs := map[*Run]error{}
	for i, err := range h.putEach(ctx, adds) {
		for _, r := range of[i] {
			if r.summed = err == nil; err != nil {
				errs[r] = err
			}
		}
	}
	var items []persistence.Item
	var ready []*Run
	for _, r := range group {
		if it, ok := h.resultItem(r); ok && errs[r] == nil {
			items, ready = append(items, it), append(ready, r)
		}
	}
	for i, err := range h.putEach(ctx, items) {
		if err != nil {
			errs[ready[i]] = err
		}
	}
	items, ready = nil, nil
	for _, r := range group {
		it, err := h.item(ctx, r)
		if err == nil {
			err = errs[r]
		}
		if errs[r] = err; err == nil {
			it.Known = persistence.Absent
			items, ready = append(items, it), append(ready, r)
		}
	}
	for i, err := range h.putEach(ctx, items) {
		errs[ready[i]] = err
	}
	var failed error
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range group {
		if r.summed {
			h.foldSoon(r.Account)
		}
		if errs[r] == nil {
			h.written[r.Account]++
			continue
		}
		failed = errs[r]
		if len(h.waiting) < maxWaiting {
			h.waiting, h.bytes = append(h.waiting, r), h.bytes+r.weight()
		} else {
			h.lost++
		}
	}
	if failed != nil {
		return fmt.Errorf("write runs: %w", failed)
	}
	return nil
}

// putEach writes records that are independent of each other, in one go where the store can.
func (h *History) putEach(ctx context.Context, items []persistence.Item) []error {
	errs := make([]error, len(items))
	if !persistence.Groups(h.cfg.Store) {
		inTurns(len(items), func(i int) {
			it := items[i]
			it.Known = persistence.Unknown // a write without an answer may have been stored
			errs[i] = h.cfg.Values.Put(ctx, it)
		})
		return errs
	}
	var lists [][]persistence.Change
	var of []int
	var values []*persistence.ValueChange
	for i, it := range items {
		v, err := h.cfg.Values.Change(ctx, it)
		if errs[i] = err; err == nil {
			lists, of, values = append(lists, []persistence.Change{v.Change}), append(of, i), append(values, v)
		}
	}
	persistence.ApplyEach(ctx, h.cfg.Store, lists, func(i int, err error) { errs[of[i]] = values[i].Done(ctx, err) })
	return errs
}

// prune removes the oldest runs of accounts that have too many.
func (h *History) prune(ctx context.Context) {
	h.mu.Lock()
	var due []string
	for account, n := range h.written {
		if n >= pruneAfter {
			due = append(due, account)
			delete(h.written, account)
		}
	}
	h.mu.Unlock()
	for _, account := range due {
		if err := h.pruneOf(ctx, account); err != nil {
			h.cfg.Log.Error().Err(err).Str("account", account).Msg("old runs not removed")
		}
	}
}

func (h *History) pruneOf(ctx context.Context, account string) error {
	count, bytes, after := 0, int64(0), ""
	for {
		keys, err := h.cfg.Store.Keys(ctx, Prefix+account+"/", after, pruneStep)
		if err != nil {
			return fmt.Errorf("list the runs of an account: %w", err)
		}
		for i, k := range keys {
			count, bytes = count+1, bytes+int64(k.Size)
			if count > h.cfg.Bounds.Count || bytes > h.cfg.Bounds.Bytes {
				if err := h.fold(ctx, account); err != nil { // else their sums would lack them
					return err
				}
				for _, k := range keys[i:] {
					if err := drop(ctx, h.cfg.Store, h.cfg.Values, account, k.Key, false); err != nil {
						return err
					}
				}
				break
			}
		}
		if len(keys) < pruneStep {
			return nil
		}
		after = keys[len(keys)-1].Key
	}
}
