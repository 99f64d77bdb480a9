package schedule

import (
	"container/list"
	"fmt"
	"strings"

	"troupe/actors/api"
	"troupe/engine"
)

// Select selects a worker for an account: a ready one before one that is being
// cleaned, the account's own before a shared one. Among ready ones the last used
// comes first, among others the one cleaned longest (but see PreferLast). Without shared, workers
// without an owner are left out. Among them, those of a browser that serves the
// account come first. Select skips slots that fits rejects.
func (r *Roster) Select(account string, shared bool, fits func(*Slot) bool) *Slot {
	owners := []string{account, browserOf(account), ""}
	if !shared {
		owners = owners[:1]
	}
	for _, owner := range owners {
		if l := r.ready[owner]; l != nil {
			if s := r.first(l, account, fits); s != nil {
				return s
			}
		}
	}
	for _, owner := range owners {
		if l := r.cleaning[owner]; l != nil {
			if s := r.soonest(l, account, fits); s != nil {
				return s
			}
		}
	}
	return nil
}

// lookahead bounds how many free workers are looked at for one that has served the
// account last.
const lookahead = 32

// first selects among ready workers: the last used one, as it is the warmest. Where
// browsers stay with an account (PreferLast) it is one that has served the account last,
// and else the one that nobody has used for the longest time: its account may have gone.
func (r *Roster) first(l *list.List, account string, fits func(*Slot) bool) *Slot {
	if !r.PreferLast {
		return pick(l.Front(), (*list.Element).Next, l.Len(), fits)
	}
	if s := pick(l.Front(), (*list.Element).Next, lookahead, lastOf(account, fits)); s != nil {
		return s
	}
	return pick(l.Back(), (*list.Element).Prev, l.Len(), fits)
}

// soonest selects among workers that are being cleaned: the one cleaned longest. Where
// browsers stay with an account it is one that has served the account last: after another
// account's task it would have to make a new context, too.
func (r *Roster) soonest(l *list.List, account string, fits func(*Slot) bool) *Slot {
	if r.PreferLast {
		if s := pick(l.Back(), (*list.Element).Prev, lookahead, lastOf(account, fits)); s != nil {
			return s
		}
	}
	return pick(l.Back(), (*list.Element).Prev, l.Len(), fits)
}

func lastOf(account string, fits func(*Slot) bool) func(*Slot) bool {
	return func(s *Slot) bool { return s.last == account && fits(s) }
}

// pick is the first slot that fits, of so many from an element of a list on.
func pick(e *list.Element, next func(*list.Element) *list.Element, most int, fits func(*Slot) bool) *Slot {
	for ; e != nil && most > 0; e, most = next(e), most-1 {
		if s := e.Value.(*Slot); fits(s) {
			return s
		}
	}
	return nil
}

// MayOpenSession says whether an account may open one more session, at all and on
// a shared worker.
func (r *Roster) MayOpenSession(account string, limits engine.Limits, perMil int) (some, shared bool) {
	total, onShared := len(r.Held[account]), 0
	for s := range r.Held[account] {
		if s.Spec.Owner == "" {
			onShared++
		}
	}
	some = total < limits.Reserved
	return some, some && onShared < r.SharedLimit(perMil)
}

// SharedLimit is how many of the shared workers the sessions of one account may
// hold.
func (r *Roster) SharedLimit(perMil int) int { return max(1, r.shared*perMil/1000) }

// SessionsHere is how many workers of this node the sessions of an account may hold: its
// own, and its part of the shared ones.
func (r *Scheduler) SessionsHere(account string) int {
	n := r.Owned[account]
	if r.shared > 0 {
		n += r.SharedLimit(r.SharePerMil)
	}
	return n
}

// Overridable finds the worker that the account's override takes over: a reserved
// one, else any that the account holds.
func (r *Roster) Overridable(account string) *Slot {
	var best *Slot
	for s := range r.Held[account] {
		if s.Status.Session == "" {
			continue
		}
		idle := s.Job == nil && s.Status.State == api.Reserved
		switch {
		case best == nil:
			best = s
		case idle && (best.Job != nil || best.Status.State != api.Reserved):
			best = s
		case idle && s.used.Before(best.used):
			best = s
		}
	}
	return best
}

// WhyNoneFree says why an account gets no worker: what all of them do. shared
// tells whether workers without an owner are open to the task.
func (r *Roster) WhyNoneFree(shared bool) string {
	all := len(r.All)
	if all == 0 {
		return "there are no workers"
	}
	rest := all
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			rest -= n
			parts = append(parts, fmt.Sprintf("%d %s %s", n, isOrAre(n), what))
		}
	}
	add(r.States[api.Busy], "busy")
	add(r.States[api.Reserved], "reserved")
	add(r.States[api.Offline], "offline")
	why := "not open to this account now (claimed a moment ago, another account's, drained, or in a browser that is kept for another account)"
	if !shared {
		why = "not open to a new session of this account, whose sessions hold their share of the shared workers"
	}
	add(rest, why)
	workers := "workers"
	if all == 1 {
		workers = "worker"
	}
	return fmt.Sprintf("of %d %s %s", all, workers, strings.Join(parts, ", "))
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
