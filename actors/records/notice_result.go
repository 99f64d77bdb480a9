package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/persistence"
	"troupe/persistence/owned"
	"troupe/persistence/sealed"
)

// NoticeResultPrefix begins the keys of results that several notices of one end have in
// them: there is one copy for all receivers.
const NoticeResultPrefix = "noticeresult/"

var (
	_ = sealed.Register(sealed.Kind{Prefix: NoticeResultPrefix, Holds: "results that notices have in them"})
	_ = owned.Register(owned.Kind{Prefix: NoticeResultPrefix, By: owned.Key})
)

// smallResult is how large a result is at most that each notice has for itself: another
// record would take no less.
const smallResult = 512

// NoticeResultKey is where the result of a task is that its notices refer to.
func NoticeResultKey(account, task string) string { return NoticeResultPrefix + account + "/" + task }

// apart keeps the result of an end once, where several notices have it in them, and lets
// them refer to it. Once says that a result that is there already stays.
func (u Notices) apart(ctx context.Context, list []Notice, once bool) error {
	var with []*Notice
	for i := range list {
		if n := &list[i]; n.Task != nil && n.Task.Result != nil {
			with = append(with, n)
		}
	}
	if len(with) < 2 {
		return nil
	}
	n := with[0]
	b, err := json.Marshal(n.Task.Result)
	if err != nil {
		return fmt.Errorf("write the result in notices of %s: %w", n.Task.ID, err)
	}
	if len(b) <= smallResult {
		return nil
	}
	err = u.r.Sealed.Put(ctx, persistence.Item{
		Key: NoticeResultKey(n.Account, n.Task.ID), Account: n.Account, Value: b, Expires: n.At.Add(noticeAbandoned), New: once, Durable: once,
	})
	if err != nil && !(once && errors.Is(err, persistence.ErrConflict)) {
		return fmt.Errorf("write the result in notices of %s: %w", n.Task.ID, err)
	}
	for _, n := range with {
		of := *n.Task
		of.Result, of.Apart, of.Large = nil, true, true
		n.Task = &of
	}
	return nil
}

// Result reads the result that a notice has in it; nil: it has none, or that is gone.
func (u Notices) Result(ctx context.Context, n Notice) (*api.Executed, error) {
	switch {
	case n.Task == nil:
		return nil, nil
	case !n.Task.Apart:
		return n.Task.Result, nil
	}
	out := new(api.Executed)
	err := ReadJSON(ctx, u.r.Sealed, NoticeResultKey(n.Account, n.Task.ID), out)
	if errors.Is(err, persistence.ErrNotFound) || errors.Is(err, persistence.ErrSealed) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the result in a notice: %w", err)
	}
	return out, nil
}

// lasts lets a result stay for as long as a notice that refers to it. Those of the first two
// weeks need nothing; what is sent by hand later lasts for longer.
func (u Notices) lasts(ctx context.Context, n Notice, until time.Time) error {
	if n.Task == nil || !n.Task.Apart || !until.After(n.At.Add(noticeAbandoned)) {
		return nil
	}
	key := NoticeResultKey(n.Account, n.Task.ID)
	for {
		rec, err := u.r.Store.Get(ctx, key)
		if errors.Is(err, persistence.ErrNotFound) || err == nil && !rec.Expires.Before(until) {
			return nil
		}
		var b []byte
		if err == nil {
			b, err = u.r.Sealed.Get(ctx, key)
		}
		if err == nil {
			err = u.r.Sealed.Put(ctx, persistence.Item{Key: key, Account: n.Account, Value: b, Expires: until, Over: &rec.Revision})
		}
		switch {
		case errors.Is(err, persistence.ErrConflict):
			continue
		case errors.Is(err, persistence.ErrNotFound), errors.Is(err, persistence.ErrSealed):
			return nil
		case err != nil:
			return fmt.Errorf("keep the result in a notice: %w", err)
		}
		return nil
	}
}
