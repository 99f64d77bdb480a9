package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"troupe/actors/backlog"
	"troupe/persistence"
)

// List reads the part of an account's list of ended tasks behind a cursor, the oldest
// first, and the cursor of the next part; empty: there is none.
func (u Queue) List(ctx context.Context, account, cursor string, most int) (all []Ended, next string, err error) {
	prefix := EndedPrefix + account + "/"
	_, next, err = u.each(ctx, prefix, cursor, most, func(key string) error {
		rec, err := u.r.Store.Get(ctx, key)
		if err != nil {
			return err
		}
		var e Ended
		if err := json.Unmarshal(rec.Value, &e); err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		all = append(all, e)
		return nil
	})
	return all, next, err
}

// ListDead is List for tasks that can be sent again. Those that cannot be opened are lost.
func (u Queue) ListDead(ctx context.Context, account, cursor string, most int) (all []Ended, lost []string, next string, err error) {
	lost, next, err = u.each(ctx, DeadPrefix+account+"/", cursor, most, func(key string) error {
		var d Dead
		if err := ReadJSON(ctx, u.r.Sealed, key, &d); err != nil {
			return err
		}
		all = append(all, d.Ended)
		return nil
	})
	return all, lost, next, err
}

// ListWaiting is List for tasks that wait, in the order of their places. Those that cannot be
// opened are lost.
func (u Queue) ListWaiting(ctx context.Context, account, cursor string, most int) (all []Queued, places []backlog.Place, lost []string, next string, err error) {
	lost, next, err = u.each(ctx, backlog.AccountPrefix(account), cursor, most, func(key string) error {
		p, _, ok := backlog.ParseKey(key)
		q, err := u.Read(ctx, key)
		if err == nil && ok {
			q.Task = nil // no list shows it: of all tasks one at a time is in memory
			all, places = append(all, *q), append(places, p)
		}
		return err
	})
	return all, places, lost, next, err
}

// each calls f for up to so many keys behind a cursor. What is gone meanwhile is left
// out, and the tasks of records that cannot be opened are lost.
func (u Queue) each(ctx context.Context, prefix, cursor string, most int, f func(key string) error) (lost []string, next string, err error) {
	after := ""
	if cursor != "" {
		after = prefix + cursor
	}
	list, err := u.r.Store.Keys(ctx, prefix, after, most)
	if err != nil {
		return nil, "", fmt.Errorf("list %s: %w", prefix, err)
	}
	for _, k := range list {
		switch err := f(k.Key); {
		case errors.Is(err, persistence.ErrSealed):
			lost = append(lost, path.Base(k.Key))
		case err != nil && !errors.Is(err, persistence.ErrNotFound):
			return nil, "", err
		}
	}
	if len(list) == most && most > 0 {
		next = strings.TrimPrefix(list[len(list)-1].Key, prefix)
	}
	return lost, next, nil
}

// Dead reads a task that can be sent again, and its key.
func (u Queue) Dead(ctx context.Context, account, id string) (d *Dead, key string, err error) {
	t, err := u.r.task(ctx, id, account)
	if err == nil && (t.Queue == nil || t.Queue.Listed == "") {
		err = persistence.ErrNotFound
	}
	if err != nil {
		return nil, "", err
	}
	key = DeadPrefix + account + "/" + t.Queue.Listed
	d = new(Dead)
	return d, key, ReadJSON(ctx, u.r.Sealed, key, d)
}

// erase removes all that is queued, and the lists, of an account.
func (u Queue) erase(ctx context.Context, account string) error {
	for _, prefix := range []string{backlog.AccountPrefix(account), DeadPrefix + account + "/", EndedPrefix + account + "/"} {
		for {
			list, err := u.r.Store.Keys(ctx, prefix, "", surveyed)
			if err != nil {
				return fmt.Errorf("list %s: %w", prefix, err)
			}
			err = InParallel(list, func(k persistence.KeySize) error {
				if strings.HasPrefix(prefix, backlog.Prefix) && u.r.Node != "" {
					if q, err := u.Read(ctx, k.Key); err == nil {
						if err := u.deleteFiles(ctx, q); err != nil {
							return err
						}
					}
				}
				if strings.HasPrefix(prefix, EndedPrefix) {
					return u.r.Store.Delete(ctx, k.Key, nil, false)
				}
				return u.Delete(ctx, k.Key, false)
			})
			if err != nil {
				return err
			}
			if len(list) < surveyed {
				break
			}
		}
	}
	return u.r.Store.Sync(ctx)
}
