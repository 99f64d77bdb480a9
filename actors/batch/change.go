package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

const (
	// maxBatches is how many batches of an account are kept at once.
	maxBatches = 1000
	// standardKeep is how long a batch is kept after its end where its task does not
	// say.
	standardKeep = 24 * time.Hour
)

func refused(no *api.Refusal) *api.Batched { return &api.Batched{Refusal: no} }

func notFound(id string) *api.Refusal {
	return &api.Refusal{Code: engine.CodeNotFound, Text: "There is no batch " + api.Quoted(id)}
}

func full(format string, a ...any) *api.Refusal {
	return api.Refuse(engine.CodeQueueFull, fmt.Sprintf(format, a...))
}

// Create makes a batch without items.
func (m *Batches) Create(ctx context.Context, r *api.CreateBatch) (*api.Batched, error) {
	limits, ok := m.cfg.Limits()[r.Account.Plan]
	_, lacking := limits.Admit(r.Task)
	switch {
	case !ok:
		return refused(api.Refuse(engine.CodePlanRequired, "there is no plan "+api.Quoted(string(r.Account.Plan)))), nil
	case lacking != "":
		return refused(api.Refuse(engine.CodePlanRequired, fmt.Sprintf("plan %s has no %s", r.Account.Plan, lacking))), nil
	case limits.QueueTasks <= 0:
		return refused(api.Refuse(engine.CodePlanRequired, fmt.Sprintf("plan %s has no queue", r.Account.Plan))), nil
	}
	b := records.Batch{
		ID: m.cfg.NewID(), Account: r.Account.ID, Plan: r.Account.Plan, Name: r.Name, Key: r.Key,
		State: api.BatchReceiving, Created: time.Now(), Keep: r.Task.Queue.Retention, Notify: r.Notify, Schedule: r.Schedule,
	}
	if b.Keep == 0 {
		b.Keep = standardKeep
	}
	if limits.QueueRetention > 0 {
		b.Keep = min(b.Keep, limits.QueueRetention)
	}
	var err error
	if b.Task, err = json.Marshal(r.Task); err != nil {
		return nil, fmt.Errorf("make a batch: %w", err)
	}
	m.mu.Lock()
	count := 0
	for _, s := range m.all {
		if s.account == b.Account {
			count++
		}
	}
	same := m.keyed(b.Account, b.Key)
	if same == nil && count < maxBatches && !m.gone[b.Account] {
		m.all[b.ID] = m.newState(records.StoredBatch{Batch: b})
	}
	gone := m.gone[b.Account]
	m.mu.Unlock()
	switch {
	case gone:
		return refused(api.Refuse(engine.CodeUnauthorized, "")), nil
	case same != nil:
		info, err := m.info(ctx, same, false)
		return &api.Batched{Batch: info, Found: true}, err
	case count >= maxBatches:
		return refused(full("%d batches are kept", count)), nil
	}
	m.mu.Lock()
	made := m.all[b.ID]
	m.mu.Unlock()
	if err := m.put(made, b); err != nil {
		m.mu.Lock()
		delete(m.all, b.ID)
		m.mu.Unlock()
		return nil, err
	}
	if !m.serves() {
		return refused(api.NotOrderedHere()), nil
	}
	return &api.Batched{Batch: &api.Batch{ID: b.ID, Name: b.Name, State: b.State, Created: b.Created}}, nil
}

// keyed finds the batch that a request with a key has made; nil: there is none.
func (m *Batches) keyed(account, key string) *state {
	for _, s := range m.all {
		if key != "" && s.account == account && s.b.Key == key && s.b.State != api.BatchReceiving {
			return s
		}
	}
	return nil
}

// serves reports whether what this node has written is known to whoever has the batches
// next. What it writes later, that one may not have read.
func (m *Batches) serves() bool { return m.cfg.Serves == nil || m.cfg.Serves() }

// Add writes further items of a batch. They survive a loss of power when the batch is
// ready.
func (m *Batches) Add(ctx context.Context, r *api.AddBatchItems) (*api.Batched, error) {
	var bytes int64
	for _, it := range r.Items {
		bytes += int64(len(it))
	}
	x, err := m.Reserve(ctx, &api.ReserveBatchItems{Account: r.Account, ID: r.ID, From: r.From, Before: r.Before, Items: len(r.Items), Bytes: bytes})
	if err == nil && x.Refusal == nil {
		err = m.cfg.Records.Batches().PutItems(ctx, r.Account.ID, r.ID, r.From, r.Items)
	}
	if err != nil {
		return nil, fmt.Errorf("write items of a batch: %w", err)
	}
	return x, nil
}

// Reserve counts further items of a batch, which are about to be written. Asked again, it
// counts them once.
func (m *Batches) Reserve(_ context.Context, r *api.ReserveBatchItems) (*api.Batched, error) {
	limits := m.cfg.Limits()[r.Account.Plan]
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.all[r.ID]
	if s == nil || s.account != r.Account.ID || s.b.State != api.BatchReceiving {
		return refused(notFound(r.ID)), nil
	}
	if min(int64(r.From), r.Before, int64(r.Items), r.Bytes) < 0 {
		return refused(api.Refuse(engine.CodeInvalidRequest, "the items of a batch cannot be fewer than none")), nil
	}
	s.received, s.bytes = r.From, r.Before // also where another node has counted them
	items, size := m.waiting(r.Account.ID)
	items, size = items+r.Items, size+r.Bytes
	switch {
	case items > limits.QueueTasks:
		return refused(full("the batches of the account would have %d items that wait; plan %s allows %d", items, r.Account.Plan, limits.QueueTasks)), nil
	case limits.QueueBytes > 0 && size > limits.QueueBytes:
		return refused(full("the batches of the account would have %d bytes that wait; plan %s allows %d", size, r.Account.Plan, limits.QueueBytes)), nil
	}
	s.received, s.bytes, s.touched = r.From+r.Items, r.Before+r.Bytes, time.Now()
	return &api.Batched{}, nil
}

// waiting is what the batches of an account have that has not ended. The mutex is held.
func (m *Batches) waiting(account string) (items int, bytes int64) {
	for _, s := range m.all {
		switch {
		case s.account != account || !s.b.Ended.IsZero():
		case s.b.State == api.BatchReceiving:
			items, bytes = items+s.received, bytes+s.bytes
		default:
			items, bytes = items+s.b.Items-s.ended, bytes+s.b.Bytes
		}
	}
	return items, bytes
}

// Change pauses a batch, lets it go on, and so forth.
func (m *Batches) Change(ctx context.Context, r *api.ChangeBatch) (*api.Batched, error) {
	for tries := 1; ; tries++ {
		x, err := m.changeOnce(ctx, r)
		if !errors.Is(err, persistence.ErrConflict) || tries == maxTries {
			return x, err
		}
	}
}

// alone waits until no other batch of the same key is being made ready: between the look for
// one and the write of this one nothing comes.
func (m *Batches) alone(ctx context.Context, b records.Batch) (done func(), err error) {
	if b.Key == "" {
		return func() {}, nil
	}
	key, mine := [2]string{b.Account, b.Key}, make(chan struct{})
	for {
		m.mu.Lock()
		other := m.readying[key]
		if other == nil {
			m.readying[key] = mine
		}
		m.mu.Unlock()
		if other == nil {
			return func() {
				m.mu.Lock()
				delete(m.readying, key)
				m.mu.Unlock()
				close(mine)
			}, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// maxTries is how often a change is tried while others change the batch.
const maxTries = 5

// cancelUnreadable removes a batch that cannot be opened, if it is to be cancelled: none of it
// can run. There is no other one that is not known.
func (m *Batches) cancelUnreadable(ctx context.Context, r *api.ChangeBatch) (*api.Batched, error) {
	ids, err := m.cfg.Records.Batches().Unreadable(ctx, r.Account.ID)
	if err != nil || r.Change != api.BatchCancel || !slices.Contains(ids, r.ID) {
		return refused(notFound(r.ID)), err
	}
	if err := m.cfg.Records.Batches().Erase(ctx, r.Account.ID, r.ID); err != nil {
		return nil, err
	}
	return &api.Batched{Batch: &api.Batch{ID: r.ID, State: api.BatchCancelled}}, nil
}

func (m *Batches) changeOnce(ctx context.Context, r *api.ChangeBatch) (*api.Batched, error) {
	m.mu.Lock()
	s := m.all[r.ID]
	if s != nil && s.account != r.Account.ID {
		s = nil
	}
	m.mu.Unlock()
	if s == nil {
		return m.cancelUnreadable(ctx, r)
	}
	switch was := m.record(s); {
	case was.State != api.BatchReceiving && r.Change == api.BatchReady: // it was asked for twice
		info, err := m.info(ctx, s, false)
		return &api.Batched{Batch: info}, err
	case (was.State == api.BatchReceiving) != (r.Change == api.BatchDrop || r.Change == api.BatchReady):
		return refused(notFound(r.ID)), nil
	case r.Change == api.BatchDrop:
		return &api.Batched{}, m.erase(ctx, was)
	case was.State != api.BatchReceiving:
		if err := m.load(s); err != nil {
			return nil, err
		}
	}
	if r.Change == api.BatchReady {
		done, err := m.alone(ctx, m.record(s))
		if err != nil {
			return nil, err
		}
		defer done()
	}
	s.changes.Lock()
	defer s.changes.Unlock()
	m.mu.Lock()
	b := s.b
	if r.Change == api.BatchReady {
		if same := m.keyed(b.Account, b.Key); same != nil { // another request was faster
			m.mu.Unlock()
			info, err := m.info(ctx, same, false)
			if err == nil {
				err = m.erase(ctx, b)
			}
			return &api.Batched{Batch: info, Found: true}, err
		}
	}
	if r.Change == api.BatchReady && m.cfg.shared() { // whoever sent them knows how many they are
		s.received, s.bytes = r.Items, r.Bytes
	}
	no := s.changed(&b, r.Change)
	ended := !s.b.Ended.IsZero()
	m.mu.Unlock()
	if no != nil {
		return refused(no), nil
	}
	if err := m.put(s, b); errors.Is(err, persistence.ErrConflict) {
		m.reload(s)
		return nil, err
	} else if err != nil {
		return nil, err
	}
	if !m.serves() {
		if r.Change == api.BatchRetry { // another time would be another round
			return refused(api.NobodyOrders()), nil
		}
		return refused(api.NotOrderedHere()), nil
	}
	m.mu.Lock()
	if r.Change == api.BatchRetry {
		s.fed = false
		if ended {
			s.done = make(chan struct{})
		}
	}
	if r.Change == api.BatchReady {
		close(s.loaded)
		s.fed = b.Items == 0
	}
	m.feed(s)
	s.signal()
	m.mu.Unlock()
	info, err := m.info(ctx, s, false)
	return &api.Batched{Batch: info}, err
}

// changed makes a change to the record of a batch, or says why not.
func (s *state) changed(b *records.Batch, change api.BatchChange) *api.Refusal {
	states := map[api.BatchChange][]api.BatchState{
		api.BatchReady:  {api.BatchReceiving},
		api.BatchPause:  {api.BatchRunning, api.BatchPaused},
		api.BatchResume: {api.BatchPaused, api.BatchRunning},
		api.BatchCancel: {api.BatchRunning, api.BatchPaused, api.BatchCancelled},
		api.BatchRetry:  {api.BatchRunning, api.BatchPaused, api.BatchEnded},
	}[change]
	ok := false
	var words []string
	for _, w := range states {
		ok = ok || w == b.State
		words = append(words, string(w))
	}
	if !ok {
		return &api.Refusal{Code: engine.CodeInvalidRequest, Text: fmt.Sprintf("The batch is %s: %s is for one that is %s", b.State, change, strings.Join(words, " or "))}
	}
	switch change {
	case api.BatchReady:
		b.State, b.Items, b.Bytes = api.BatchRunning, s.received, s.bytes
	case api.BatchPause:
		b.State = api.BatchPaused
	case api.BatchResume:
		b.State = api.BatchRunning
	case api.BatchCancel:
		b.State = api.BatchCancelled
	case api.BatchRetry:
		if s.failures() == 0 {
			return &api.Refusal{Code: engine.CodeInvalidRequest, Text: "No item of the batch has failed"}
		}
		if b.Round++; b.State == api.BatchEnded {
			b.State = api.BatchRunning
		}
		b.Ended, b.Sum, b.Told = time.Time{}, nil, false
	}
	return nil
}
