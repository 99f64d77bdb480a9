package schedule

import (
	"slices"

	"troupe/actors/api"
)

// lodging is a browser that several workers share. They serve one account at a
// time: their contexts share no page, but the browser's own process and one
// clipboard.
type SharedBrowser struct {
	Slots      []*Slot
	Account    string // the account whose tasks, sessions or remains are in the browser; empty: none
	HasSession bool   // a session is among them
	counted    string // the guest, if not all of its workers have sessions
}

// guest is the account that a worker keeps its browser for: that of its task or
// session, or of the task that it is not yet clean of.
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

// lodge finds out for whom a worker's browser is kept now. It moves the other
// workers of the browser to where they belong then.
func (r *Roster) assignBrowser(s *Slot) {
	l := s.Shared
	if l == nil {
		return
	}
	guest, home := l.Account, l.counted
	l.Account, l.HasSession, l.counted = "", false, ""
	for _, o := range l.Slots {
		if g, stays := o.occupant(); g != "" {
			l.Account, l.HasSession = g, l.HasSession || stays
		}
	}
	if slices.ContainsFunc(l.Slots, func(o *Slot) bool { return o.Status.Holder == "" }) {
		l.counted = l.Account
	}
	if l.counted != home {
		r.ServeAll = true
		r.countBrowser(home, -1)
		r.countBrowser(l.counted, 1)
	}
	if l.Account == guest {
		return
	}
	r.ServeAll = true
	for _, o := range l.Slots {
		r.place(o)
	}
}

// settled counts the browsers that are an account's home.
func (r *Roster) countBrowser(account string, n int) {
	if account == "" {
		return
	}
	if r.browserCounts[account] += n; r.browserCounts[account] == 0 {
		delete(r.browserCounts, account)
	}
}

// deserves reports whether an account that waits should get a browser that is
// kept for another: it has none, or the other one has two more.
func (r *Roster) MayTakeBrowser(waiting, has string) bool {
	return waiting != has && (r.browserCounts[waiting] == 0 || r.browserCounts[waiting]+1 < r.browserCounts[has])
}

// kept is the name of the list of those free workers whose browser is kept for
// an account. No account's own name begins so.
func browserOf(account string) string { return "\x00" + account }
