package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"troupe/persistence"
)

// Read reads a notice by its key.
func (u Notices) Read(ctx context.Context, key string) (n Notice, err error) {
	return n, ReadJSON(ctx, u.r.Sealed, key, &n)
}

// Find reads a notice of an account.
func (u Notices) Find(ctx context.Context, account, id string) (n Notice, err error) {
	if len(id) != noticeIDLength || !strings.HasPrefix(id, "msg_") {
		return n, persistence.ErrNotFound
	}
	n, err = u.Read(ctx, NoticeKey(account, id))
	if errors.Is(err, persistence.ErrNotFound) {
		n, err = u.Read(ctx, NoticeLogKey(account, id))
	}
	return n, err
}

// noticeHead is the record of a notice as far as a list shows it. The result that a notice
// may have in it is not copied out of the record.
type noticeHead struct {
	Notice
	Task *struct {
		NoticeTask
		Result *counted `json:"result"`
	} `json:"task"`
}

// head reads a notice without the result that it may have in it.
func (u Notices) head(ctx context.Context, key string) (n Notice, err error) {
	b, err := u.r.Sealed.Get(ctx, key)
	if err != nil {
		return n, err
	}
	var h noticeHead
	if err := json.Unmarshal(b, &h); err != nil {
		return n, fmt.Errorf("read %s: %w", key, err)
	}
	if n = h.Notice; h.Task != nil {
		n.Task = &h.Task.NoticeTask
	}
	return n, nil
}

// List reads a part of a list, without results. Those that cannot be opened are lost; one that cannot be read is
// logged and skipped.
func (u Notices) List(ctx context.Context, prefix, after string, most int) (list []Notice, lost []string, next string, err error) {
	keys, err := u.r.Store.Keys(ctx, prefix, after, most)
	if err != nil {
		return nil, nil, "", fmt.Errorf("list notices: %w", err)
	}
	for _, k := range keys {
		n, err := u.head(ctx, k.Key)
		switch {
		case err == nil:
			list = append(list, n)
		case errors.Is(err, persistence.ErrSealed):
			lost = append(lost, path.Base(k.Key))
		case !errors.Is(err, persistence.ErrNotFound):
			u.r.log.Error().Err(err).Str("key", k.Key).Msg("record not read")
		}
	}
	if len(keys) == most {
		next = keys[most-1].Key
	}
	return list, lost, next, nil
}
