package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/fsm"
	"troupe/engine"
)

// beginSession stops the session's timer and returns the cache that the task
// shares with the session's other tasks. If clients learn of the session before
// the task has ended, it must be on disk by then.
func (p *play) beginSession(base context.Context) (*engine.Cache, error) {
	if base.Err() != nil { // the session may rest by now
		return nil, context.Cause(base)
	}
	c := p.run.claim
	m := &sessionBegin{Task: c.Timeout, Wait: c.NeedsAck}
	if s := c.Execute.Task.Session; s != nil {
		m.Timeout, m.Label = s.Timeout, s.Label
	}
	s, err := ask[sessionBegun](base, p.node.system, p.session, m)
	if err == nil && s.Refusal != nil {
		err = s.Refusal
	}
	if err != nil {
		return nil, fmt.Errorf("begin in the session: %w", err)
	}
	return p.node.sessions.cacheOf(p.session), nil
}

// endSession writes down what the task leaves of its session before the client
// has its answer. It takes no longer than it may: then the client is warned, and
// the writing goes on.
func (p *play) endSession(base context.Context, how fsm.Ending) {
	profile, bound := p.node.sessions.profileOf(p.session), p.node.cfg.Session.SaveTimeout
	task := p.run.claim.Execute.Task
	asked := task.Session != nil && task.Session.Save
	if asked || profile != nil && (p.closes || p.run.last.Load() || profile.due()) {
		p.saveProfile(base, profile, how, asked)
	}
	p.run.bound(bound+p.node.cfg.Browser.AnswerMargin, bound+p.node.cfg.Browser.StopMargin)
	// The task's cancellation is over with the task.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(base), bound)
	defer cancel()
	var err error
	switch {
	case p.closes:
		profile.end(false) // before the client learns that it is free
		err = eraseSession(ctx, p.node, p.session)
	case p.leaves != "":
		p.run.save()
		inst := p.inst
		if how != fsm.OK { // nothing can be read from it
			inst = nil
		}
		m := &sessionKeep{Unused: p.unused()}
		if s := p.run.claim.Execute.Task.Session; s != nil {
			m.Timeout = s.Timeout
		}
		err = keepSession(ctx, p.node, inst, p.session, m)
		p.run.saved(err == nil)
	}
	if err != nil {
		p.node.log.Warn().Err(err).Str("task", p.run.claim.Execute.TaskID).Msg("session not saved")
	}
}

// saveProfile saves the profile of the session before the client has its answer. One that
// has asked for nothing else learns why that failed as a failure.
func (p *play) saveProfile(base context.Context, profile *sessionProfile, how fsm.Ending, asked bool) {
	p.run.bound(profileSaveTime+p.node.cfg.Browser.AnswerMargin, profileSaveTime+p.node.cfg.Browser.StopMargin)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(base), profileSaveTime)
	defer cancel()
	inst := p.inst
	if how != fsm.OK {
		inst = nil
	}
	left, err := profile.save(ctx, inst)
	switch {
	case err != nil && asked && !p.run.claim.Execute.Task.Counts():
		p.run.played(&engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{notSavedProfile(err)}})
	case err != nil && !errors.Is(err, errNoProfile) || err != nil && asked:
		p.run.warnOf("the profile was not saved, and stays as it was: " + engine.ErrorText(err))
	case left > 0:
		p.run.warnOf(fmt.Sprintf("the profile was saved, but not all of it: %d storages, databases or records of its sites are too large or cannot be kept", left))
	}
}

// unused is how long before its end the client of the task has sent its last command.
func (p *play) unused() time.Duration {
	if p.client == nil {
		return 0
	}
	return p.client.Unused()
}

// keepSession saves what a session needs should its browser die. Without a
// browser the last state that was read stays.
func keepSession(ctx context.Context, n *nodeParts, inst engine.Instance, session *actor.PID, m *sessionKeep) error {
	var unread error
	if inst != nil {
		var state []byte
		unread = n.bounded(ctx, func() (err error) {
			state, err = inst.Save(ctx)
			return err
		}, func() {})
		if m.Saved = unread == nil; m.Saved {
			m.State = state
		} else {
			unread = fmt.Errorf("read the browser's state: %w", unread)
		}
	}
	kept, err := ask[sessionKept](ctx, n.system, session, m)
	if err == nil && kept.Err != "" {
		err = errors.New(kept.Err)
	}
	if err != nil {
		err = fmt.Errorf("keep the session: %w", err)
	}
	return errors.Join(unread, err)
}

func eraseSession(ctx context.Context, n *nodeParts, session *actor.PID) error {
	e, err := ask[sessionErased](ctx, n.system, session, &sessionErase{})
	if err == nil && e.Err != "" {
		err = errors.New(e.Err)
	}
	if err != nil {
		return fmt.Errorf("erase the session: %w", err)
	}
	return nil
}
