package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/cluster/member"
	"troupe/engine"
	"troupe/persistence"
	"troupe/testkit"
)

// BenchmarkAdmission is what a synchronous task costs that does nothing, from the
// question to the answer, on a node of three whose disks are synced: with a share
// of the day, with a write for each task, and where there is no limit.
func BenchmarkAdmission(b *testing.B) {
	var members []*member.Member
	for _, cfg := range configs(b, 3) {
		cfg.Unsynced = false
		members = append(members, join(b, cfg))
	}
	ready(b, members...)
	for _, c := range []struct {
		name  string
		plan  engine.Plan
		share bool
	}{
		{"within the share", engine.Basic, true},
		{"a write for each", engine.Basic, false},
		{"no limit", engine.Pro, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			store := openStore(b, members[0])
			usage := persistence.NewUsage(store)
			if c.share {
				usage = persistence.NewSharedUsage(store, persistence.QuotaSharing{
					Nodes: 3, Majority: members[0].Majority, Recent: store.Copy().Get,
				})
			}
			b.Cleanup(usage.Close)
			plans := limits()
			basic := plans[engine.Basic]
			basic.TasksPerDay = 1e9
			plans[engine.Basic] = basic
			k := testkit.New(b, testkit.Options{Store: store, Workers: 1, Config: func(cfg *actors.Config) {
				cfg.Node, cfg.Usage, cfg.Limits, cfg.Log = "n1", usage, plans, zerolog.Nop()
			}})
			task := parse(b, plain)
			account := api.Account{ID: c.name, Plan: c.plan}
			one := func() time.Duration {
				began := time.Now()
				x, err := k.Node.Execute(context.Background(), &api.Execute{Account: account, Task: task})
				took := time.Since(began)
				if err != nil || x.Refusal != nil || x.Outcome.End != engine.EndCompleted {
					b.Fatalf("%+v, %v", x, err)
				}
				return took
			}
			for range 100 { // the share follows what is used
				one()
			}
			var all time.Duration
			for b.Loop() {
				all += one()
			}
			b.ReportMetric(float64(all.Microseconds())/float64(b.N), "µs/task")
		})
	}
}
