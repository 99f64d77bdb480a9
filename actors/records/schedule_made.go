package records

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// keyedSchedule begins the identifiers of the schedules that a request with a key has
// made. The key is in them, and the content of the request: a repeat finds the schedule,
// whatever became of the service in between, and for as long as the schedule is there.
func keyedSchedule(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sched_" + hex.EncodeToString(sum[:10]) + "_k"
}

// KeyedScheduleID is the identifier of the schedule that a request with a key makes.
func KeyedScheduleID(key string, digest []byte) string {
	sum := sha256.Sum256(digest)
	return keyedSchedule(key) + hex.EncodeToString(sum[:10])
}

// Made finds the schedule that a request with a key has made; empty: there is none.
func (u Schedules) Made(ctx context.Context, account, key string) (id string, err error) {
	prefix := ScheduleStateKey(account, "")
	list, err := u.r.Store.Keys(ctx, prefix+keyedSchedule(key), "", 1)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return strings.TrimPrefix(list[0].Key, prefix), nil
}

// Count returns how many schedules an account has, and at most so many.
func (u Schedules) Count(ctx context.Context, account string, most int) (int, error) {
	list, err := u.r.Store.Keys(ctx, ScheduleStateKey(account, ""), "", most)
	if err != nil {
		return 0, fmt.Errorf("count schedules: %w", err)
	}
	return len(list), nil
}
