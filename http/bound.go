package http

import (
	"errors"
	"slices"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/persistence"
)

// What a token with sites writes carries them, and such a token starts, changes and reads
// only what carries the same sites or fewer: else it would do by others' schedules, batches,
// flows and profiles what it may not do itself, or let others do it.

// outside refuses what carries other sites than those of the account's token, or none; nil:
// the token may use it.
func outside(account persistence.Account, what string, sites []string) *answer.Refusal {
	if engine.SitesWithin(sites, account.Sites) {
		return nil
	}
	return answer.RefuseBy(api.OutsideOf(what))
}

// withinSites lets a handler answer for what carries sites that the token may use. For a
// token without sites nothing is looked up.
func withinSites(sitesOf func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal, h func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal) func(*fasthttp.RequestCtx, persistence.Account, string) *answer.Refusal {
	return func(ctx *fasthttp.RequestCtx, account persistence.Account, name string) *answer.Refusal {
		if len(account.Sites) > 0 {
			if no := sitesOf(ctx, account, name); no != nil {
				return no
			}
		}
		return h(ctx, account, name)
	}
}

// mayBatch refuses a batch that the token may not use.
func (s *Server) mayBatch(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	if !answer.SaneID([]byte(id)) {
		return noBatch(id)
	}
	x, no := ask(s, ctx, s.base, "read a batch", &api.GetBatch{Account: access.ForActors(account), ID: id, Bare: true})
	if no != nil {
		return no
	}
	return outside(account, "the batch", x.Batch.Sites)
}

// maySchedule refuses a schedule that the token may not use.
func (s *Server) maySchedule(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	if !answer.SaneID([]byte(id)) {
		return noSchedule(id)
	}
	x, no := ask(s, ctx, s.base, "read a schedule", &api.GetSchedule{Account: access.ForActors(account), ID: id, Runs: 1, Bare: true})
	if no != nil {
		return no
	}
	return outside(account, "the schedule", x.Schedule.Sites)
}

// mayWriteSchedule is maySchedule where none may be there yet.
func (s *Server) mayWriteSchedule(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	no := s.maySchedule(ctx, account, id)
	if no != nil && no.Code == engine.CodeNotFound {
		return nil
	}
	return no
}

// mayFlow refuses a flow that is there, and that the token may not use.
func (s *Server) mayFlow(ctx *fasthttp.RequestCtx, account persistence.Account, name string) *answer.Refusal {
	if s.cfg.Flows == nil {
		return nil
	}
	f, err := s.cfg.Flows.Get(s.base, account.ID, name, 0)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil
	case err != nil:
		return s.faults.Refuse(ctx, "read a flow", err)
	}
	return outside(account, "the flow", f.Sites)
}

// mayProfile refuses a profile that is there, and that the token may not use.
func (s *Server) mayProfile(ctx *fasthttp.RequestCtx, account persistence.Account, name string) *answer.Refusal {
	if s.cfg.Profiles == nil {
		return nil
	}
	p, err := s.cfg.Profiles.Get(s.base, account.ID, name)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil
	case err != nil:
		return s.faults.Refuse(ctx, "read a profile", err)
	}
	return outside(account, "the profile", p.Newest().Sites)
}

// within leaves of a list what carries sites that the token may use.
func within[T any](account persistence.Account, all []T, sites func(T) []string) []T {
	if len(account.Sites) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(one T) bool { return !engine.SitesWithin(sites(one), account.Sites) })
}
