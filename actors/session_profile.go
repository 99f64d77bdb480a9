package actors

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// profileSaveTime bounds one save of a session's profile.
const profileSaveTime = 10 * time.Second

// sessionProfile is the profile of a session, with the right to save it. It is in the
// node's [sessionSet] from the task that opens the session until the session's actor ends.
type sessionProfile struct {
	node    *nodeParts
	account string

	open  context.Context // until the session ends
	close context.CancelFunc

	turn chan struct{} // holds a value while somebody has the fields below
	rec  records.SessionProfile
	// writer is nil where nothing is saved: the profile is only read, or the right to
	// save it was given back or lost.
	writer *persistence.ProfileWriter
	last   [sha256.Size]byte // of the state that was saved last
	looked time.Time         // when it was last saved, or found unchanged
}

func newSessionProfile(n *nodeParts, account string, rec records.SessionProfile, w *persistence.ProfileWriter) *sessionProfile {
	p := &sessionProfile{node: n, account: account, turn: make(chan struct{}, 1), rec: rec, writer: w, looked: time.Now()}
	p.open, p.close = context.WithCancel(context.Background())
	return p
}

// recoverProfile is the profile of a session that goes on. Nobody has a turn until it is
// known whether it can be saved.
func recoverProfile(n *nodeParts, account string, rec records.SessionProfile) *sessionProfile {
	p := newSessionProfile(n, account, rec, nil)
	switch {
	case rec.By == "" || rec.Lost != "":
	case n.cfg.Profiles == nil:
		p.lose("this service keeps none")
	default:
		p.turn <- struct{}{}
		n.background.Go(p.relock)
	}
	return p
}

// enter waits for the turn; leave gives it back.
func (p *sessionProfile) enter(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *sessionProfile) leave() { <-p.turn }

// note puts what is known of the profile into the session's record, unless it is being
// saved now: then another note follows.
func (p *sessionProfile) note(rec *records.Session) {
	if p == nil {
		return
	}
	select {
	case p.turn <- struct{}{}:
		defer p.leave()
		about := p.rec
		rec.Profile = &about
	default:
	}
}

// due reports whether the profile was not looked at for so long that it is to be saved.
func (p *sessionProfile) due() bool {
	select {
	case p.turn <- struct{}{}:
		defer p.leave()
		return p.writer != nil && time.Since(p.looked) >= p.node.cfg.Session.ProfileSave
	default: // it is being saved
		return false
	}
}

// errNoProfile: there is nothing that could be saved.
var errNoProfile = errors.New("the session has no profile, or only reads it")

// save saves what is in the browser as the next version, unless the last one says the same.
// A nil profile is one that the session does not have.
func (p *sessionProfile) save(ctx context.Context, inst engine.Instance) (left int, err error) {
	if p == nil {
		return 0, errNoProfile
	}
	if err := p.enter(ctx); err != nil {
		return 0, err
	}
	defer p.leave()
	switch {
	case p.rec.Lost != "":
		return 0, fmt.Errorf("%w: %s", persistence.ErrRightLost, p.rec.Lost)
	case p.writer == nil:
		return 0, errNoProfile
	case inst == nil:
		return 0, errors.New("the browser has ended")
	}
	var s *engine.SavedProfile
	err = p.node.bounded(ctx, func() (err error) {
		s, err = inst.SaveProfile(ctx)
		return err
	}, func() {})
	if err != nil {
		return 0, fmt.Errorf("read the browser's state: %w", err)
	}
	p.looked = time.Now()
	sum := sha256.Sum256(s.State)
	if sum == p.last {
		return s.Left, nil
	}
	of, err := SaveProfile(ctx, p.writer, s.State, p.rec.By, p.rec.Sites, append(s.Secrets, p.rec.Secrets...))
	switch {
	case errors.Is(err, persistence.ErrRightLost), errors.Is(err, persistence.ErrConflict):
		p.lose("its node was away for too long, or the profile was removed")
	case err == nil:
		p.last, p.rec.Version, p.rec.Saved = sum, of.Newest().Version, of.Newest().Saved
	}
	return s.Left, err
}

// lose ends the saving. The caller has the turn.
func (p *sessionProfile) lose(why string) {
	p.rec.Lost = why
	if w := p.writer; w != nil {
		p.writer = nil
		p.node.background.Go(w.Close)
	}
}

// giveUp ends the saving for a reason.
func (p *sessionProfile) giveUp(why string) {
	if p == nil {
		return
	}
	p.turn <- struct{}{} // for as long as a save may take
	defer p.leave()
	if p.rec.By != "" && p.rec.Lost == "" {
		p.lose(why)
	}
}

// end gives the right to save the profile back. The session has ended, or goes on
// elsewhere: then its next owner takes the right over.
func (p *sessionProfile) end(goesOn bool) {
	if p == nil {
		return
	}
	p.close()
	p.turn <- struct{}{} // for as long as a save may take
	w := p.writer
	p.writer = nil
	p.leave()
	switch {
	case w == nil:
	case goesOn:
		w.Leave()
	default:
		w.Close()
	}
}

// relock gets the right again for a session that goes on after its process or its node has
// changed, if nobody has saved the profile since. A store without an answer is asked again
// until the right of the earlier process has expired.
func (p *sessionProfile) relock() {
	ctx, cancel := context.WithTimeout(p.open, time.Minute)
	defer cancel()
	defer p.leave()
	for {
		w, err := p.node.cfg.Profiles.LockAgain(ctx, p.account, p.rec.Name, p.rec.By)
		switch {
		case err == nil:
			p.writer = w
			if v := w.Newest(); v.Version != p.rec.Version && v.By != p.rec.By {
				p.lose("it was saved by others while the session was away")
			} else if v.Version != p.rec.Version { // its last save came before its record
				p.rec.Version, p.rec.Saved = v.Version, v.Saved
			}
			return
		case errors.Is(err, persistence.ErrProfileBusy):
			p.lose("others had it when the session went on")
			return
		}
		p.node.log.Warn().Err(err).Str("profile", p.rec.Name).Msg("profile of a session not locked again")
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			p.lose("the store gave no answer when the session went on")
			return
		}
	}
}

// newest is the version that the session has begun with or saved last; nil: there is none.
func (p *sessionProfile) newest(ctx context.Context) (json.RawMessage, error) {
	if p == nil {
		return nil, nil
	}
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	name, version := p.rec.Name, p.rec.Version
	p.leave()
	if version == 0 {
		return nil, nil
	}
	kept, _, err := p.node.cfg.Profiles.State(ctx, p.account, name, version)
	switch {
	case errors.Is(err, persistence.ErrNotFound): // it is one of the first, or was removed
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the session's profile: %w", err)
	}
	return kept, nil
}

// aboutProfile is what the account of a session may know of its profile.
func aboutProfile(rec *records.SessionProfile) api.HeldProfile {
	if rec == nil {
		return api.HeldProfile{}
	}
	return api.HeldProfile{Name: rec.Name, Readonly: rec.By == "", Version: rec.Version, Saved: rec.Saved, Lost: rec.Lost}
}

// notSavedProfile is the refusal of a request that was to save a profile.
func notSavedProfile(err error) engine.Failure {
	f := engine.Failure{Code: engine.CodeInternal, Text: "The profile was not saved: " + engine.ErrorText(err), Index: -1}
	switch {
	case errors.Is(err, errNoProfile):
		f.Code = engine.CodeInvalidValue
	case errors.Is(err, persistence.ErrRightLost):
		f.Code = engine.CodeProfileBusy
	case errors.Is(err, persistence.ErrTooMany):
		f.Code = "profile_limit"
	case errors.Is(err, context.DeadlineExceeded):
		f.Code = engine.CodeTimeout
	}
	return f
}
