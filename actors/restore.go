package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/api"
	"troupe/actors/fsm"
	"troupe/actors/lease"
	"troupe/actors/schedule"
	"troupe/engine"
	"troupe/persistence"
)

// restoreMargin is how much longer than a lease a restore may take.
const restoreMargin = 3 * time.Second

var _ = handleInNode((*Node).restoreSession)

// restoreSession goes on with a session whose node is lost. It starts from the
// saved state, on a free worker, once that node's lease is over. Later requests
// of the session have Execute.SessionMoved set.
func (n *Node) restoreSession(ctx context.Context, m *api.Restore) (*api.Restored, error) {
	parts := n.parts
	if parts.leases == nil {
		return &api.Restored{Refusal: unknownSession(m.Session)}, nil
	}
	bound, cancel := context.WithTimeout(ctx, parts.leases.Duration+restoreMargin)
	defer cancel()
	for {
		x, err := n.restore(bound, m)
		switch {
		case errors.Is(err, persistence.ErrConflict): // somebody else was faster
			continue
		case err == nil:
			return x, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, lease.ErrHeld) || bound.Err() != nil:
			return &api.Restored{Refusal: api.Refuse(engine.CodeWorkerOffline, "its node "+m.Lost+" may still have the session")}, nil
		}
		parts.log.Error().Err(err).Str("session", m.Session).Msg("session not restored")
		return &api.Restored{Refusal: api.RefusalFor(err)}, nil
	}
}

func (n *Node) restore(ctx context.Context, m *api.Restore) (*api.Restored, error) {
	parts, term := n.parts, n.parts.leases.Term()
	rec, revision, err := parts.records.SessionAt(ctx, m.Session)
	switch {
	case errors.Is(err, persistence.ErrNotFound) || err == nil && (rec.Account != m.Account.ID || rec.Node == "" || !time.Now().Before(rec.Deadline)):
		return &api.Restored{Refusal: unknownSession(m.Session)}, nil
	case err != nil:
		return nil, err
	case m.Worker != "" && !rec.HadWorker(m.Worker):
		return &api.Restored{Refusal: api.Refuse(engine.CodeSessionMismatch, api.Quoted(m.Session)+" is not of the worker "+api.Quoted(m.Worker))}, nil
	case rec.Node != parts.cfg.Node && rec.Node != m.Lost:
		return &api.Restored{Node: rec.Node}, nil
	}
	if rec.Node != parts.cfg.Node {
		if no := parts.mayRestore(m); no != nil {
			return &api.Restored{Refusal: no}, nil
		}
		switch err := parts.leases.WaitAndRevoke(ctx, rec.Node); {
		case errors.Is(err, lease.ErrRenewed): // it is there, although it did not answer
			return &api.Restored{Node: rec.Node}, nil
		case err != nil:
			return nil, err
		}
	}
	if !parts.leases.Serves(term) {
		return nil, persistence.ErrNoQuorum
	}
	aside, err := askNode[reservedForSession](ctx, n, parts.pool, &reserveForSession{Session: m.Session, Account: m.Account, RemoteOnly: m.RemoteOnly})
	switch {
	case err != nil:
		return nil, err
	case aside.Refusal != nil:
		return &api.Restored{Refusal: aside.Refusal}, nil
	case aside.Again:
		return nil, persistence.ErrConflict
	case aside.Here:
		return &api.Restored{Node: parts.cfg.Node}, nil
	}
	a := &endReservation{worker: aside.Worker}
	defer func() { parts.system.Root.Send(parts.pool, a) }()
	took, revision, err := parts.records.TakeSession(ctx, rec, revision, parts.cfg.Node, aside.Worker)
	if err != nil {
		return nil, fmt.Errorf("take the session: %w", err)
	}
	state, err := parts.records.ReadState(ctx, took)
	if err != nil {
		return nil, fmt.Errorf("read the session's state: %w", err)
	}
	took.AdjustClock(time.Now())
	a.session = &recoveredSession{rec: took, revision: revision, state: state, term: term}
	parts.log.Info().Str("session", took.ID).Str("from", rec.Node).Str("worker", aside.Worker).Msg("session goes on here")
	return &api.Restored{Node: parts.cfg.Node}, nil
}

// mayRestore refuses restores that the operator has forbidden. The session goes
// on when its node is back.
func (n *nodeParts) mayRestore(m *api.Restore) *api.Refusal {
	if limits := (*n.limits.Load())[m.Account.Plan]; limits.SessionsStay {
		return api.Refuse(engine.CodeWorkerOffline, fmt.Sprintf(
			"its node %s does not answer, and sessions of plan %s are not restored on another one", m.Lost, m.Account.Plan))
	}
	return nil
}

func unknownSession(id string) *api.Refusal {
	return api.Refuse(engine.CodeSessionMismatch, "there is no session "+api.Quoted(id)+" of this account")
}

// reserveForSession asks pool to reserve a free worker for a session that comes
// from another worker, until [endReservation]. Reply: [reservedForSession].
type (
	reserveForSession struct {
		Session    string
		Account    api.Account
		RemoteOnly bool // see [Restore]
	}
	reservedForSession struct {
		Worker  string
		Here    bool // a worker of the node has the session already
		Again   bool // one was to get it, and has not: ask again
		Refusal *api.Refusal
	}
)

// endReservation gives the session to the reserved worker; without a session the
// worker is free again.
type endReservation struct {
	worker  string
	session *recoveredSession
}

func (p *pool) onReserveForSession(ctx actor.Context, m *reserveForSession) {
	for _, s := range p.scheduler.All {
		switch {
		case s.Status.Session == m.Session:
			ctx.Respond(&reservedForSession{Worker: s.Spec.ID, Here: true})
			return
		case s.ReservedFor != nil && s.ReservedFor.Claim.Fresh == m.Session:
			s.Asking = append(s.Asking, ctx.Sender())
			return
		}
	}
	limits := (*p.node.limits.Load())[m.Account.Plan]
	j := &schedule.Job{
		Request: &schedule.Request{Execute: &api.Execute{Account: m.Account, Task: &engine.Task{}}, Limits: limits},
		Claim:   fsm.Claim{Account: m.Account.ID, Intent: fsm.Open, Fresh: m.Session},
	}
	if p.drain.begun || m.RemoteOnly || p.removed.all[m.Account.ID] {
		ctx.Respond(&reservedForSession{Refusal: api.Refuse(engine.CodeDraining, "")})
		return
	}
	s, no := p.scheduler.RouteFree(j)
	if no != nil {
		ctx.Respond(&reservedForSession{Refusal: no})
		return
	}
	s.ReservedFor = j
	p.scheduler.Reorder(s)
	ctx.Respond(&reservedForSession{Worker: s.Spec.ID})
}

func (p *pool) onEndReservation(ctx actor.Context, m *endReservation) {
	s := p.scheduler.Slots[m.worker]
	if s == nil {
		return
	}
	for _, asker := range s.Asking {
		ctx.Send(asker, &reservedForSession{Worker: s.Spec.ID, Here: m.session != nil, Again: m.session == nil})
	}
	s.ReservedFor, s.Asking = nil, nil
	if m.session == nil || s.Removal != nil || p.removed.all[m.session.rec.Account] {
		p.scheduler.Reorder(s)
		p.serve(ctx, s)
		return
	}
	s.Seq++ // what the worker has said before is out of date
	p.applyStatus(ctx, schedule.WorkerStatus{
		Worker: s.Spec.ID, Seq: s.Seq, State: api.Offline, Session: m.session.rec.ID, Holder: m.session.rec.Account,
	})
	ctx.Send(s.PID, &workerAdopt{Seq: s.Seq, session: *m.session})
}
