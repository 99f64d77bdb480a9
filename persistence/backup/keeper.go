package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"troupe/persistence"
	"troupe/persistence/clock"
)

// Where is a place, and how people call it.
type Where struct {
	Name string
	Open func(ctx context.Context) (Place, error)
}

// Schedule says when backups are made by themselves.
type Schedule struct {
	To    Where
	Every time.Duration
	Keep  int // how many, beside those that these need
}

// Keeper makes backups of a store, one at a time, however many nodes share it.
type Keeper struct {
	source   *Source
	schedule *Schedule // nil: none is made by itself
	failures atomic.Int64
	mu       sync.Mutex
	state    State     // as it was last seen
	next     time.Time // when the next backup is due
	wait     clock.Due // the same, whatever is done to the wall clock
}

// NewKeeper makes one; [Keeper.Run] follows the schedule.
func NewKeeper(s *Source, schedule *Schedule) *Keeper {
	return &Keeper{source: s, schedule: schedule}
}

// Result is what a backup is.
type Result struct {
	Manifest
	Place   string `json:"place"`
	Removed int    `json:"removed,omitempty"` // older backups
}

const (
	// look is how often the state is read: another node may have made the backup.
	look = 15 * time.Second
	// saying is how often a maker says that it goes on.
	saying = 15 * time.Second
	// retryFirst is how long after a failure the next try is, at first.
	retryFirst = time.Minute
	retryMost  = 30 * time.Minute
)

// next is when the next backup is due, and how long it may wait for that at most.
func (w *Schedule) next(s *State) (due time.Time, most time.Duration) {
	if d := s.at(w.To.Name); !d.At.IsZero() {
		due, most = d.At.Add(w.Every), w.Every
	}
	if f := s.Failed; f != nil && f.Place == w.To.Name {
		pause := min(retryMost, w.Every, retryFirst<<min(f.Times-1, 10))
		if again := f.At.Add(pause); again.After(due) {
			due, most = again, pause
		}
	}
	return due, most
}

// due reports whether a backup is due by the schedule. A clock that is put back while this
// process waits delays it by no more than the wait was to take.
func (k *Keeper) due(s *State) bool {
	at, most := k.schedule.next(s)
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !at.Equal(k.next) {
		k.next, k.wait = at, k.source.Clock.Within(at, now, most)
	}
	return k.source.Clock.Came(k.wait, now)
}

// Run makes backups when they are due, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	c := k.source.Clock
	for again := true; again; again = c.Until(ctx, c.After(time.Now(), look)) {
		if k.isDue(ctx) {
			k.byItself(ctx)
		}
	}
}

func (k *Keeper) isDue(ctx context.Context) bool {
	s, err := k.look(ctx)
	if err != nil {
		if ctx.Err() == nil {
			k.source.Log.Warn().Err(err).Msg("it is not known whether a backup is due")
		}
		return false
	}
	return k.schedule != nil && s.busy(k.source.Clock.Now()) == nil && k.due(&s)
}

// look reads the state, and remembers it for the metrics.
func (k *Keeper) look(ctx context.Context) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, persistence.Patience+time.Second)
	defer cancel()
	s, _, err := readState(ctx, k.source.Store)
	if err == nil {
		k.mu.Lock()
		k.state = s
		k.mu.Unlock()
	}
	return s, err
}

func (k *Keeper) byItself(ctx context.Context) {
	full := false
	if s, err := k.look(ctx); err == nil && s.Failed != nil {
		full = s.Failed.Times%3 == 2 // the fault may be in what an incremental one needs
	}
	_, _ = k.makeIf(ctx, k.schedule.To, full, k.due) // it has told
}

// errNotDue: another node has made the backup since this one has looked.
var errNotDue = errors.New("no backup is due any more")

// Make makes a backup now. What becomes of it is in the log, and in the state.
func (k *Keeper) Make(ctx context.Context, to Where, full bool) (*Result, error) {
	return k.makeIf(ctx, to, full, func(*State) bool { return true })
}

// makeIf makes a backup if it is due when this process claims it.
func (k *Keeper) makeIf(ctx context.Context, to Where, full bool, due func(*State) bool) (*Result, error) {
	id, began := rand.Text(), time.Now()
	log := k.source.Log.With().Str("place", to.Name).Logger()
	if err := k.claim(ctx, id, k.source.Clock.At(began), due); err != nil {
		var other *RunningError
		if !errors.As(err, &other) && !errors.Is(err, errNotDue) {
			k.fails(ctx, to, id, err)
		}
		return nil, err
	}
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	said := make(chan struct{})
	go func() {
		defer close(said)
		k.keepSaying(working, end, id)
	}()
	m, removed, err := k.make(working, to, full, id)
	end(nil)
	<-said
	if err != nil {
		if cause := context.Cause(working); ctx.Err() == nil && errors.Is(err, context.Canceled) && cause != nil && !errors.Is(cause, context.Canceled) {
			err = cause
		}
		k.fails(ctx, to, id, err)
		return nil, err
	}
	d := Done{Place: to.Name, Name: m.Name, Node: k.source.Node, At: m.Snapshot, Took: time.Since(began), Records: m.Total(), Files: m.Files, Bytes: m.RecordSize + m.ListSize + m.NewBytes}
	s, err := change(ctx, k.source.Store, func(s *State) error {
		s.note(&d, nil)
		if s.Running != nil && s.Running.ID == id {
			s.Running = nil
		}
		return nil
	})
	if err != nil {
		log.Error().Err(err).Str("backup", m.Name).Msg("the backup is complete, but the store could not take that down")
	} else {
		k.mu.Lock()
		k.state = s
		k.mu.Unlock()
	}
	if m.Missing > 0 {
		log.Warn().Int64("records", m.Missing).Msg("records name files that are not there: the backup has the records as they are")
	}
	log.Info().Str("backup", m.Name).Str("base", m.Base).Int64("records", d.Records).Int64("changed", m.Changed).Int64("files", d.Files).Int64("newFiles", m.NewFiles).
		Int64("bytes", d.Bytes).Dur("took", d.Took).Int("removed", removed).Msg("a backup was made and read back")
	return &Result{*m, to.Name, removed}, nil
}

func (k *Keeper) make(ctx context.Context, to Where, full bool, id string) (*Manifest, int, error) {
	place, err := to.Open(ctx)
	if err != nil {
		return nil, 0, err
	}
	m, err := Make(ctx, k.source, place, full, func(ctx context.Context) error { return k.say(ctx, id) })
	if err != nil {
		return nil, 0, err
	}
	if k.schedule == nil || k.schedule.To.Name != to.Name {
		return m, 0, nil
	}
	removed, err := Prune(ctx, place, m.Store, k.schedule.Keep)
	if err != nil { // the backup is good
		k.source.Log.Warn().Err(err).Str("place", to.Name).Msg("old backups could not be removed")
	}
	return m, removed, nil
}

// claim notes that this process makes a backup.
func (k *Keeper) claim(ctx context.Context, id string, now time.Time, due func(*State) bool) error {
	ctx, cancel := context.WithTimeout(ctx, persistence.Patience+time.Second)
	defer cancel()
	_, err := change(ctx, k.source.Store, func(s *State) error {
		if r := s.busy(now); r != nil {
			return &RunningError{*r}
		}
		if !due(s) {
			return errNotDue
		}
		s.Running = &Running{ID: id, Node: k.source.Node, Began: now.UTC(), Seen: now.UTC()}
		return nil
	})
	return err
}

// say notes that the backup goes on.
func (k *Keeper) say(ctx context.Context, id string) error {
	_, err := change(ctx, k.source.Store, func(s *State) error {
		if s.Running == nil || s.Running.ID != id {
			return errTaken
		}
		s.Running.Seen = k.source.Clock.Now().UTC()
		return nil
	})
	return err
}

// keepSaying says it now and then. It ends the backup when another node has taken over.
func (k *Keeper) keepSaying(ctx context.Context, end context.CancelCauseFunc, id string) {
	tick := time.NewTicker(saying)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := k.say(ctx, id); errors.Is(err, errTaken) {
			end(err)
			return
		}
	}
}

// fails tells of a backup that came to nothing. One that the end of the process cut off is
// no failure.
func (k *Keeper) fails(ctx context.Context, to Where, id string, why error) {
	ended := ctx.Err() != nil
	if !ended {
		k.failures.Add(1)
		k.source.Log.Error().Err(why).Str("place", to.Name).Msg("a backup failed")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	s, err := change(ctx, k.source.Store, func(s *State) error {
		if s.Running != nil && s.Running.ID == id {
			s.Running = nil
		}
		if !ended {
			s.note(nil, &Failed{Place: to.Name, Node: k.source.Node, At: k.source.Clock.Now().UTC(), Times: 1, Why: fmt.Sprintf("%.500v", why)})
		}
		return nil
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err == nil:
		k.state = s
	case !ended: // the store takes nothing: this process knows it
		k.state.note(nil, &Failed{Place: to.Name, Node: k.source.Node, At: k.source.Clock.Now().UTC(), Times: 1, Why: fmt.Sprintf("%.500v", why)})
	}
}

// Numbers are what metrics tell of backups.
type Numbers struct {
	Every    time.Duration // zero: none is made by itself
	Last     time.Time     // the last good one has the records of this moment; zero: there is none
	Took     time.Duration
	Bytes    int64
	Records  int64
	Failed   bool  // the last one came to nothing
	Failures int64 // of this process
}

// Numbers gives them.
func (k *Keeper) Numbers() (n Numbers) {
	k.mu.Lock()
	defer k.mu.Unlock()
	place := ""
	if k.schedule != nil {
		n.Every, place = k.schedule.Every, k.schedule.To.Name
	}
	d := k.state.at(place)
	n.Last, n.Took, n.Bytes, n.Records = d.At, d.Took, d.Bytes, d.Records
	n.Failed, n.Failures = k.state.Failed != nil && (place == "" || k.state.Failed.Place == place), k.failures.Load()
	return n
}
