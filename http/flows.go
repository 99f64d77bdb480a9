package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/http/flows"
	"troupe/persistence"
)

type (
	flowList struct {
		Success bool         `json:"success"`
		Flows   []flows.Flow `json:"flows"`
	}
	flowAnswer struct {
		Success bool       `json:"success"`
		Flow    flows.Flow `json:"flow"`
	}
	flowStored struct {
		Success  bool         `json:"success"`
		Name     string       `json:"name"`
		Version  int          `json:"version"`
		Actions  int          `json:"actions"`
		Worst    int64        `json:"worstCase"` // milliseconds
		Warnings []lang.Fault `json:"warnings"`
	}
	flowRemoved struct {
		Success bool   `json:"success"`
		Name    string `json:"name"`
	}
)

// parse reads a task of an account.
func (s *Server) parse(account persistence.Account, payload []byte, files []engine.Upload, stored engine.Flows) (*engine.Task, error) {
	t, err := engine.ParseFor(payload, files, stored, s.proxies(account))
	if err != nil {
		return nil, err
	}
	if faults := engine.ReceiverFaults("/notify", t.Notify, s.cfg.Unreachable); len(faults) > 0 {
		return nil, &engine.Invalid{Faults: faults}
	}
	return t.Within(account.Sites), nil
}

// proxies are the names of the operator's proxies that an account may use.
func (s *Server) proxies(account persistence.Account) []string {
	return s.cfg.OutboundProxies.Names(account.ID, engine.Plan(account.Plan))
}

// noFlow refuses a flow that is not there.
func noFlow(reference string) *answer.Refusal {
	return answer.RefuseText(engine.CodeNotFound, fmt.Sprintf("There is no flow %q", lang.Short(reference, 100)))
}

// putFlow stores the next version of a flow.
func (s *Server) putFlow(ctx *fasthttp.RequestCtx, account persistence.Account, name string) *answer.Refusal {
	if s.cfg.Flows == nil {
		return answer.Refuse(engine.CodeNotFound)
	}
	if _, no := contentOf(ctx, false); no != nil {
		return no
	}
	b, no := s.bodies.readJSON(ctx, engine.MaxFlow, account.ID)
	defer b.remove()
	if no != nil {
		return no
	}
	end, no := s.bodies.beginParse(ctx, b)
	if no != nil {
		return no
	}
	defer end()
	token, _ := access.Bearer(ctx)
	by := persistence.Issuer{Via: persistence.ViaHTTP, Account: account.Name, Token: persistence.DigestOf(token).TokenID(), Request: answer.RequestID(ctx)}
	runs, done := s.stored(ctx, b, account)
	defer done()
	stored, err := flows.PutRunning(s.base, s.cfg.Flows, account.ID, name, b.payload, by, account.Sites, runs)
	var invalid *engine.Invalid
	switch {
	case errors.As(err, &invalid):
		return answer.RefuseInvalid(invalid.Faults...)
	case errors.Is(err, flows.ErrBadName):
		return answer.RefuseInvalid(lang.Fault{Message: fmt.Sprintf("%s, not %q", err, lang.Short(name, 100))})
	case errors.Is(err, persistence.ErrTooMany):
		return answer.RefuseText(answer.CodeFlowLimit, engine.ErrorText(err))
	case err != nil:
		return s.faults.Refuse(ctx, "store a flow", err)
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, flowStored{true, stored.Name, stored.Version, stored.Actions, stored.Longest, stored.Warnings})
	return nil
}

// getFlow answers with a version of a flow, the newest one without a version.
func (s *Server) getFlow(ctx *fasthttp.RequestCtx, account persistence.Account, reference string) *answer.Refusal {
	if s.cfg.Flows == nil {
		return answer.Refuse(engine.CodeNotFound)
	}
	f, err := flows.Get(s.base, s.cfg.Flows, account.ID, reference)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return noFlow(reference)
	case err != nil:
		return s.faults.Refuse(ctx, "read a flow", err)
	}
	if no := outside(account, "the flow", f.Sites); no != nil {
		return no
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, flowAnswer{true, *f})
	return nil
}

// listFlows answers with the newest versions of the account's flows, without their
// actions.
func (s *Server) listFlows(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	if s.cfg.Flows == nil {
		return answer.Refuse(engine.CodeNotFound)
	}
	all, err := flows.List(s.base, s.cfg.Flows, account.ID)
	if err != nil {
		return s.faults.Refuse(ctx, "list flows", err)
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, flowList{true, within(account, all, func(f flows.Flow) []string { return f.Sites })})
	return nil
}

// deleteFlow deletes all versions of a flow.
func (s *Server) deleteFlow(ctx *fasthttp.RequestCtx, account persistence.Account, name string) *answer.Refusal {
	if s.cfg.Flows == nil {
		return answer.Refuse(engine.CodeNotFound)
	}
	if !engine.IsFlowName(name) {
		return noFlow(name)
	}
	err := s.cfg.Flows.Remove(s.base, account.ID, name)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return noFlow(name)
	case err != nil:
		return s.faults.Refuse(ctx, "delete a flow", err)
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, flowRemoved{true, name})
	return nil
}

// playFor runs a task of an account for the operator, and returns the answer to it.
func (s *Server) playFor(ctx context.Context, account persistence.Account, task []byte) (json.RawMessage, bool, error) {
	t, err := s.parse(account, task, nil, flows.Of(s.base, s.cfg.Flows, account.ID))
	if err != nil {
		return nil, false, err
	}
	if s.Drains() {
		return nil, false, errors.New(answer.Refuse(engine.CodeDraining).Error)
	}
	x, err := s.cfg.Actors.Execute(ctx, &api.Execute{Account: access.ForActors(account), Task: t, Asked: time.Now()})
	switch {
	case err != nil:
		return nil, false, err
	case x.Refusal != nil:
		return nil, false, x.Refusal
	}
	_, a := answer.OfTask(x)
	b, err := json.Marshal(a)
	return b, !outcome.Failed(x.Outcome), err
}
