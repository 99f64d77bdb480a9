package persistence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// Adopter is [Files] that take files over from others.
type Adopter interface {
	Files
	// Adopt keeps a file under the identifier and with the times that its
	// description has. It is [ErrConflict] where there is one already.
	Adopt(ctx context.Context, b Blob, r io.Reader) error
}

// Adoption is what a store has taken over from another one.
type Adoption struct {
	Accounts int `json:"accounts"`
	Tokens   int `json:"tokens"`
	Secrets  int `json:"secrets"`
	Flows    int `json:"flows"`
	Profiles int `json:"profiles"`
	Counts   int `json:"dailyCounts"`
	Present  int `json:"present"` // were there already, and were left alone
	// Left says what was not taken over, one sentence each.
	Left []string `json:"left,omitempty"`

	same map[string]bool // accounts that are in both stores now
}

// Same reports whether both stores have an account, so that its data can be taken
// over.
func (a *Adoption) Same(account string) bool { return a.same[account] }

// AdoptAccounts copies accounts from one store into another, with their tokens,
// secrets, flows and counts. It skips what exists already, so it can be repeated. Secrets
// are opened with one key and closed with the other; with a nil key they are
// skipped.
func AdoptAccounts(ctx context.Context, from, to Store, opens, closes *Seal) (*Adoption, error) {
	a := &Adoption{same: map[string]bool{}}
	old := &Accounts{store: from}
	accounts, err := old.list(ctx, func(Account) bool { return true })
	if err != nil {
		return a, fmt.Errorf("take accounts over: %w", err)
	}
	for _, acc := range accounts {
		if err := a.account(ctx, to, acc); err != nil {
			return a, fmt.Errorf("take over the account %q: %w", acc.Name, err)
		}
	}
	closed := func(r Record) ([]byte, error) {
		if opens == nil {
			return nil, ErrSealed
		}
		plain, err := opens.Open(r.Key, r.Value)
		if err != nil {
			return nil, err
		}
		return closes.Close(r.Key, plain)
	}
	for prefix, kind := range map[string]struct {
		count *int
		owner func(Record) string
		value func(Record) ([]byte, error)
	}{
		tokenPrefix:       {&a.Tokens, func(r Record) string { t, _ := tokenOf(r); return t.Account }, plainly},
		tokenEventPrefix:  {nil, secondPart, plainly},
		usagePrefix:       {&a.Counts, secondPart, plainly},
		flowPrefix:        {&a.Flows, secondPart, plainly},
		flowVersionPrefix: {nil, secondPart, plainly},
		flowRemovedPrefix: {nil, secondPart, plainly},
		secretPrefix:      {&a.Secrets, secondPart, closed},
		profilePartPrefix: {nil, secondPart, closed},
		profilePrefix:     {&a.Profiles, secondPart, closed},
	} {
		records, err := from.List(ctx, prefix)
		if err != nil {
			return a, fmt.Errorf("take accounts over: %w", err)
		}
		var mine []Record
		for _, r := range records {
			if !a.same[kind.owner(r)] {
				continue
			}
			if r.Value, err = kind.value(r); err != nil {
				switch prefix {
				case profilePartPrefix: // the profile says it
					continue
				case profilePrefix:
					a.Left = append(a.Left, fmt.Sprintf("the profile %s of the account %q: it was sealed with another key", r.Key[strings.LastIndex(r.Key, "/")+1:], AccountName(secondPart(r))))
					continue
				}
				a.Left = append(a.Left, fmt.Sprintf("the secret %s of the account %q: it was sealed with another key. Set it again",
					r.Key[strings.LastIndex(r.Key, "/")+1:], AccountName(secondPart(r))))
				continue
			}
			mine = append(mine, r)
		}
		brought, present, err := AdoptRecords(ctx, to, mine)
		if kind.count != nil { // the others come with tokens and flows
			*kind.count, a.Present = *kind.count+brought, a.Present+present
		}
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

// account takes over one account, unless another one has its name.
func (a *Adoption) account(ctx context.Context, to Store, acc Account) error {
	if !acc.Removed.IsZero() {
		a.Left = append(a.Left, fmt.Sprintf("the account %q: it was deleted", acc.Name))
		return nil
	}
	var none uint64
	into := &Accounts{store: to}
	err := into.put(ctx, acc, &none)
	if err == nil {
		a.Accounts++
		a.same[acc.ID] = true
		return nil
	}
	if !errors.Is(err, ErrConflict) {
		return err
	}
	there, err := into.ByName(ctx, acc.Name)
	switch {
	case err == nil && there.ID == acc.ID:
		a.Present++
		a.same[acc.ID] = true
	case err == nil || errors.Is(err, ErrNotFound):
		a.Left = append(a.Left, fmt.Sprintf("the account %q, with all that it has: another one of this name is there", acc.Name))
		err = nil
	}
	return err
}

func plainly(r Record) ([]byte, error) { return r.Value, nil }

// secondPart is whose a record is whose key says so.
func secondPart(r Record) string {
	_, rest, _ := strings.Cut(r.Key, "/")
	account, _, _ := strings.Cut(rest, "/")
	return account
}

// AdoptRecords writes records where nothing has their keys, and counts those and
// the others.
func AdoptRecords(ctx context.Context, to Store, all []Record) (brought, present int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var written, conflicts atomic.Int64
	var wg sync.WaitGroup
	places := make(chan struct{}, 16)
	for _, r := range all {
		if ctx.Err() != nil {
			break
		}
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			switch _, err := to.Put(ctx, Write{Key: r.Key, Value: r.Value, Expires: r.Expires, If: new(uint64), Durable: true}); {
			case errors.Is(err, ErrConflict):
				conflicts.Add(1)
			case err != nil:
				cancel(fmt.Errorf("take over the record %s: %w", r.Key, err))
			default:
				written.Add(1)
			}
		})
	}
	wg.Wait()
	return int(written.Load()), int(conflicts.Load()), context.Cause(ctx)
}
