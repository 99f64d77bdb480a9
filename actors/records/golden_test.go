package records_test

import (
	"flag"
	"reflect"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/actors/backlog"
	"troupe/actors/lease"
	"troupe/actors/records"
	"troupe/actors/runs"
	"troupe/engine"
	"troupe/testkit/golden"
)

var _ = flag.Bool("update", false, "add golden files of records whose shape has none; none is changed")

// recordMakers: a cache is one object, whatever keys it has.
var recordMakers = golden.Makers{reflect.TypeFor[*engine.Cache](): func() any {
	c := engine.NewCache()
	c.Set("name", []byte(`"<ü>"`))
	c.Push("list", []byte(`1`))
	return c
}}

// taskMakers: a task is what it was parsed from.
var taskMakers = golden.Makers{reflect.TypeFor[*engine.Task](): func() any {
	task, err := engine.ParseScheduled([]byte(`{"actions":[{"wait":1}]}`), nil)
	if err != nil {
		panic(err)
	}
	return task
}}

// keptRecords are all records that actors write.
func keptRecords(t *testing.T) []golden.Case {
	return []golden.Case{
		golden.Record[records.Ahead](t, "ahead", nil),
		golden.Record[records.Batch](t, "batch", nil),
		golden.Record[records.BatchAt](t, "batch-at", nil),
		golden.Record[records.BatchEnd](t, "batch-end", nil),
		golden.Record[records.BatchPart](t, "batch-part", nil),
		golden.Record[records.Dead](t, "dead", nil),
		golden.Record[records.Ended](t, "ended", nil),
		golden.Record[records.Holder](t, "holder", nil),
		golden.Record[records.Key](t, "key", nil),
		golden.Record[lease.Record](t, "lease", nil),
		golden.Record[records.Notice](t, "notice", nil),
		golden.Record[records.Endpoint](t, "notice-endpoint", nil),
		golden.Record[records.EndpointState](t, "notice-endpoint-state", nil),
		golden.Record[api.Executed](t, "notice-result", nil),
		golden.Record[records.NoticeSecret](t, "notice-secret", nil),
		golden.Record[engine.Outcome](t, "outcome", nil),
		golden.Record[records.Queued](t, "queued", nil),
		golden.Record[runs.Run](t, "run", nil),
		golden.Record[runs.Day](t, "run-day", nil),
		golden.Record[runs.Fresh](t, "run-fresh", nil),
		golden.Record[records.Schedule](t, "schedule", taskMakers),
		golden.Record[api.ScheduleRun](t, "schedule-run", nil),
		golden.Record[records.ScheduleState](t, "schedule-state", nil),
		golden.Record[records.Session](t, "session", nil),
		golden.Record[records.SessionState](t, "session-state", recordMakers),
		golden.Record[records.Task](t, "task", nil),
		golden.Record[records.Worker](t, "worker", nil),
		golden.Places(t, map[string]string{
			"key": records.KeyPath("ada~1", "a key"), "lease": lease.Prefix + "n1", "outcome": records.OutcomePrefix + "t1", "session": records.SessionPrefix + "s1",
			"session-state": records.StateKey("s1", 0), "session-state of an epoch": records.StateKey("s1", 7), "task": records.TaskPrefix + "t1", "worker": records.WorkerPrefix + "w1",
			"queued": queuedPlace.Key("t1"), "queued in a group": groupPlace.Key("t1"), "task that was queued in a group": groupPlace.TaskID("t1"),
			"ended": records.EndedPrefix + "ada~1", "dead": records.DeadPrefix + "ada~1", "holder": records.HolderKey, "tasks ahead": records.AheadKey,
			"notice": records.NoticeKey("ada~1", noticeID), "notice in the log": records.NoticeLogKey("ada~1", noticeID), "endpoint": records.EndpointPrefix + "ada~1/" + records.EndpointID("https://example.com/hook"),
			"state of an endpoint": records.EndpointStatePrefix + "ada~1/", "result in notices": records.NoticeResultKey("ada~1", "t1"), "secret of notices": records.NoticeSecretPrefix + "ada~1",
			"schedule": records.ScheduleKey("ada~1", "s1"), "state of a schedule": records.ScheduleStateKey("ada~1", "s1"), "run of a schedule": records.ScheduleRunKey("s1", time.UnixMilli(1795449031000)),
			"run":   runs.Key("ada~1", "task_0123456789abcdef_1795449031"),
			"batch": records.BatchKey("ada~1", "b1"), "item of a batch": records.BatchItemKey("b1", 7),
		}),
	}
}

const noticeID = "msg_19ab1c2d3e4_2akjyk6fyemvkomce3k336if"

var (
	queuedPlace = backlog.Place{Lane: backlog.LaneFor("ada~1", &engine.Queue{Priority: 5}), Order: 7}
	groupPlace  = backlog.Place{Lane: backlog.LaneFor("ada~1", &engine.Queue{Priority: 9, Group: "g", Concurrency: 40}), Order: 1 << 50}
)

// TestGolden: what earlier releases have written down is read, and each record has
// a golden file for later ones.
func TestGolden(t *testing.T) { golden.Test(t, "actors/records", keptRecords(t)) }

// TestEveryFieldHasAName: a field that is renamed in Go keeps its name in what is
// written.
func TestEveryFieldHasAName(t *testing.T) { golden.Named(t, keptRecords(t)) }
