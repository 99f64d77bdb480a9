package engine

import (
	"fmt"
	"time"
)

// Plan is the plan of an account. Plans are ordered: each allows everything that
// the one below it allows.
type Plan string

// The plans, lowest first.
const (
	Free     Plan = "free"
	Basic    Plan = "basic"
	Standard Plan = "standard"
	Pro      Plan = "pro"
)

// Plans lists the plans, lowest first.
var Plans = []Plan{Free, Basic, Standard, Pro}

// ParsePlan reads the name of a plan.
func ParsePlan(s string) (Plan, error) {
	for _, p := range Plans {
		if string(p) == s {
			return p, nil
		}
	}
	return "", fmt.Errorf("plan %q is unknown: want free, basic, standard or pro", s)
}

// Limits are the limits of a plan. Zero means no limit, except for Async,
// Reserved and Schedules, where it means not allowed.
type Limits struct {
	TasksPerDay int64         // tasks claimed in one UTC day
	Sync        time.Duration // longest task that answers at once
	Async       time.Duration // longest task that answers later; zero: not allowed
	Sessions    bool
	// SessionsStay: a session is not restored on another node when its own is lost.
	SessionsStay bool
	Reserved     int // workers held by sessions at the same time

	// Bounds of what is stored for the account at once: files of its tasks until
	// they expire, large results, and uploads until their task has ended.
	StorageBytes int64
	StorageFiles int

	// Bounds of the account's queue: tasks and bytes that wait, and how long a result
	// may be kept.
	QueueTasks     int
	QueueBytes     int64
	QueueRetention time.Duration

	Schedules     int           // schedules of the account; zero: not allowed
	ScheduleEvery time.Duration // the shortest time between two runs of one
}

// DefaultLimits is the table of plans as the service ships it.
func DefaultLimits() map[Plan]Limits {
	const minute, mega, day = time.Minute, 1 << 20, 24 * time.Hour
	return map[Plan]Limits{
		Free:  {TasksPerDay: 50, Sync: minute, StorageBytes: 256 * mega, StorageFiles: 2000},
		Basic: {TasksPerDay: 1000, Sync: 2 * minute, StorageBytes: 1024 * mega, StorageFiles: 10_000},
		Standard: {TasksPerDay: 10000, Sync: 2 * minute, Async: 30 * minute, Sessions: true, Reserved: 5, StorageBytes: 4096 * mega, StorageFiles: 50_000,
			QueueTasks: 100_000, QueueBytes: 256 * mega, QueueRetention: day,
			Schedules: 100, ScheduleEvery: minute},
		Pro: {Sync: 2 * minute, Async: 60 * minute, Sessions: true, Reserved: 50, StorageBytes: 16384 * mega, StorageFiles: 200_000,
			QueueTasks: 2_000_000, QueueBytes: 4096 * mega, QueueRetention: MaxQueueRetention,
			Schedules: 1000, ScheduleEvery: 10 * time.Second},
	}
}

// Admit returns how long a task may take under the limits, or which feature the
// plan lacks: "asynchronous tasks" or "sessions".
func (l Limits) Admit(t *Task) (timeout time.Duration, lacking string) {
	most := l.Sync
	switch {
	case t.Async && l.Async == 0:
		return 0, "asynchronous tasks"
	case t.Session.used() && !l.Sessions:
		return 0, "sessions"
	case t.Async:
		most = l.Async
	}
	timeout = t.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	if most > 0 {
		timeout = min(timeout, most)
	}
	return timeout, ""
}

// LowestPlan returns the lowest plan that allows the task, or an empty one if none
// does.
func LowestPlan(t *Task, limits map[Plan]Limits) Plan {
	for _, p := range Plans {
		l, ok := limits[p]
		if !ok {
			continue
		}
		if _, lacking := l.Admit(t); lacking == "" {
			return p
		}
	}
	return ""
}
