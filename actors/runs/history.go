package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// Bounds say how much of the history of an account is kept.
type Bounds struct {
	Keep  time.Duration // after the end of a run
	Count int
	Bytes int64
	// Results tells that copies of all results are kept, not only of those that ask for it.
	Results bool
}

// StandardBounds are those that nobody has changed.
var StandardBounds = Bounds{Keep: 7 * 24 * time.Hour, Count: 10_000, Bytes: 64 << 20}

// Config is what a [History] is made from.
type Config struct {
	Store   persistence.Store
	Values  *persistence.ValueStore // of the store, sealed
	Secrets engine.SecretsOf        // of an account, which no record has; nil: there are none
	Bounds  Bounds
	Log     zerolog.Logger
}

// History is the runs of all accounts. A nil one keeps none.
type History struct {
	cfg Config

	mu      sync.Mutex
	waiting []*Run // to be written, in the order of their ends
	bytes   int    // of their requests
	timed   bool   // they are written when a time is over
	written map[string]int
	lost    int  // that were too many to wait
	writing turn // of one group at a time

	unfolded  map[string]bool // accounts with runs that are not in sums yet
	foldTimed bool            // they are added when a time is over
	closed    bool
	folding   turn            // of one account at a time
	ending    context.Context // is over when nothing is added by itself any more
	end       context.CancelFunc

	within func(engine.Plan) persistence.Allowance // nil: nothing bounds what accounts store
}

// New makes one.
func New(cfg Config) *History {
	if cfg.Bounds == (Bounds{}) {
		cfg.Bounds = StandardBounds
	}
	h := &History{cfg: cfg, written: map[string]int{}, writing: make(turn, 1), unfolded: map[string]bool{}, folding: make(turn, 1)}
	h.ending, h.end = context.WithCancel(context.Background())
	return h
}

// A turn is a mutex that is waited for no longer than a context lasts.
type turn chan struct{}

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t turn) free() { <-t }

// Keeps reports whether runs are kept.
func (h *History) Keeps() bool { return h != nil }

// item is the record of a run as it is written.
func (h *History) item(ctx context.Context, r *Run) (persistence.Item, error) {
	if len(r.Request) > 0 && !r.masked {
		if err := h.mask(ctx, r); err != nil {
			return persistence.Item{}, err
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		return persistence.Item{}, fmt.Errorf("write the run %s: %w", r.ID, err)
	}
	end := r.Ended
	if end.IsZero() {
		end = time.Now()
	}
	return persistence.Item{Key: Key(r.Account, r.ID), Account: r.Account, Value: b, Expires: end.Add(h.cfg.Bounds.Keep)}, nil
}

// mask takes secrets out of the request.
func (h *History) mask(ctx context.Context, r *Run) error {
	var all []engine.Secret
	if h.cfg.Secrets != nil {
		var err error
		if all, err = h.cfg.Secrets(ctx, r.Account); err != nil {
			return fmt.Errorf("read the account's secrets: %w", err)
		}
	}
	request, fields, err := engine.MaskRequest(r.Request, all)
	if err != nil { // what cannot be masked is not kept
		r.Request = nil
		return nil
	}
	r.Request, r.Masked, r.masked = request, fields, true
	return nil
}

// Items are the records of a run, to be written in this order with the end of its task.
// [History.Wrote] follows. None: there is nothing to be written.
func (h *History) Items(ctx context.Context, r *Run) []persistence.Item {
	if h == nil {
		return nil
	}
	var all []persistence.Item
	adds, ok, err := h.adds(ctx, r)
	if ok {
		all = append(all, adds)
	}
	if it, ok := h.resultItem(r); ok {
		all = append(all, it)
	}
	run, no := h.item(ctx, r)
	if err = cmp.Or(err, no); err != nil { // the end of a task must not wait for its record
		h.cfg.Log.Error().Err(err).Str("task", r.ID).Msg("run not kept")
		return nil
	}
	return append(all, run)
}

// Wrote counts a run that was written with the end of its task.
func (h *History) Wrote(account string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.written[account]++
	h.foldSoon(account)
	if h.written[account] >= pruneAfter {
		h.soon()
	}
}

// Put writes a run before the end of its task is.
func (h *History) Put(ctx context.Context, r *Run) error {
	all := h.Items(ctx, r)
	for _, it := range all {
		if err := h.cfg.Values.Put(ctx, it); err != nil {
			return fmt.Errorf("keep the run %s: %w", r.ID, err)
		}
	}
	if len(all) > 0 {
		h.Wrote(r.Account)
	}
	return nil
}

// Find reads a run of an account, ended or not.
func (h *History) Find(ctx context.Context, account, id string) (*Run, error) {
	if h == nil || len(id) > maxID {
		return nil, persistence.ErrNotFound
	}
	return h.read(ctx, Key(account, id))
}

// maxID bounds the identifiers that are looked up: no task has a longer one.
const maxID = 128

func (h *History) read(ctx context.Context, key string) (*Run, error) {
	b, err := h.cfg.Values.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	r := new(Run)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	r.masked = true
	return r, nil
}

// Get reads a run of an account that has ended.
func (h *History) Get(ctx context.Context, account, id string) (*Run, error) {
	if h != nil {
		h.settle(ctx)
	}
	r, err := h.Find(ctx, account, id)
	if err == nil && r.State == api.TaskPending {
		return nil, persistence.ErrNotFound
	}
	return r, err
}

// Delete removes a run of an account.
func (h *History) Delete(ctx context.Context, account, id string) error {
	if _, err := h.Get(ctx, account, id); err != nil && !errors.Is(err, persistence.ErrSealed) {
		return err
	}
	if err := h.fold(ctx, account); err != nil {
		return err
	}
	return drop(ctx, h.cfg.Store, h.cfg.Values, account, Key(account, id), true)
}

// Erase removes all runs of an account and their sums, whether or not a history is kept now.
func Erase(ctx context.Context, store persistence.Store, values *persistence.ValueStore, account string) error {
	for _, prefix := range []string{Prefix, ResultPrefix, FreshPrefix, DayPrefix} {
		for more := true; more; {
			keys, err := store.Keys(ctx, prefix+account+"/", "", pruneStep)
			if err != nil {
				return fmt.Errorf("list the runs of an account: %w", err)
			}
			for _, k := range keys {
				if err := values.DeleteOf(ctx, account, k.Key, false); err != nil {
					return fmt.Errorf("remove the runs of an account: %w", err)
				}
			}
			more = len(keys) == pruneStep
		}
	}
	return nil
}
