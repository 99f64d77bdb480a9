package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/actors/records"
	"troupe/persistence"
)

// Get tells how far a batch is, with an example of each failure.
func (m *Batches) Get(ctx context.Context, r *api.GetBatch) (*api.Batched, error) {
	m.mu.Lock()
	s := m.find(r.Account.ID, r.ID)
	m.mu.Unlock()
	if s == nil {
		return refused(notFound(r.ID)), nil
	}
	for end := time.Now().Add(r.Wait); r.Wait > 0; {
		m.await(ctx, s, time.Until(end))
		m.mu.Lock()
		now := m.find(r.Account.ID, r.ID)
		m.mu.Unlock()
		if now == nil || now == s {
			break
		}
		s = now // it was read anew meanwhile
	}
	info, err := m.info(ctx, s, !r.Bare)
	return &api.Batched{Batch: info}, err
}

// await waits until a batch has ended, or the time is over.
func (m *Batches) await(ctx context.Context, s *state, most time.Duration) {
	m.mu.Lock()
	over, done := !s.b.Ended.IsZero(), s.done
	m.mu.Unlock()
	if over {
		return
	}
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-ctx.Done():
	case <-m.ctx.Done():
	}
}

// maxExamples is how many kinds of failure have an example in an answer.
const maxExamples = 20

// info is a batch as its account sees it.
func (m *Batches) info(ctx context.Context, s *state, examples bool) (*api.Batch, error) {
	if err := m.load(s); err != nil {
		return nil, err
	}
	m.mu.Lock()
	b := s.info(time.Now())
	if s.b.Ended.IsZero() {
		b.Held, _ = m.heldBack(s)
	}
	m.mu.Unlock()
	for i := range b.Failures {
		if !examples || i >= maxExamples {
			break
		}
		f := &b.Failures[i]
		e, err := m.cfg.Records.Batches().EndOf(ctx, b.ID, f.Item)
		switch {
		case err != nil:
			return nil, err
		case e == nil || e.Code != f.Code: // it was played again since
			f.Item = -1
			continue
		}
		f.Task = e.Task
		p, err := m.result(ctx, s.account, e.Task)
		if err != nil {
			return nil, err
		}
		f.Polled = outcome.Example(p) // of twenty results, one at a time is in memory
	}
	return b, nil
}

// result reads how a task has ended; nil: that is not kept any more.
func (m *Batches) result(ctx context.Context, account, task string) (*api.Polled, error) {
	return result(ctx, m.cfg.Records, account, task)
}

func result(ctx context.Context, disk *records.Store, account, task string) (*api.Polled, error) {
	p, _, waits, err := disk.Queue().Status(ctx, account, task)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil, nil
	case err != nil || waits || p.Refusal != nil || p.Status == api.TaskPending:
		return nil, err
	}
	return p, nil
}

// bound are the sites that the batch's tasks are bound to. The mutex is held.
func (s *state) bound() []string {
	if !s.read {
		var of struct {
			Sites []string `json:"sites"`
		}
		_ = json.Unmarshal(s.b.Task, &of) // what cannot be read begins no task
		s.sites, s.read = of.Sites, true
	}
	return s.sites
}

func (s *state) info(now time.Time) *api.Batch {
	failed := s.failures()
	b := &api.Batch{
		ID: s.id, Name: s.b.Name, State: s.b.State, Created: s.b.Created, Ended: s.b.Ended, Items: s.b.Items, Round: s.b.Round,
		Sites: s.bound(), Running: s.running, Done: s.ended - failed, Failed: failed, Rate: s.rate.perMinute(now),
	}
	rest := s.b.Items - s.ended - s.running
	switch {
	case !s.b.Ended.IsZero():
		b.Expires, b.Dropped, b.Rate = s.b.Expires(), rest, 0
	default:
		b.Waiting = rest
		if b.Rate > 0 && s.b.State == api.BatchRunning {
			left := float64(rest+s.running) / b.Rate * float64(time.Minute)
			b.Left = time.Duration(min(left, float64(math.MaxInt64)/2))
		}
	}
	for code, f := range s.failed {
		b.Failures = append(b.Failures, api.BatchFailure{Code: code, Count: f.Count, Item: f.Item})
	}
	slices.SortFunc(b.Failures, func(x, y api.BatchFailure) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Code, y.Code))
	})
	return b
}

// List lists the batches of an account, the newest first.
func (m *Batches) List(ctx context.Context, r *api.ListBatches) (*api.BatchesListed, error) {
	m.mu.Lock()
	var mine []*state
	for _, s := range m.all {
		if s.account == r.Account.ID && s.b.State != api.BatchReceiving && (r.After == "" || place(s) < r.After) {
			mine = append(mine, s)
		}
	}
	slices.SortFunc(mine, func(x, y *state) int { return strings.Compare(place(y), place(x)) })
	m.mu.Unlock()
	l := &api.BatchesListed{}
	if r.After == "" {
		var err error
		if l.Unreadable, err = m.cfg.Records.Batches().Unreadable(ctx, r.Account.ID); err != nil {
			return nil, err
		}
	}
	if len(mine) > r.Most {
		mine = mine[:r.Most]
		l.Next = place(mine[len(mine)-1])
	}
	for _, s := range mine {
		b, err := m.info(ctx, s, false)
		if err != nil {
			return nil, err
		}
		l.Batches = append(l.Batches, *b)
	}
	return l, nil
}

// place orders batches by when they were made.
func place(s *state) string { return strconv.FormatInt(s.b.Created.UnixNano(), 36) + "-" + s.id }

// Items lists items that have ended, with their results.
func (m *Batches) Items(ctx context.Context, r *api.ListBatchItems) (*api.BatchItemsListed, error) {
	l, err := m.Ends(ctx, (*api.ListBatchEnds)(r))
	if err != nil || l.Refusal != nil {
		return l, err
	}
	return l, Fill(ctx, m.cfg.Records, r, l)
}

// Ends lists items that have ended, without what the records have of them.
func (m *Batches) Ends(ctx context.Context, r *api.ListBatchEnds) (*api.BatchItemsListed, error) {
	m.mu.Lock()
	s := m.find(r.Account.ID, r.ID)
	m.mu.Unlock()
	if s == nil {
		return &api.BatchItemsListed{Refusal: notFound(r.ID)}, nil
	}
	if err := m.load(s); err != nil {
		return nil, err
	}
	all, next, more, err := m.ends(ctx, s, (*api.ListBatchItems)(r))
	if err != nil {
		return nil, err
	}
	l := &api.BatchItemsListed{Next: next, More: more}
	for _, e := range all {
		l.Items = append(l.Items, api.BatchItem{Index: e.Item, Task: e.End.Task, Status: e.End.Status, Code: e.End.Code, Ended: e.End.Ended, Attempts: e.End.Attempts, Cursor: e.Cursor})
	}
	return l, nil
}

// maxFilled is how many bytes of items and results a part of a list has, about.
const maxFilled = 8 << 20

// Fill reads the items of a list, and their results. What is too large for one answer is
// left for the next part.
func Fill(ctx context.Context, disk *records.Store, r *api.ListBatchItems, l *api.BatchItemsListed) (err error) {
	bytes := 0
	for i := range l.Items {
		it := &l.Items[i]
		if it.Item, err = disk.Batches().ReadItem(ctx, r.ID, it.Index); err != nil {
			return err
		}
		if it.Polled, err = result(ctx, disk, r.Account.ID, it.Task); err != nil {
			return err
		}
		bytes += len(it.Item)
		if it.Polled != nil && it.Polled.Executed != nil && it.Polled.Executed.Outcome != nil {
			bytes += it.Polled.Executed.Outcome.Bytes()
		}
		if bytes >= maxFilled && i < len(l.Items)-1 {
			l.Items, l.Next, l.More = l.Items[:i+1], it.Cursor, true
			return nil
		}
	}
	return nil
}

// Dropped lists items of a cancelled batch that did not begin, once it has ended. Any node
// can read them.
func Dropped(ctx context.Context, disk *records.Store, r *api.ListBatchItems) (*api.BatchItemsListed, error) {
	b, err := disk.Batches().Read(ctx, r.Account.ID, r.ID)
	switch {
	case errors.Is(err, persistence.ErrNotFound), err == nil && b.State == api.BatchReceiving:
		return &api.BatchItemsListed{Refusal: notFound(r.ID)}, nil
	case err != nil:
		return nil, err
	}
	l := &api.BatchItemsListed{Next: r.After}
	from, err := strconv.Atoi(cmp.Or(r.After, "0"))
	if err != nil || from < 0 || b.State != api.BatchCancelled || b.Ended.IsZero() {
		return l, nil
	}
	for n, bytes := from, 0; n < b.Items && len(l.Items) < r.Most && bytes < maxFilled; n++ {
		l.Next, l.More = strconv.Itoa(n+1), n+1 < b.Items
		e, err := disk.Batches().EndOf(ctx, r.ID, n)
		if err != nil {
			return nil, err
		}
		if e != nil {
			continue
		}
		it := api.BatchItem{Index: n, Cursor: l.Next}
		if it.Item, err = disk.Batches().ReadItem(ctx, r.ID, n); err != nil {
			return nil, err
		}
		bytes += len(it.Item)
		l.Items = append(l.Items, it)
	}
	return l, nil
}

func (m *Batches) ends(ctx context.Context, s *state, r *api.ListBatchItems) (all []records.BatchEnded, next string, more bool, err error) {
	disk := m.cfg.Records.Batches()
	if r.Order == api.OrderEnded {
		m.mu.Lock()
		before := uint64(math.MaxUint64)
		for o := range s.inFlight {
			before = min(before, o)
		}
		m.mu.Unlock()
		all, next, err = disk.ByEnd(ctx, s.id, r.After, before, r.Most)
		return all, next, next != r.After, err
	}
	from, err := strconv.Atoi(cmp.Or(r.After, "0"))
	if err != nil || from < 0 {
		return nil, r.After, false, nil
	}
	if r.Order == api.OrderItems {
		b := m.record(s)
		to := min(from+r.Most, b.Items)
		all, at, err := disk.ByItem(ctx, s.id, from, to, !b.Ended.IsZero())
		if err != nil {
			return nil, "", false, err
		}
		for i, e := range all { // one whose end is being written, or that is played again
			if m.lives(s, e.Item) {
				all, at = all[:i], e.Item
				break
			}
		}
		return all, strconv.Itoa(at), at == to && to < b.Items, nil
	}
	items, at, err := disk.Failed(ctx, s.id, from, r.Most)
	if err != nil {
		return nil, "", false, err
	}
	for _, n := range items {
		e, err := disk.EndOf(ctx, s.id, n)
		if err != nil {
			return nil, "", false, err
		}
		if e != nil && e.Status == api.TaskFailed && !m.lives(s, n) {
			all = append(all, records.BatchEnded{Item: n, End: e, Cursor: strconv.Itoa(n + 1)})
		}
	}
	if at < 0 {
		next = r.After
		if len(items) > 0 {
			next = strconv.Itoa(items[len(items)-1] + 1)
		}
		return all, next, false, nil
	}
	return all, strconv.Itoa(at), true, nil
}

func (m *Batches) lives(s *state, item int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.live[item] != nil
}
