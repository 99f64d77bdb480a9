package runs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"troupe/actors/api"
	"troupe/persistence"
)

const complete = api.TaskComplete

const (
	// foldAfter is how long what has ended waits for more before it is added to the sums.
	foldAfter = 2 * time.Second
	foldStep  = 64 // records that are added in one go
	// decidedAfter is after which time a run that is not there was removed: else it may
	// still be written.
	decidedAfter = time.Hour
	foldTries    = 8 // where other nodes write the same sums
	// sumTime is how long a stop waits for sums. A node without its majority cannot write them.
	sumTime = 2 * time.Second
)

func freshKey(account, day, name string) string {
	return FreshPrefix + account + "/" + day + "/" + name
}

// freshItem is the record of runs of an account that ended on a day.
func freshItem(account, day, name string, f Fresh) (persistence.Item, error) {
	f.Written = time.Now()
	b, err := json.Marshal(f)
	if err != nil {
		return persistence.Item{}, fmt.Errorf("write what a run adds: %w", err)
	}
	return persistence.Item{Key: freshKey(account, day, name), Account: account, Value: b, Expires: sumsUntil(day), Known: persistence.Absent}, nil
}

// adds is the record of what a run adds to the sums; false: nothing, because it has not ended,
// or an end of it was written before.
func (h *History) adds(ctx context.Context, r *Run) (it persistence.Item, ok bool, err error) {
	if r.State == api.TaskPending || r.Ended.IsZero() {
		return it, false, nil
	}
	switch was, err := h.Find(ctx, r.Account, r.ID); {
	case errors.Is(err, persistence.ErrSealed), err == nil && was.State != api.TaskPending:
		return it, false, nil
	case err != nil && !errors.Is(err, persistence.ErrNotFound):
		return it, false, err
	}
	it, err = freshItem(r.Account, r.day(), r.ID, Fresh{Runs: []FreshRun{r.fresh()}, Looks: true})
	it.Known = persistence.Unknown // a node that died may have written it
	return it, err == nil, err
}

// groupsOf are the records of what synchronous runs add, which nobody else writes, by account and
// day.
func groupsOf(group []*Run) (items []persistence.Item, of [][]*Run, err error) {
	type place struct{ account, day string }
	by, order := map[place][]*Run{}, []place{}
	for _, r := range group {
		if r.summed {
			continue
		}
		p := place{r.Account, r.day()}
		if by[p] == nil {
			order = append(order, p)
		}
		by[p] = append(by[p], r)
	}
	for _, p := range order {
		f := Fresh{}
		for _, r := range by[p] {
			one := r.fresh()
			one.ID = ""
			f.Runs = append(f.Runs, one)
		}
		it, no := freshItem(p.account, p.day, rand.Text(), f)
		if no != nil {
			return nil, nil, no
		}
		items, of = append(items, it), append(of, by[p])
	}
	return items, of, nil
}

// foldSoon adds what an account has fresh to its sums, a little later. The mutex is held.
func (h *History) foldSoon(account string) {
	h.unfolded[account] = true
	if !h.foldTimed && !h.closed {
		h.foldTimed = true
		time.AfterFunc(foldAfter, func() {
			ctx, cancel := context.WithTimeout(h.ending, api.WriteTimeout)
			defer cancel()
			h.foldAll(ctx)
		})
	}
}

// foldAll adds what is fresh of all accounts that this node knows of.
func (h *History) foldAll(ctx context.Context) {
	h.mu.Lock()
	due := h.unfolded
	h.unfolded, h.foldTimed = map[string]bool{}, false
	h.mu.Unlock()
	for account := range due {
		if err := h.fold(ctx, account); err != nil {
			if h.ending.Err() == nil {
				h.cfg.Log.Error().Err(err).Str("account", account).Msg("sums of runs not written yet")
			}
			h.mu.Lock()
			h.foldSoon(account)
			h.mu.Unlock()
		}
	}
}

// Settle writes what waits, and adds it to the sums, if that takes no more than a moment: what
// is not in them is added with the account's next run, or when somebody asks for them.
func (h *History) Settle(ctx context.Context) error {
	if h == nil {
		return nil
	}
	err := h.Flush(ctx)
	ctx, cancel := context.WithTimeout(ctx, sumTime)
	defer cancel()
	h.foldAll(ctx)
	return err
}

// Close is Settle. Afterwards nothing is written any more by itself.
func (h *History) Close(ctx context.Context) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	defer h.end()
	return h.Settle(ctx)
}

// fold adds what an account has fresh to the sums of its days. Runs must not be removed before.
func (h *History) fold(ctx context.Context, account string) error {
	if err := h.folding.take(ctx); err != nil {
		return fmt.Errorf("wait for sums that are being written: %w", err)
	}
	defer h.folding.free()
	prefix := FreshPrefix + account + "/"
	for after := ""; ; {
		list, err := h.cfg.Store.Keys(ctx, prefix, after, 1)
		switch {
		case err != nil:
			return fmt.Errorf("list what is to be added to sums: %w", err)
		case len(list) == 0:
			return nil
		}
		day, _, _ := strings.Cut(strings.TrimPrefix(list[0].Key, prefix), "/")
		if err := h.foldDay(ctx, account, day); err != nil {
			return fmt.Errorf("sum up the runs of %s: %w", day, err)
		}
		after = prefix + day + "/~"
	}
}

// foldDay adds all that is fresh of a day. In each step, the sums are read first. So what is
// listed then is in them only if their last names have it, and the write over what was read
// counts it once, whichever nodes do this at the same time or die while they do it.
func (h *History) foldDay(ctx context.Context, account, day string) error {
	prefix := freshKey(account, day, "")
	conflicts := 0
	for after := ""; ; {
		key, d, at, err := h.readDay(ctx, account, day)
		if err != nil {
			return err
		}
		list, err := h.cfg.Store.Keys(ctx, prefix, after, foldStep)
		if err != nil || len(list) == 0 {
			return err
		}
		names, next := h.choose(ctx, &d, list, prefix)
		if names == nil {
			after = list[len(list)-1].Key
			if len(list) < foldStep {
				return nil
			}
			continue
		}
		if err := h.dropFresh(ctx, account, prefix, d.Last); err != nil {
			return err
		}
		for _, one := range next {
			d.add(one)
		}
		if len(next) > 0 {
			d.Last = names
			err = h.putDay(ctx, account, day, key, d, at)
		}
		switch {
		case errors.Is(err, persistence.ErrConflict) && conflicts < foldTries:
			conflicts++
			continue
		case err != nil:
			return err
		}
		if err := h.dropFresh(ctx, account, prefix, names); err != nil {
			return err
		}
	}
}

// choose reads records of runs that are to be added. Names are those that are in the sums then;
// nil: there is nothing to do with any of the list.
func (h *History) choose(ctx context.Context, d *Day, list []persistence.KeySize, prefix string) (names []string, add []FreshRun) {
	in := map[string]bool{}
	for _, name := range d.Last {
		in[name] = true
	}
	for _, k := range list {
		name := strings.TrimPrefix(k.Key, prefix)
		if in[name] {
			names = append(names, name)
			continue
		}
		var f Fresh
		b, err := h.cfg.Values.Get(ctx, k.Key)
		if err == nil {
			err = json.Unmarshal(b, &f)
		}
		if err != nil { // it is gone, or the service's key does not open it now
			continue
		}
		if f.Looks {
			decided, all := h.decide(ctx, k.Key, f)
			if !decided {
				continue
			}
			f.Runs = all
		}
		names, add = append(names, name), append(add, f.Runs...)
	}
	return names, add
}

// decide reads what a run adds from its own record.
func (h *History) decide(ctx context.Context, key string, f Fresh) (decided bool, all []FreshRun) {
	parts := strings.Split(strings.TrimPrefix(key, FreshPrefix), "/")
	account, day := parts[0], parts[1]
	for _, one := range f.Runs {
		r, err := h.Find(ctx, account, one.ID)
		switch {
		case err == nil && r.State != api.TaskPending && r.day() != day: // another end of it was kept, which has a record of its own
		case err == nil && r.State != api.TaskPending:
			all = append(all, r.fresh())
		case err == nil || errors.Is(err, persistence.ErrNotFound):
			if time.Since(f.Written) < decidedAfter {
				return false, nil
			}
			all = append(all, one)
		default:
			return false, nil
		}
	}
	return true, all
}

// readDay reads the sums of a day. Where the service's key does not open them, there are more
// beside them.
func (h *History) readDay(ctx context.Context, account, day string) (key string, d Day, at uint64, err error) {
	for n := 0; ; n++ {
		key = DayPrefix + account + "/" + day
		if n > 0 {
			key += "." + strconv.Itoa(n)
		}
		d = Day{}
		b, at, err := h.cfg.Values.GetRevision(ctx, key)
		switch {
		case errors.Is(err, persistence.ErrNotFound):
			return key, d, 0, nil
		case errors.Is(err, persistence.ErrSealed):
			continue
		case err != nil:
			return key, d, 0, err
		}
		if err := json.Unmarshal(b, &d); err != nil {
			return key, d, 0, fmt.Errorf("read %s: %w", key, err)
		}
		return key, d, at, nil
	}
}

func (h *History) putDay(ctx context.Context, account, day, key string, d Day, over uint64) error {
	b, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return h.cfg.Values.Put(ctx, persistence.Item{Key: key, Account: account, Value: b, Expires: sumsUntil(day), Over: &over})
}

func (h *History) dropFresh(ctx context.Context, account, prefix string, names []string) error {
	errs := make([]error, len(names))
	inTurns(len(names), func(i int) {
		if _, err := h.cfg.Store.Get(ctx, prefix+names[i]); !errors.Is(err, persistence.ErrNotFound) { // to ask is cheaper
			errs[i] = h.cfg.Values.DeleteOf(ctx, account, prefix+names[i], false)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove what was added to sums: %w", err)
	}
	return nil
}

// inTurns calls f for 0 to n-1, a bounded number of them at a time.
func inTurns(n int, f func(i int)) {
	turns := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range n {
		turns <- struct{}{}
		wg.Go(func() {
			f(i)
			<-turns
		})
	}
	wg.Wait()
}
