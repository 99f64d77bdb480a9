package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/engine"
	"troupe/persistence"
)

// Secret is what may be shown of a secret, never its value.
type Secret struct {
	Name    string    `json:"name"`
	Account string    `json:"account"`
	Origins []string  `json:"origins"`
	Changed time.Time `json:"changed"`
	Lost    bool      `json:"lost,omitempty"` // sealed with another key: only setting it again helps
}

func secretOf(account string, s persistence.Secret) Secret {
	if s.Origins == nil {
		s.Origins = []string{}
	}
	return Secret{Name: s.Name, Account: account, Origins: s.Origins, Changed: s.Changed, Lost: s.Lost}
}

// SetSecret keeps a value for the tasks of an account, or another one under the
// same name.
type SetSecret struct {
	Account string   `json:"account"`
	Name    string   `json:"name"`
	Value   string   `json:"value"`
	Origins []string `json:"origins"`
}

func (SetSecret) path() string    { return "/secret/set" }
func (s SetSecret) about() string { return s.Account + "/" + s.Name }

// Do is part of [Command].
func (s SetSecret) Do(ctx context.Context, o *Admin) (Secret, error) {
	own := make([]string, len(s.Origins))
	for i, origin := range s.Origins {
		var err error
		if own[i], err = engine.ParseOrigin(origin); err != nil {
			return Secret{}, err
		}
	}
	if err := engine.CheckSecret(engine.Secret{Name: s.Name, Value: s.Value, Origins: own}); err != nil {
		return Secret{}, err
	}
	a, err := o.account(ctx, s.Account)
	if err != nil {
		return Secret{}, err
	}
	set, err := o.Secrets.Set(ctx, a.ID, persistence.Secret{Name: s.Name, Value: s.Value, Origins: own})
	return secretOf(a.Name, set), err
}

// ListSecrets lists the secrets of an account, by name.
type ListSecrets struct {
	Account string `json:"account"`
}

func (ListSecrets) path() string { return "/secret/list" }

// Do is part of [Command].
func (l ListSecrets) Do(ctx context.Context, o *Admin) ([]Secret, error) {
	a, err := o.account(ctx, l.Account)
	if err != nil {
		return nil, err
	}
	found, err := o.Secrets.Of(ctx, a.ID)
	all := make([]Secret, len(found))
	for i, s := range found {
		all[i] = secretOf(a.Name, s)
	}
	return all, err
}

// RemoveSecret forgets a secret. Tasks that have begun keep it.
type RemoveSecret struct {
	Account string `json:"account"`
	Name    string `json:"name"`
}

func (RemoveSecret) path() string    { return "/secret/remove" }
func (r RemoveSecret) about() string { return r.Account + "/" + r.Name }

// Do is part of [Command].
func (r RemoveSecret) Do(ctx context.Context, o *Admin) (Secret, error) {
	a, err := o.account(ctx, r.Account)
	if err != nil {
		return Secret{}, err
	}
	err = o.Secrets.Remove(ctx, a.ID, r.Name)
	if errors.Is(err, persistence.ErrNotFound) {
		err = fmt.Errorf("account %q has no secret %q", a.Name, r.Name)
	}
	return secretOf(a.Name, persistence.Secret{Name: r.Name}), err
}
