package schedule

import (
	"slices"

	"troupe/actors/api"
)

// SharedBrowser is a browser that several workers share. They serve one account
// at a time: their contexts share no page, but they share the browser's process
// and one clipboard.
type SharedBrowser struct {
	Slots      []*Slot
	Account    string // the account whose tasks, sessions or remains are in the browser; empty: none
	HasSession bool   // a session is among them
	counted    string // the account that it counts for: none if all of its workers have sessions
}

// occupant is the account that a worker occupies its browser for: that of its
// task or session, or of the task that it is not yet clean of.
func (s *Slot) occupant() (account string, stays bool) {
	switch {
	case s.Status.Holder != "":
		return s.Status.Holder, true
	case s.Job != nil:
		return s.Job.Account(), s.Job.OpensSession()
	case s.ReservedFor != nil:
		return s.ReservedFor.Account(), true
	case s.Status.State == api.Online && !s.Status.Ready:
		return s.last, false
	}
	return "", false
}

// assignBrowser finds out which account a worker's browser serves now, and moves
// the browser's other workers accordingly.
func (r *Roster) assignBrowser(s *Slot) {
	l := s.Shared
	if l == nil {
		return
	}
	account, counted := l.Account, l.counted
	l.Account, l.HasSession, l.counted = "", false, ""
	for _, o := range l.Slots {
		if g, stays := o.occupant(); g != "" {
			l.Account, l.HasSession = g, l.HasSession || stays
		}
	}
	if slices.ContainsFunc(l.Slots, func(o *Slot) bool { return o.Status.Holder == "" }) {
		l.counted = l.Account
	}
	if l.counted != counted {
		r.ServeAll = true
		r.countBrowser(counted, -1)
		r.countBrowser(l.counted, 1)
	}
	if l.Account == account {
		return
	}
	r.ServeAll = true
	for _, o := range l.Slots {
		r.place(o)
	}
}

// countBrowser counts the browsers that serve an account.
func (r *Roster) countBrowser(account string, n int) {
	if account == "" {
		return
	}
	if r.browserCounts[account] += n; r.browserCounts[account] == 0 {
		delete(r.browserCounts, account)
	}
}

// MayTakeBrowser reports whether a waiting account should get a browser that
// serves another one: it has none, or the other one has at least two more.
func (r *Roster) MayTakeBrowser(waiting, has string) bool {
	return waiting != has && (r.browserCounts[waiting] == 0 || r.browserCounts[waiting]+1 < r.browserCounts[has])
}

// browserOf names the list of free workers whose browser serves an account. No
// account's own name begins so.
func browserOf(account string) string { return "\x00" + account }
