package engine

import (
	"fmt"
	"time"
)

// Plan is what an account may use. Plans are ordered: each allows what the one
// below it allows.
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

// Limits is what a plan allows. A zero number means that there is no limit,
// except for Async and Reserved, where it means none at all.
type Limits struct {
	TasksPerDay int64         // tasks claimed in one UTC day
	Sync        time.Duration // longest task that answers at once
	Async       time.Duration // longest task that answers later; zero: not allowed
	Sessions    bool
	Reserved    int // workers held by sessions at the same time
}

// DefaultLimits is the table of plans as the service ships it.
func DefaultLimits() map[Plan]Limits {
	const minute = time.Minute
	return map[Plan]Limits{
		Free:     {TasksPerDay: 50, Sync: minute},
		Basic:    {TasksPerDay: 1000, Sync: 2 * minute},
		Standard: {TasksPerDay: 10000, Sync: 2 * minute, Async: 30 * minute, Sessions: true, Reserved: 5},
		Pro:      {Sync: 2 * minute, Async: 60 * minute, Sessions: true, Reserved: 50},
	}
}
