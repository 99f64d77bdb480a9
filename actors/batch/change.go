package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
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
		State: api.BatchReceiving, Created: time.Now(), Keep: r.Task.Queue.Retention, Notify: r.Notify,
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
		m.all[b.ID] = newState(b)
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
	if err := m.cfg.Records.Batches().Put(ctx, b); err != nil {
		m.mu.Lock()
		delete(m.all, b.ID)
		m.mu.Unlock()
		return nil, fmt.Errorf("make a batch: %w", err)
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

// Add writes further items of a batch. They survive a loss of power when the batch is
// ready.
func (m *Batches) Add(ctx context.Context, r *api.AddBatchItems) (*api.Batched, error) {
	var bytes int64
	for _, it := range r.Items {
		bytes += int64(len(it))
	}
	limits := m.cfg.Limits()[r.Account.Plan]
	m.mu.Lock()
	s := m.all[r.ID]
	if s == nil || s.account != r.Account.ID || s.b.State != api.BatchReceiving {
		m.mu.Unlock()
		return refused(notFound(r.ID)), nil
	}
	items, size := m.waiting(r.Account.ID)
	var no *api.Refusal
	switch {
	case items+len(r.Items) > limits.QueueTasks:
		no = full("the batches of the account would have %d items that wait; plan %s allows %d", items+len(r.Items), r.Account.Plan, limits.QueueTasks)
	case limits.QueueBytes > 0 && size+bytes > limits.QueueBytes:
		no = full("the batches of the account would have %d bytes that wait; plan %s allows %d", size+bytes, r.Account.Plan, limits.QueueBytes)
	}
	from := s.received
	if no == nil {
		s.received, s.bytes, s.touched = from+len(r.Items), s.bytes+bytes, time.Now()
	}
	m.mu.Unlock()
	if no != nil {
		return refused(no), nil
	}
	if err := m.cfg.Records.Batches().PutItems(ctx, r.Account.ID, r.ID, from, r.Items); err != nil {
		return nil, fmt.Errorf("write items of a batch: %w", err)
	}
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
	m.mu.Lock()
	s := m.all[r.ID]
	if s != nil && s.account != r.Account.ID {
		s = nil
	}
	m.mu.Unlock()
	if s == nil {
		return refused(notFound(r.ID)), nil
	}
	switch was := m.record(s); {
	case (was.State == api.BatchReceiving) != (r.Change == api.BatchDrop || r.Change == api.BatchReady):
		return refused(notFound(r.ID)), nil
	case r.Change == api.BatchDrop:
		return &api.Batched{}, m.erase(ctx, was)
	case was.State != api.BatchReceiving:
		if err := m.load(s); err != nil {
			return nil, err
		}
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
	no := s.changed(&b, r.Change)
	m.mu.Unlock()
	if no != nil {
		return refused(no), nil
	}
	if err := m.cfg.Records.Batches().Put(ctx, b); err != nil {
		return nil, fmt.Errorf("change a batch: %w", err)
	}
	m.mu.Lock()
	if r.Change == api.BatchRetry {
		s.fed = false
		if !s.b.Ended.IsZero() {
			s.done = make(chan struct{})
		}
	}
	if r.Change == api.BatchReady {
		close(s.loaded)
		s.fed = b.Items == 0
	}
	s.b = b
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
		b.Ended, b.Sum = time.Time{}, nil
	}
	return nil
}
