package http

import (
	"fmt"
	"strconv"

	"github.com/valyala/fasthttp"

	"troupe/actors/view"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/answer"
	"troupe/persistence"
)

// maxRecent is how many tasks a list has at most.
const maxRecent = 100

type (
	recentList struct {
		Success bool                `json:"success"`
		Tasks   []answer.RecentTask `json:"tasks"`
	}
	recentOne struct {
		Success bool              `json:"success"`
		Task    answer.RecentTask `json:"task"`
	}
)

// recent lists the last tasks of the account, the newest first.
func (s *Server) recent(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	if s.cfg.Live == nil {
		return answer.Refuse(engine.CodeNotFound)
	}
	most := answer.DefaultRecent
	if args := ctx.QueryArgs(); args.Has("limit") {
		n, err := strconv.Atoi(string(args.Peek("limit")))
		if err != nil || n < 1 || n > maxRecent {
			return answer.RefuseInvalid(lang.Fault{Path: "/limit", Message: fmt.Sprintf("want 1 to %d, not %q", maxRecent, args.Peek("limit"))})
		}
		most = n
	}
	if ctx.QueryArgs().Has("status") {
		return s.listQueue(ctx, account, most)
	}
	if no := noCursor(ctx, "belongs to a list with status"); no != nil {
		return no
	}
	all := s.cfg.Live.Recent(account.ID, account.Operator, most)
	answer.SendJSON(ctx, fasthttp.StatusOK, recentList{true, answer.RecentsOf(all[:min(len(all), most)], account)})
	return nil
}

// recently finds one of the last tasks of the account.
func (s *Server) recently(account persistence.Account, id string) *view.TaskProgress {
	if s.cfg.Live == nil {
		return nil
	}
	t, ok := s.cfg.Live.RecentTask(account.ID, account.Operator, id)
	if !ok {
		return nil
	}
	return &t
}

// recentTask answers with one of the last tasks.
func (s *Server) recentTask(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	t := s.recently(account, id)
	if t == nil {
		if waits := s.waitsInQueue(account, id); waits != nil {
			answer.SendJSON(ctx, fasthttp.StatusOK, recentOne{true, *waits})
			return nil
		}
		return answer.RefuseText(engine.CodeTaskNotFound, "There is no such task among the last ones of the account")
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, recentOne{true, answer.RecentOf(t, account)})
	return nil
}
