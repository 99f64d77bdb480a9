package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"troupe/engine"
	"troupe/persistence"
)

// Account is an account as the operator sees it.
type Account struct {
	Name     string    `json:"name"`
	ID       string    `json:"id"`
	Plan     string    `json:"plan"`
	Tokens   int       `json:"tokens"`
	Created  time.Time `json:"created"`
	Operator bool      `json:"operator,omitempty"` // its tokens may run commands over HTTP
}

func accountOf(a persistence.Account, tokens int) Account {
	return Account{Name: a.Name, ID: a.ID, Plan: a.Plan, Tokens: tokens, Created: a.Created, Operator: a.Operator}
}

// ListAccounts lists all accounts by name.
type ListAccounts struct{}

func (ListAccounts) path() string { return "/account/list" }

// Do is part of [Command].
func (ListAccounts) Do(ctx context.Context, o *Admin) ([]Account, error) {
	found, err := o.Accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	tokens, err := o.Accounts.AllTokens(ctx)
	if err != nil {
		return nil, err
	}
	number := map[string]int{}
	for _, t := range tokens {
		number[t.Account]++
	}
	all := make([]Account, len(found))
	for i, a := range found {
		all[i] = accountOf(a, number[a.ID])
	}
	return all, nil
}

// CreateAccount makes an account, which has no token yet.
type CreateAccount struct {
	Name string `json:"name"`
	Plan string `json:"plan"`
}

func (CreateAccount) path() string    { return "/account/create" }
func (c CreateAccount) about() string { return c.Name }

// Do is part of [Command].
func (c CreateAccount) Do(ctx context.Context, o *Admin) (Account, error) {
	return c.with(ctx, o, o.Accounts.Create)
}

func (CreateAccount) gone(ctx context.Context, o *Admin, result json.RawMessage) (string, error) {
	var a Account
	if err := json.Unmarshal(result, &a); err != nil {
		return "", err
	}
	_, err := o.Accounts.Get(ctx, a.ID)
	if errors.Is(err, persistence.ErrNotFound) {
		return "account", nil
	}
	return "", err
}

// with makes the account in one way or another.
func (c CreateAccount) with(ctx context.Context, o *Admin, create func(_ context.Context, name, plan string) (persistence.Account, error)) (Account, error) {
	if _, err := engine.ParsePlan(c.Plan); err != nil {
		return Account{}, err
	}
	if a, err := o.Accounts.ByName(ctx, c.Name); err == nil {
		return Account{}, fmt.Errorf("there is an account %q already, with the plan %s", c.Name, a.Plan)
	}
	a, err := create(ctx, c.Name, c.Plan)
	if err != nil {
		return Account{}, err
	}
	return accountOf(a, 0), nil
}

// CreateOperator makes an account whose tokens may run commands over HTTP. It has
// no token yet.
type CreateOperator struct{ CreateAccount }

func (CreateOperator) path() string { return "/account/create-operator" }

// Do is part of [Command].
func (c CreateOperator) Do(ctx context.Context, o *Admin) (Account, error) {
	return c.with(ctx, o, o.Accounts.CreateOperator)
}

// SetPlan changes the plan of an account, from its next request on.
type SetPlan struct {
	Account string `json:"account"`
	Plan    string `json:"plan"`
}

func (SetPlan) path() string    { return "/account/set-plan" }
func (s SetPlan) about() string { return s.Account }

// Do is part of [Command].
func (s SetPlan) Do(ctx context.Context, o *Admin) (Account, error) {
	if _, err := engine.ParsePlan(s.Plan); err != nil {
		return Account{}, err
	}
	a, err := o.account(ctx, s.Account)
	if err != nil {
		return Account{}, err
	}
	if a, err = o.Accounts.SetPlan(ctx, a.ID, s.Plan); err != nil {
		return Account{}, err
	}
	tokens, err := o.Accounts.ListTokens(ctx, a.ID)
	return accountOf(a, len(tokens)), err
}

// DeleteAccount removes an account with everything that it has. One whose removal
// was begun before and failed is removed to the end.
type DeleteAccount struct {
	Account string `json:"account"`
}

// AccountDeleted says what was ended with an account.
type AccountDeleted struct {
	Account  string `json:"account"`
	Tasks    int    `json:"tasksCancelled"`
	Sessions int    `json:"sessionsEnded"`
	Workers  int    `json:"workersRemoved"`
}

func (DeleteAccount) path() string    { return "/account/delete" }
func (d DeleteAccount) about() string { return d.Account }

// A task that does not heed its end has some seconds; the rest is for the disk.
func (DeleteAccount) takes() time.Duration { return time.Minute }

// Do is part of [Command].
func (d DeleteAccount) Do(ctx context.Context, o *Admin) (AccountDeleted, error) {
	a, missing := o.account(ctx, d.Account)
	if missing != nil {
		begun, err := o.Accounts.Removed(ctx)
		if err != nil {
			return AccountDeleted{}, errors.Join(missing, err)
		}
		i := slices.IndexFunc(begun, func(a persistence.Account) bool { return a.Name == d.Account || a.ID == d.Account })
		if i < 0 {
			return AccountDeleted{}, missing
		}
		a = begun[i]
	}
	r, err := o.remove(ctx, a.ID)
	if err != nil {
		return AccountDeleted{}, fmt.Errorf("account %q can do nothing any more, but not all that it had could be removed "+
			"(the next start of the service does that, or the same command again): %w", a.Name, err)
	}
	return AccountDeleted{Account: a.Name, Tasks: r.Tasks, Sessions: r.Sessions, Workers: r.Workers}, nil
}
