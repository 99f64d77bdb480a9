package schedule

import (
	"slices"

	"troupe/actors/api"
)

// lodging is a browser that several workers share. They serve one account at a
// time: their contexts share no page, but the browser's own process and one
// clipboard.
type SharedBrowser struct {
	Seats []*Slot
	Guest string // the account whose tasks, sessions or remains are in the browser; empty: none
	Stays bool   // a session is among them
	home  string // the guest, if not all of its workers have sessions
}

// guest is the account that a worker keeps its browser for: that of its task or
// session, or of the task that it is not yet clean of.
func (s *Slot) guest() (account string, stays bool) {
	switch {
	case s.Status.Holder != "":
		return s.Status.Holder, true
	case s.Job != nil:
		return s.Job.Account(), s.Job.Opens()
	case s.SetAside != nil:
		return s.SetAside.Account(), true
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
	guest, home := l.Guest, l.home
	l.Guest, l.Stays, l.home = "", false, ""
	for _, o := range l.Seats {
		if g, stays := o.guest(); g != "" {
			l.Guest, l.Stays = g, l.Stays || stays
		}
	}
	if slices.ContainsFunc(l.Seats, func(o *Slot) bool { return o.Status.Holder == "" }) {
		l.home = l.Guest
	}
	if l.home != home {
		r.Opened = true
		r.countKept(home, -1)
		r.countKept(l.home, 1)
	}
	if l.Guest == guest {
		return
	}
	r.Opened = true
	for _, o := range l.Seats {
		r.place(o)
	}
}

// settled counts the browsers that are an account's home.
func (r *Roster) countKept(account string, n int) {
	if account == "" {
		return
	}
	if r.kept[account] += n; r.kept[account] == 0 {
		delete(r.kept, account)
	}
}

// deserves reports whether an account that waits should get a browser that is
// kept for another: it has none, or the other one has two more.
func (r *Roster) MayTakeBrowser(waiting, has string) bool {
	return waiting != has && (r.kept[waiting] == 0 || r.kept[waiting]+1 < r.kept[has])
}

// kept is the name of the list of those free workers whose browser is kept for
// an account. No account's own name begins so.
func kept(account string) string { return "\x00" + account }
