package http

import (
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"

	"troupe/actors/runs"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/answer"
	"troupe/persistence"
)

// runsPath is where the history of runs is, and runCountsPath where it is counted.
const (
	runsPath      = "/v1/runs"
	runCountsPath = runsPath + "/counts"
	oneRunPath    = runsPath + "/{runId}"
)

type (
	runList struct {
		Success bool         `json:"success"`
		Runs    []answer.Run `json:"runs"`
		Next    string       `json:"next,omitempty"` // the cursor of the next part
		// Unreadable are the identifiers of runs in this part that the service's key does not open.
		Unreadable []string `json:"unreadable,omitempty"`
	}
	runAnswer struct {
		Success bool            `json:"success"`
		Run     answer.WholeRun `json:"run"`
	}
	runCounts struct {
		Success bool              `json:"success"`
		Counts  []answer.RunCount `json:"counts"`
		Next    string            `json:"next,omitempty"` // the cursor of what was not counted yet
	}
	runRemoved struct {
		Success bool `json:"success"`
		Removed int  `json:"removed"`
		// Next is the cursor behind which there may be more.
		Next string `json:"next,omitempty"`
	}
)

// runRoutes are the routes of the history.
func (s *Server) runRoutes() []route {
	return []route{
		s.tokenRoute("GET", runsPath, s.loading(withoutName(s.listRuns))).reading(fasthttp.HeaderAccept),
		s.tokenRoute("DELETE", runsPath, withoutName(s.deleteRuns)),
		s.tokenRoute("GET", runCountsPath, s.loading(withoutName(s.countRuns))),
		s.tokenRoute("POST", oneRunPath+"/again", s.runAgain).reading(keyHeader, traceHeader),
		s.tokenRoute("GET", oneRunPath, s.loading(s.getRun)),
		s.tokenRoute("DELETE", oneRunPath, s.deleteRun),
	}
}

// noHistory refuses what needs the history where none is kept.
func (s *Server) noHistory() *answer.Refusal {
	if s.cfg.Runs.Keeps() {
		return nil
	}
	return answer.RefuseText(engine.CodeNotFound, "This service keeps no history of runs (--history off)")
}

// runQuery reads a query with a cursor.
func (s *Server) runQuery(ctx *fasthttp.RequestCtx, account persistence.Account, more ...string) (runs.Query, int, *answer.Refusal) {
	q, filters, faults := readRunQuery(ctx, account, append(more, "cursor")...)
	after, fault := readCursor(ctx, runCursors, nextWanted)
	q.After, faults = after, append(faults, fault...)
	if len(faults) > 0 {
		return q, filters, answer.RefuseInvalid(faults...)
	}
	return q, filters, s.noHistory()
}

func (s *Server) listRuns(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	format, wrong := runFormat(ctx)
	most, faults := readCount(ctx, "limit", answer.DefaultRecent, maxRunList)
	q, _, no := s.runQuery(ctx, account, "limit", "order", "format")
	if faults = append(faults, wrong...); len(faults) > 0 {
		if no != nil {
			faults = append(faults, no.Details...)
		}
		return answer.RefuseInvalid(faults...)
	}
	if no != nil {
		return no
	}
	q.Most = most
	p, err := s.cfg.Runs.List(s.base, q)
	if err != nil {
		return s.faults.Refuse(ctx, "list runs", err)
	}
	list := runList{Success: true, Runs: make([]answer.Run, len(p.Runs)), Next: p.Next, Unreadable: p.Unreadable}
	for i := range p.Runs {
		list.Runs[i] = answer.OfRun(&p.Runs[i])
	}
	return s.sendRuns(ctx, format, list)
}

func (s *Server) countRuns(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	q, _, no := s.runQuery(ctx, account)
	if no != nil {
		return no
	}
	all, next, err := s.cfg.Runs.Counts(s.base, q)
	if err != nil {
		return s.faults.Refuse(ctx, "count runs", err)
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, runCounts{true, answer.RunCounts(all), next})
	return nil
}

// findRun reads a run of the account.
func (s *Server) findRun(account persistence.Account, id string) (*runs.Run, *answer.Refusal, error) {
	if no := s.noHistory(); no != nil {
		return nil, no, nil
	}
	none := answer.RefuseText(engine.CodeNotFound, fmt.Sprintf("There is no run %q in the history of the account", lang.Short(id, 100)))
	if !answer.SaneID([]byte(id)) {
		return nil, none, nil
	}
	r, err := s.cfg.Runs.Get(s.base, account.ID, id)
	if errors.Is(err, persistence.ErrNotFound) {
		return nil, none, nil
	}
	return r, nil, err
}

func (s *Server) getRun(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	r, no, err := s.findRun(account, id)
	switch {
	case err != nil:
		return s.faults.Refuse(ctx, "read a run", err)
	case no != nil:
		return no
	}
	result, err := s.cfg.Runs.Result(s.base, r)
	if err != nil {
		return s.faults.Refuse(ctx, "read the result of a run", err)
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, runAnswer{true, answer.OfWholeRun(r, result)})
	return nil
}

func (s *Server) deleteRun(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	_, no, err := s.findRun(account, id)
	if no == nil && (err == nil || errors.Is(err, persistence.ErrSealed)) {
		err = s.cfg.Runs.Delete(s.base, account.ID, id)
	}
	switch {
	case err != nil:
		return s.faults.Refuse(ctx, "remove a run", err)
	case no != nil:
		return no
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, runRemoved{Success: true, Removed: 1})
	return nil
}

// deleteRuns removes what a query selects. Without any filter that needs a word more.
func (s *Server) deleteRuns(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	all, faults := readBool(ctx, "all")
	q, filters, no := s.runQuery(ctx, account, "all")
	switch {
	case len(faults) > 0:
		return answer.RefuseInvalid(faults...)
	case no != nil:
		return no
	case filters == 0 && !all:
		return answer.RefuseInvalid(lang.Fault{Path: "/all", Message: "want a filter such as label or to, or all=true to remove all runs of the account"})
	}
	n, next, err := s.cfg.Runs.DeleteAll(s.base, q)
	if err != nil {
		return s.faults.Refuse(ctx, "remove runs", err)
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, runRemoved{true, n, next})
	return nil
}
