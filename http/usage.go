package http

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/persistence"
)

// Counts knows how many tasks an account has used. [persistence.Usage] is one.
type Counts interface {
	Read(ctx context.Context, account string, now time.Time) (int64, error)
	// ReadLocal is Read without asking other nodes.
	ReadLocal(ctx context.Context, account string, now time.Time) (int64, error)
	Reset(now time.Time) time.Time
}

// rate says what is left of the account's day, where its plan has a limit.
func (s *Server) rate(ctx *fasthttp.RequestCtx, account persistence.Account) {
	limit := (*s.limits.Load())[engine.Plan(account.Plan)].TasksPerDay
	if s.cfg.Counts == nil || limit <= 0 {
		return
	}
	now := time.Now()
	used, err := s.cfg.Counts.ReadLocal(s.base, account.ID, now)
	if err != nil {
		s.cfg.Log.Warn().Err(err).Str("request", answer.RequestID(ctx)).Msg("an answer lacks what is left of the daily limit")
		return
	}
	set := func(name string, n int64) { ctx.Response.Header.Set(name, strconv.FormatInt(n, 10)) }
	set("RateLimit-Limit", limit)
	set("RateLimit-Remaining", max(limit-used, 0))
	set("RateLimit-Reset", int64(math.Ceil(s.cfg.Counts.Reset(now).Sub(now).Seconds())))
}

// used is what an account sees of its plan and its day.
type used struct {
	Success   bool       `json:"success"`
	Plan      string     `json:"plan"`
	Limits    planLimits `json:"limits"`
	Used      int64      `json:"usedToday"`
	Remaining *int64     `json:"remainingToday"` // null: no limit
	Reset     string     `json:"resetAt"`
	Held      int        `json:"reservedWorkers"`
	Storage   keeps      `json:"storage"`
	Account   string     `json:"account"`
	Proxies   []string   `json:"proxies"`            // the operator's, which config.proxy may name
	Operator  bool       `json:"operator,omitempty"` // it may run commands
}

// keeps is what is kept of an account now.
type keeps struct {
	Bytes     int64 `json:"bytes"`
	Files     int   `json:"files"`
	Uploading int64 `json:"uploadingBytes"` // of them, those that are on their way or belong to a running task
}

type planLimits struct {
	TasksPerDay  *int64 `json:"tasksPerDay"` // null: no limit
	SyncTimeout  int64  `json:"syncTimeout"`
	AsyncTimeout int64  `json:"asyncTimeout"`
	Sessions     bool   `json:"sessions"`
	Reserved     int    `json:"reservedWorkers"`
	ReservedHere int    `json:"reservedWorkersHere"` // by the plan, and by the workers that there are
	Bytes        *int64 `json:"storageBytes"`        // null: no limit
	Files        *int   `json:"storageFiles"`        // null: no limit
	QueueTasks   int    `json:"queueTasks"`          // 0: no queue
	QueueBytes   *int64 `json:"queueBytes"`          // null: no limit
}

// usage tells an account what it may use and what it has used.
func (s *Server) usage(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	if asksUsage(ctx) {
		return s.usageOverTime(ctx, account)
	}
	if s.cfg.Counts == nil {
		return answer.Refuse(engine.CodeNotFound)
	}
	now := time.Now()
	today, err := s.cfg.Counts.Read(s.base, account.ID, now)
	if err != nil {
		return s.faults.Refuse(ctx, "read a count", err)
	}
	found, err := api.Ask(s.base, s.cfg.Actors, &api.ListWorkers{Account: access.ForActors(account)})
	if err != nil {
		return s.faults.Refuse(ctx, "list the workers", err)
	}
	held := 0
	for _, w := range found.Workers {
		if w.Session != "" { // only the account that holds it sees this
			held++
		}
	}
	l := (*s.limits.Load())[engine.Plan(account.Plan)]
	a := used{
		Success: true, Plan: account.Plan, Used: today, Held: held, Account: account.Name, Operator: account.Operator, Proxies: s.proxies(account),
		Reset:  s.cfg.Counts.Reset(now).UTC().Format(time.RFC3339),
		Limits: planLimits{nil, engine.Millis(l.Sync), engine.Millis(l.Async), l.Sessions, l.Reserved, min(l.Reserved, found.Sessions), nil, nil, l.QueueTasks, nil},
	}
	if l.TasksPerDay > 0 {
		left := max(l.TasksPerDay-today, 0)
		a.Limits.TasksPerDay, a.Remaining = &l.TasksPerDay, &left
	}
	if bound := s.cfg.Ledger.Bound(s.within(account)); bound.Bytes > 0 {
		a.Limits.Bytes = &bound.Bytes
	}
	if l.StorageFiles > 0 {
		a.Limits.Files = &l.StorageFiles
	}
	if l.QueueBytes > 0 {
		a.Limits.QueueBytes = &l.QueueBytes
	}
	k := s.cfg.Ledger.Of(account.ID)
	a.Storage = keeps{k.Bytes + k.HeldBytes, k.Files + k.HeldFiles, k.HeldBytes}
	answer.SendJSON(ctx, fasthttp.StatusOK, a)
	return nil
}
