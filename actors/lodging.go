package actors

import (
	"slices"

	"troupe/actors/api"
)

// lodging is a browser that several workers share. They serve one account at a
// time: their contexts share no page, but the browser's own process and one
// clipboard.
type sharedBrowser struct {
	seats []*workerSlot
	guest string // the account whose tasks, sessions or remains are in the browser; empty: none
	stays bool   // a session is among them
	home  string // the guest, if not all of its workers have sessions
}

// guest is the account that a worker keeps its browser for: that of its task or
// session, or of the task that it is not yet clean of.
func (s *workerSlot) guest() (account string, stays bool) {
	switch {
	case s.status.Holder != "":
		return s.status.Holder, true
	case s.job != nil:
		return s.job.account(), s.job.opens()
	case s.setAside != nil:
		return s.setAside.account(), true
	case s.status.State == api.Online && !s.status.Ready:
		return s.last, false
	}
	return "", false
}

// lodge finds out for whom a worker's browser is kept now. It moves the other
// workers of the browser to where they belong then.
func (r *roster) assignBrowser(s *workerSlot) {
	l := s.shared
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
	if slices.ContainsFunc(l.seats, func(o *workerSlot) bool { return o.status.Holder == "" }) {
		l.home = l.guest
	}
	if l.home != home {
		r.opened = true
		r.countKept(home, -1)
		r.countKept(l.home, 1)
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
func (r *roster) countKept(account string, n int) {
	if account == "" {
		return
	}
	if r.kept[account] += n; r.kept[account] == 0 {
		delete(r.kept, account)
	}
}

// deserves reports whether an account that waits should get a browser that is
// kept for another: it has none, or the other one has two more.
func (r *roster) mayTakeBrowser(waiting, has string) bool {
	return waiting != has && (r.kept[waiting] == 0 || r.kept[waiting]+1 < r.kept[has])
}

// kept is the name of the list of those free workers whose browser is kept for
// an account. No account's own name begins so.
func kept(account string) string { return "\x00" + account }
