package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/fsm"
	"troupe/engine"
)

// profileTick tells the session that its profile may have changed for long enough to be
// saved.
type profileTick struct{}

// profileDue asks the worker to save the profile of its session, if no task is there: one
// that ends saves it itself. Answered with [profileSaved], sooner or later. Gen is the one
// of the session's timer for the last save, zero for others.
type profileDue struct {
	Session string
	Gen     int
}

// profileSaved tells that a save is over, whatever came of it.
type profileSaved struct{ Gen int }

// note keeps in the record what is known of the profile.
func (s *session) note(ctx actor.Context) {
	s.book.node.sessions.profileOf(ctx.Self()).note(&s.rec)
}

// saves reports whether the session has a profile that it saves.
func (s *session) saves() bool {
	p := s.rec.Profile
	return p != nil && p.By != "" && p.Lost == ""
}

// recoverProfile goes on with the profile of a session that comes from another process.
func (s *session) recoverProfile(ctx actor.Context) {
	if of := s.rec.Profile; of != nil {
		s.book.node.sessions.addProfile(ctx.Self(), recoverProfile(s.book.node, s.rec.Account, *of))
		s.tick(ctx)
	}
}

// endProfile gives the right to save the profile back, or leaves it to who has the session
// next.
func (s *session) endProfile(ctx actor.Context) {
	if s.ticks != nil {
		s.ticks.Stop()
	}
	if p := s.book.node.sessions.profileOf(ctx.Self()); p != nil {
		goesOn := !s.over
		s.book.node.background.Go(func() { p.end(goesOn) })
	}
}

// tick sets the time of the next save.
func (s *session) tick(ctx actor.Context) {
	s.ticks = nil
	if s.note(ctx); s.saves() {
		s.ticks = sendLater(ctx, s.book.node.cfg.Session.ProfileSave, ctx.Self(), &profileTick{})
	}
}

// savesLast saves the profile before the session ends, and reports whether that has begun.
// Should nobody answer, the timer comes again.
func (s *session) savesLast(ctx actor.Context) bool {
	if s.last || !s.saves() {
		return false
	}
	s.last = true
	s.armAfter(ctx, profileSaveTime+again)
	ctx.Send(s.worker, &profileDue{Session: s.rec.ID, Gen: s.gen})
	return true
}

func (s *session) onProfileSaved(ctx actor.Context, m *profileSaved) {
	had := s.rec.Profile
	if s.describe(ctx, !s.armed); had == nil || s.rec.Profile.Version != had.Version || s.rec.Profile.Lost != had.Lost {
		s.write(ctx, nil, nil)
	}
	if m.Gen != 0 && m.Gen == s.gen { // no task has begun meanwhile
		ctx.Send(s.worker, &sessionOver{Session: s.rec.ID})
	}
}

// saveProfile saves the profile of the session that holds the worker, outside of the
// mailbox. A task that comes meanwhile waits in the browser until that is over.
func (w *worker) saveProfile(ctx actor.Context, m *profileDue) {
	c, pid := w.survives.cond, w.survives.session.pid
	if pid == nil || c.Session != m.Session {
		return
	}
	p := w.node.sessions.profileOf(pid)
	if p == nil || c.Browser != fsm.Ready || c.HasClaim() {
		ctx.Send(pid, &profileSaved{m.Gen})
		return
	}
	root, b, node := ctx.ActorSystem().Root, w.browser, w.node
	node.background.Go(func() {
		ctx, cancel := context.WithTimeout(b.ctx, profileSaveTime)
		defer cancel()
		p.saveLogged(ctx, b.inst, b.worker)
		root.Send(pid, &profileSaved{m.Gen})
	})
}

// saveLogged saves the profile where nobody is told when that fails.
func (p *sessionProfile) saveLogged(ctx context.Context, inst engine.Instance, worker string) {
	left, err := p.save(ctx, inst)
	if err != nil {
		p.node.log.Warn().Err(err).Str("worker", worker).Msg("profile of a session not saved")
	}
	if left > 0 {
		p.node.log.Warn().Str("worker", worker).Int("left", left).Msg("profile of a session not saved as a whole")
	}
}
