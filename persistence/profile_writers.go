package persistence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Writers are the profiles of an account that one may save now, by their names, with the
// task that has the right.
func (p *Profiles) Writers(ctx context.Context, account string) (map[string]string, error) {
	prefix := profileWriterPrefix + account + "/"
	all, err := p.store.List(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("list the writers of profiles: %w", err)
	}
	writers := make(map[string]string, len(all))
	for _, r := range all {
		var w profileWriter
		if err := json.Unmarshal(r.Value, &w); err != nil {
			return nil, fmt.Errorf("read the writer of a profile: %w", err)
		}
		writers[strings.TrimPrefix(r.Key, prefix)] = w.Task
	}
	return writers, nil
}

// Used reports whether a task may save a profile.
func (p *Profiles) Used(ctx context.Context, account, name string) (bool, error) {
	_, err := p.store.Get(ctx, profileWriterPrefix+account+"/"+name)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether the profile %q is used: %w", name, err)
	}
	return true, nil
}

// Free waits until no task may save a profile, or until ctx ends.
func (p *Profiles) Free(ctx context.Context, account, name string) error {
	if used, err := p.Used(ctx, account, name); err != nil || !used {
		return err
	}
	for {
		err := p.awaitChange(ctx, profileWriterPrefix+account+"/"+name)
		if !errors.Is(err, errNotSeen) {
			return err
		}
		select {
		case <-time.After(writerLooksBack):
		case <-ctx.Done():
			return ErrProfileBusy
		}
	}
}

// errNotSeen: a watcher has lost its channel.
var errNotSeen = errors.New("changes of the writer were not seen")

// awaitChange waits until nothing is at the key of a writer.
func (p *Profiles) awaitChange(ctx context.Context, key string) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := p.store.Watch(watching, key)
	if err != nil {
		return busyAtEnd(ctx, fmt.Errorf("wait for a profile: %w", err))
	}
	for {
		_, err := p.store.Get(ctx, key)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return busyAtEnd(ctx, fmt.Errorf("wait for a profile: %w", err))
		}
		if gone, err := awaitDeleted(ctx, events, key); gone || err != nil {
			return err
		}
	}
}

// awaitDeleted waits for the deletion of a key. It returns without one where nothing was
// renewed for too long: not every store says when a record has expired.
func awaitDeleted(ctx context.Context, events <-chan Event, key string) (gone bool, err error) {
	const tooLong = writerRenew + 2*time.Second
	quiet := time.NewTimer(tooLong)
	defer quiet.Stop()
	for {
		select {
		case e, ok := <-events:
			switch {
			case ctx.Err() != nil:
				return false, ErrProfileBusy
			case !ok:
				return false, errNotSeen
			case e.Key == key && e.Deleted:
				return true, nil
			}
			quiet.Reset(tooLong)
		case <-quiet.C:
			return false, nil
		case <-ctx.Done():
			return false, ErrProfileBusy
		}
	}
}

// busyAtEnd is ErrProfileBusy where the time for an answer is over.
func busyAtEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ErrProfileBusy
	}
	return err
}
