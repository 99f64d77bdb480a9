package actors_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// staff is what a history knows of its workers, and of what the operator did.
type staff struct {
	workers int // that came with the node
	all     []*member
	erased  map[string]time.Time // accounts
	names   int
}

// member is a worker that is or was.
type member struct {
	id, owner string
	added     bool
	drained   time.Time // zero: it is not
	spells    [][2]time.Time
	removed   time.Time // the removal began; zero: it did not
	grace     time.Duration
	gone      chan error
}

func (c *staff) begin() {
	c.all, c.erased = nil, map[string]time.Time{}
	for i := range c.workers {
		c.all = append(c.all, &member{id: fmt.Sprint("w", i+1)})
	}
}

func (c *staff) worker(m move) *member { return c.all[m.worker%len(c.all)] }

func (c *staff) by(id string) *member {
	for _, w := range c.all {
		if w.id == id {
			return w
		}
	}
	return nil
}

// away reports whether the worker had been told before that it is to take no
// more tasks.
func (w *member) away(at time.Time) bool {
	for _, s := range w.spells {
		if at.After(s[0]) && at.Before(s[1]) {
			return true
		}
	}
	return !w.drained.IsZero() && at.After(w.drained) || !w.removed.IsZero() && at.After(w.removed)
}

// serves reports whether a worker that is free should have a request that waits.
func (h *history) serves(worker string, s *sent) bool {
	w := h.by(worker)
	if w.owner != "" && w.owner != s.Account.ID {
		return false
	}
	return s.target == nil || s.target == w
}

// mayRefuse reports whether there was a reason for a refusal.
func (h *history) mayRefuse(s *sent, code engine.Code) bool {
	_, erased := h.erased[s.Account.ID]
	switch code {
	case engine.CodeUnauthorized:
		return erased
	case engine.CodeForeignWorker:
		w := s.target
		return w != nil && (w.owner != "" && w.owner != s.Account.ID || !w.removed.IsZero() && !s.answered.Before(w.removed))
	case engine.CodeWorkerOffline, engine.CodeWorkerBusy:
		return s.target != nil
	case engine.CodeNoWorkerAvailable, engine.CodeCancelled:
		return true
	default:
		return false
	}
}

// operate does what the operator does.
func (h *history) operate(k *testkit.Kit, m move) error {
	ctx := context.Background()
	w := h.worker(m)
	there := w.removed.IsZero()
	var err error
	switch m.what {
	case "add":
		h.names++
		x := &api.AddWorker{Name: fmt.Sprint("extra", h.names)}
		if m.owned {
			x.Owner = m.account
		}
		added, e := api.Ask(ctx, k.Node, x)
		if _, erased := h.erased[x.Owner]; erased {
			there, err = false, e
			break
		}
		there, err = true, e
		if e != nil {
			break
		}
		h.all = append(h.all, &member{id: added.Worker.ID, owner: x.Owner, added: true})
	case "drain":
		if _, err = api.Ask(ctx, k.Node, &api.DrainWorker{Worker: w.id}); there && w.drained.IsZero() {
			w.drained = time.Now()
		}
	case "resume":
		if _, err = api.Ask(ctx, k.Node, &api.ResumeWorker{Worker: w.id}); there && !w.drained.IsZero() {
			w.spells = append(w.spells, [2]time.Time{w.drained, time.Now()})
			w.drained = time.Time{}
		}
	case "remove":
		return h.remove(k, w, m.takes)
	case "erase":
		for _, o := range h.all {
			if o.owner == m.account && o.removed.IsZero() {
				o.removed = time.Now()
			}
		}
		if h.erased[m.account].IsZero() {
			h.erased[m.account] = time.Now()
		}
		began := time.Now()
		_, err = api.Ask(ctx, k.Node, &api.RemoveAccount{Account: m.account})
		if took := time.Since(began); took > 0 { // every task of a history heeds its end
			return fmt.Errorf("the removal took %v", took)
		}
		return err
	}
	if there == (err != nil) {
		return fmt.Errorf("%+v: %v", w, err)
	}
	return nil
}

func (h *history) remove(k *testkit.Kit, w *member, grace time.Duration) error {
	if !w.added {
		_, err := api.Ask(context.Background(), k.Node, &api.RemoveWorker{Worker: w.id, Grace: grace})
		if err == nil || !strings.Contains(err.Error(), "comes with the service") {
			return fmt.Errorf("a worker of the configuration was removed: %v", err)
		}
		return nil
	}
	if w.removed.IsZero() {
		w.removed, w.grace, w.gone = time.Now(), grace, make(chan error, 1)
		go func() {
			_, err := api.Ask(context.Background(), k.Node, &api.RemoveWorker{Worker: w.id, Grace: grace})
			if took := time.Since(w.removed); err == nil && took > grace {
				err = fmt.Errorf("it took %v", took)
			}
			w.gone <- err
		}()
	}
	return nil
}

// end lets all who are drained come back, and looks whether somebody is lost, or
// is there who should not be.
func (h *history) end(k *testkit.Kit) error {
	stay := 0
	for _, w := range h.all {
		if !w.removed.IsZero() {
			if w.gone != nil {
				if err := <-w.gone; err != nil {
					return fmt.Errorf("%s was not removed: %w", w.id, err)
				}
			}
			continue
		}
		stay++
		testkit.Ask(k, &api.ResumeWorker{Worker: w.id})
		k.Until(w.id, api.Online)
		a := anna
		if w.owner != "" {
			a = testkit.Pro(w.owner)
		}
		if x := k.Do(a, testkit.Task(testkit.On(w.id)), quick); x.Refusal != nil {
			return fmt.Errorf("%s is lost: %w", w.id, x.Refusal)
		}
	}
	k.AwaitIdle()
	if n := len(workers(k)); n != stay || k.OpenBrowsers() != stay || k.Node.Status().Workers != stay {
		return fmt.Errorf("%d workers and %d browsers, want %d: %+v", n, k.OpenBrowsers(), stay, k.Node.Status())
	}
	return nil
}
