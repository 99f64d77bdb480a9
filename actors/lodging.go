package actors

import (
	"slices"

	"troupe/actors/api"
)

// lodging is a browser that several workers share. They serve one account at a
// time: their contexts share no page, but the browser's own process and one
// clipboard.
type lodging struct {
	seats []*seat
	guest string // the account whose tasks, sessions or remains are in the browser; empty: none
	stays bool   // a session is among them
	home  string // the guest, if not all of its workers have sessions
}

// guest is the account that a worker keeps its browser for: that of its task or
// session, or of the task that it is not yet clean of.
func (s *seat) guest() (account string, stays bool) {
	switch {
	case s.note.Holder != "":
		return s.note.Holder, true
	case s.job != nil:
		return s.job.account(), s.job.opens()
	case s.aside != nil:
		return s.aside.account(), true
	case s.note.State == api.Online && !s.note.Ready:
		return s.last, false
	}
	return "", false
}

// lodge finds out for whom a worker's browser is kept now. It moves the other
// workers of the browser to where they belong then.
func (r *roster) lodge(s *seat) {
	l := s.lodging
	if l == nil {
		return
	}
	guest, home := l.guest, l.home
	l.guest, l.stays, l.home = "", false, ""
	for _, o := range l.seats {
		if g, stays := o.guest(); g != "" {
			l.guest, l.stays = g, l.stays || stays
		}
	}
	if slices.ContainsFunc(l.seats, func(o *seat) bool { return o.note.Holder == "" }) {
		l.home = l.guest
	}
	if l.home != home {
		r.opened = true
		r.settled(home, -1)
		r.settled(l.home, 1)
	}
	if l.guest == guest {
		return
	}
	r.opened = true
	for _, o := range l.seats {
		r.place(o)
	}
}

// settled counts the browsers that are an account's home.
func (r *roster) settled(account string, n int) {
	if account == "" {
		return
	}
	if r.homes[account] += n; r.homes[account] == 0 {
		delete(r.homes, account)
	}
}

// deserves reports whether an account that waits should get a browser that is
// kept for another: it has none, or the other one has two more.
func (r *roster) deserves(waiting, has string) bool {
	return waiting != has && (r.homes[waiting] == 0 || r.homes[waiting]+1 < r.homes[has])
}

// kept is the name of the list of those free workers whose browser is kept for
// an account. No account's own name begins so.
func kept(account string) string { return "\x00" + account }
