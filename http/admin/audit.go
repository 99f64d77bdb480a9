package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"troupe/persistence"
)

// errUnaudited says that a command was not run because the audit log cannot be written.
var errUnaudited = errors.New("the audit log cannot be written, so nothing was done")

// ReadOnly reports whether the command at a path changes nothing.
func ReadOnly(path string) bool { return readOnly(path) }

func readOnly(path string) bool {
	return strings.HasSuffix(path, "/list") || strings.HasSuffix(path, "/show")
}

// Run runs a command. One that changes something is in the audit log
// before it begins, and again with its result.
func Run[R any](ctx context.Context, o *Admin, command Command[R]) (R, error) {
	if o.Audit == nil || readOnly(command.path()) {
		return command.Do(ctx, o)
	}
	end, err := o.Audit.Begin(persistence.Act{Command: strings.TrimPrefix(command.path(), "/"), About: aboutOf(command), By: o.By, From: o.From})
	if err != nil {
		// A user of the private socket could change the file as well, and must be
		// able to drain a service whose disk is full.
		if o.remote {
			var none R
			return none, fmt.Errorf("%w: %w", errUnaudited, persistence.Unwritten(err))
		}
		o.unaudited(err)
		end = func(string, string) error { return nil }
	}
	result, err := command.Do(ctx, o)
	how, detail := persistence.ActDone, ""
	if d, ok := any(result).(interface{ detail() string }); ok {
		detail = d.detail()
	}
	if err != nil {
		how, detail = persistence.ActRefused, err.Error()
	}
	if err := end(how, detail); err != nil {
		o.unaudited(err)
	}
	return result, err
}

func (o *Admin) unaudited(err error) {
	o.Log.Error().Err(err).Msg("an operator's command is missing in the audit log")
}

// ListAudit lists what operators did, the newest first. It is for the private
// socket only: names of secrets are in it.
type ListAudit struct {
	Limit   int    `json:"limit"`
	Account string `json:"account,omitempty"` // only acts by or about this account
}

// maxAudit is how many acts a list has at most.
const maxAudit = 10_000

func (ListAudit) path() string { return "/audit/list" }

// Do is part of [Command].
func (l ListAudit) Do(_ context.Context, o *Admin) ([]persistence.Act, error) {
	if o.Audit == nil {
		return nil, errors.New("this service has no audit log")
	}
	if l.Limit < 1 || l.Limit > maxAudit {
		return nil, fmt.Errorf("the limit is %d: want 1 to %d", l.Limit, maxAudit)
	}
	return o.Audit.Last(l.Limit, func(a persistence.Act) bool {
		about, _, _ := strings.Cut(a.About, "/") // account/secret
		return l.Account == "" || a.By.Account == l.Account || about == l.Account || a.Detail == l.Account
	})
}
