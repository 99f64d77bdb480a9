package records

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/engine"
	"troupe/persistence"
	"troupe/persistence/owned"
	"troupe/persistence/sealed"
)

// Endpoint is a receiver that an account has named for all its tasks and batches.
type Endpoint struct {
	engine.Notify
	Created time.Time `json:"created"`
}

// EndpointState is kept of a receiver that fails.
type EndpointState struct {
	URL     string    `json:"url"`
	Failing time.Time `json:"failing"`
	Off     time.Time `json:"off,omitzero"`
	Reason  string    `json:"reason,omitempty"`
}

// NoticeSecret signs the notices of an account. The previous one signs as well for a
// while.
type NoticeSecret struct {
	Current  string    `json:"current"`
	Previous string    `json:"previous,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

// The keys of endpoints, of what is kept of failing ones, and of secrets begin so.
const (
	EndpointPrefix      = "noticepoint/"
	EndpointStatePrefix = "noticeurl/"
	NoticeSecretPrefix  = "noticekey/"
)

var (
	_ = sealed.Register(sealed.Kind{Prefix: EndpointPrefix, Holds: "endpoints of notices"})
	_ = sealed.Register(sealed.Kind{Prefix: EndpointStatePrefix, Holds: "states of failing receivers"})
	_ = sealed.Register(sealed.Kind{Prefix: NoticeSecretPrefix, Holds: "secrets that sign notices"})
	_ = owned.Register(owned.Kind{Prefix: EndpointPrefix, By: owned.Key})
	_ = owned.Register(owned.Kind{Prefix: EndpointStatePrefix, By: owned.Key})
	_ = owned.Register(owned.Kind{Prefix: NoticeSecretPrefix, By: owned.Key})
)

// endpointStateKept is how long the state of a failing receiver is kept. That of one that
// is off is kept until it is switched on.
const endpointStateKept = 30 * 24 * time.Hour

// EndpointID is the identifier of a receiver.
func EndpointID(url string) string {
	sum := sha256.Sum256([]byte(url))
	return "ep_" + hex.EncodeToString(sum[:12])
}

// Endpoints reads the endpoints of an account, on a node without others mostly from memory.
// Do not change the result.
func (u Notices) Endpoints(ctx context.Context, account string) ([]Endpoint, error) {
	if u.r.Node != "" { // other nodes change them, too
		return u.readEndpoints(ctx, account)
	}
	u.r.mu.Lock()
	all, known := u.r.endpoints[account]
	u.r.mu.Unlock()
	if known {
		return all, nil
	}
	u.r.changing.Lock()
	defer u.r.changing.Unlock()
	return u.readEndpoints(ctx, account)
}

func (u Notices) readEndpoints(ctx context.Context, account string) ([]Endpoint, error) {
	list, err := u.r.Store.Keys(ctx, EndpointPrefix+account+"/", "", surveyed)
	if err != nil {
		return nil, fmt.Errorf("list endpoints: %w", err)
	}
	all := []Endpoint{}
	for _, k := range list {
		var p Endpoint
		switch err := ReadJSON(ctx, u.r.Sealed, k.Key, &p); {
		case err == nil:
			all = append(all, p)
		case errors.Is(err, persistence.ErrSealed):
			u.r.log.Error().Err(err).Str("key", k.Key).Msg("record not read")
		case !errors.Is(err, persistence.ErrNotFound):
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b Endpoint) int { return a.Created.Compare(b.Created) })
	if u.r.Node != "" {
		return all, nil
	}
	u.r.mu.Lock()
	defer u.r.mu.Unlock()
	const most = 4096 // accounts in memory
	if u.r.endpoints == nil || len(u.r.endpoints) >= most {
		u.r.endpoints = map[string][]Endpoint{}
	}
	u.r.endpoints[account] = all
	return all, nil
}

// PutEndpoint writes an endpoint, unless the account has as many as it may.
func (u Notices) PutEndpoint(ctx context.Context, account string, p Endpoint, most int) (full bool, err error) {
	u.r.changing.Lock()
	defer u.r.changing.Unlock()
	err = persistence.InTurn(ctx, u.r.Store, "endpoints/"+account, func(ctx context.Context) error {
		all, err := u.readEndpoints(ctx, account)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(q Endpoint) bool { return q.URL == p.URL })
		if i < 0 && len(all) >= most {
			full = true
			return nil
		}
		if i >= 0 {
			p.Created = all[i].Created
		}
		if err := putJSON(ctx, u.r.Sealed, EndpointPrefix+account+"/"+EndpointID(p.URL), account, time.Time{}, p); err != nil {
			return err
		}
		_, err = u.readEndpoints(ctx, account)
		return err
	})
	return full, err
}

// RemoveEndpoint removes an endpoint.
func (u Notices) RemoveEndpoint(ctx context.Context, account, id string) error {
	u.r.changing.Lock()
	defer u.r.changing.Unlock()
	if err := u.r.Sealed.Delete(ctx, EndpointPrefix+account+"/"+id, true); err != nil {
		return err
	}
	_, err := u.readEndpoints(ctx, account)
	return err
}

// Unreadable are the identifiers of the endpoints of an account that cannot be opened. It knows
// those that a list has skipped.
func (u Notices) Unreadable(ctx context.Context, account string) ([]string, error) {
	return u.r.unreadable(ctx, EndpointPrefix+account+"/")
}

// PutState writes what is known of a failing receiver.
func (u Notices) PutState(ctx context.Context, account string, s EndpointState) error {
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write the state of an endpoint: %w", err)
	}
	it := persistence.Item{Key: EndpointStatePrefix + account + "/" + EndpointID(s.URL), Account: account, Value: b, Durable: true}
	if s.Off.IsZero() {
		it.Expires, it.Durable = time.Now().Add(endpointStateKept), false
	}
	return u.r.Sealed.Put(ctx, it)
}

// DeleteState forgets that a receiver has failed.
func (u Notices) DeleteState(ctx context.Context, account, id string) error {
	return u.r.Sealed.Delete(ctx, EndpointStatePrefix+account+"/"+id, false)
}

// EachState calls f for what is known of failing receivers.
func (u Notices) EachState(ctx context.Context, f func(account string, s EndpointState)) error {
	return u.eachState(ctx, EndpointStatePrefix, f)
}

// States reads what is known of the failing receivers of an account, by their identifiers.
func (u Notices) States(ctx context.Context, account string) (map[string]EndpointState, error) {
	all := map[string]EndpointState{}
	return all, u.eachState(ctx, EndpointStatePrefix+account+"/", func(_ string, s EndpointState) { all[EndpointID(s.URL)] = s })
}

// State reads what is known of a failing receiver, or [persistence.ErrNotFound].
func (u Notices) State(ctx context.Context, account, id string) (s EndpointState, err error) {
	return s, ReadJSON(ctx, u.r.Sealed, EndpointStatePrefix+account+"/"+id, &s)
}

func (u Notices) eachState(ctx context.Context, prefix string, f func(account string, s EndpointState)) error {
	for after := ""; ; {
		list, err := u.r.Store.Keys(ctx, prefix, after, surveyed)
		if err != nil {
			return fmt.Errorf("list failing endpoints: %w", err)
		}
		for _, k := range list {
			after = k.Key
			var s EndpointState
			if err := ReadJSON(ctx, u.r.Sealed, k.Key, &s); errors.Is(err, persistence.ErrNotFound) {
				continue
			} else if err != nil {
				u.r.log.Error().Err(err).Str("key", k.Key).Msg("record not read")
				continue
			}
			account, _, _ := strings.Cut(strings.TrimPrefix(k.Key, EndpointStatePrefix), "/")
			f(account, s)
		}
		if len(list) < surveyed {
			return nil
		}
	}
}

// Secret reads the secret of an account, or [persistence.ErrNotFound].
func (u Notices) Secret(ctx context.Context, account string) (s NoticeSecret, err error) {
	return s, ReadJSON(ctx, u.r.Sealed, NoticeSecretPrefix+account, &s)
}

// SecretAt is Secret with the revision of its record; zero: there is none.
func (u Notices) SecretAt(ctx context.Context, account string) (s NoticeSecret, revision uint64, err error) {
	rec, err := u.r.Store.Get(ctx, NoticeSecretPrefix+account)
	if err != nil {
		return s, 0, err
	}
	s, err = u.Secret(ctx, account)
	return s, rec.Revision, err
}

// PutSecret writes the secret of an account over a revision of its record.
func (u Notices) PutSecret(ctx context.Context, account string, s NoticeSecret, over uint64) error {
	b, err := json.Marshal(s)
	if err == nil {
		err = u.r.Sealed.Put(ctx, persistence.Item{Key: NoticeSecretPrefix + account, Account: account, Value: b, Durable: true, Over: &over})
	}
	if err != nil {
		return fmt.Errorf("write the secret of notices: %w", err)
	}
	return nil
}

// eraseAll removes everything about notices of an account.
func (u Notices) eraseAll(ctx context.Context, account string) error {
	for _, prefix := range []string{NoticePrefix, NoticeLogPrefix, NoticeResultPrefix, EndpointPrefix, EndpointStatePrefix} {
		for {
			list, err := u.r.Store.Keys(ctx, prefix+account+"/", "", surveyed)
			if err != nil {
				return fmt.Errorf("remove notices: %w", err)
			}
			if err := InParallel(list, func(k persistence.KeySize) error { return u.r.Sealed.Delete(ctx, k.Key, true) }); err != nil {
				return fmt.Errorf("remove notices: %w", err)
			}
			if len(list) < surveyed {
				break
			}
		}
	}
	u.r.mu.Lock()
	delete(u.r.endpoints, account)
	u.r.mu.Unlock()
	return u.r.Sealed.Delete(ctx, NoticeSecretPrefix+account, true)
}
