package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"troupe/engine"
)

// planChange is what a configuration file sets in a plan. Omitted fields keep their
// values.
type planChange struct {
	TasksPerDay    *int64 `json:"tasksPerDay"`    // 0: no limit
	SyncTimeoutMs  *int64 `json:"syncTimeoutMs"`  // of a task that answers at once
	AsyncTimeoutMs *int64 `json:"asyncTimeoutMs"` // of a task that answers later; 0: none
	Sessions       *bool  `json:"sessions"`
	Reserved       *int64 `json:"reserved"`     // workers held by sessions at the same time
	StorageMiB     *int64 `json:"storageMiB"`   // kept at once; 0: no limit
	StorageFiles   *int64 `json:"storageFiles"` // the same in files
	// QueueTasks and QueueMiB bound what waits in the queue; no tasks: there is no queue,
	// no MiB: no limit. QueueRetentionMs bounds how long results of queued tasks are kept.
	QueueTasks       *int64 `json:"queueTasks"`
	QueueMiB         *int64 `json:"queueMiB"`
	QueueRetentionMs *int64 `json:"queueRetentionMs"`
	// Schedules is how many an account may have, and ScheduleEveryMs the shortest time
	// between two runs of one.
	Schedules       *int64 `json:"schedules"`
	ScheduleEveryMs *int64 `json:"scheduleEveryMs"`
	// RestoreSessions false: they wait for their node, should it be lost.
	RestoreSessions *bool `json:"restoreSessions"`
}

// configShape is a configuration file, as far as it is the same for all plans.
type configShape struct {
	Plans   map[string]json.RawMessage `json:"plans"`
	Proxies map[string]json.RawMessage `json:"proxies"`
}

// configuration is what a configuration file says.
type configuration struct {
	limits  map[engine.Plan]engine.Limits
	proxies map[string]proxySetting
}

// readConfig returns the limits of the plans as a file changes them, and the proxies that it
// names, without their credentials.
func readConfig(path string) (*configuration, error) {
	limits := engine.DefaultLimits()
	if path == "" {
		return &configuration{limits: limits}, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file configShape
	if err := strictly(b, &file); err != nil {
		return nil, err
	}
	proxies, err := readProxies(file.Proxies)
	if err != nil {
		return nil, err
	}
	for name, raw := range file.Plans {
		plan, err := engine.ParsePlan(name)
		if err != nil {
			return nil, fmt.Errorf("plans: %w", err)
		}
		l, err := changed(limits[plan], raw)
		if err != nil {
			return nil, fmt.Errorf("plans.%s: %w", name, err)
		}
		limits[plan] = l
	}
	return &configuration{limits, proxies}, nil
}

func changed(l engine.Limits, raw []byte) (engine.Limits, error) {
	var c planChange
	if err := strictly(raw, &c); err != nil {
		return l, err
	}
	const longest = 24 * 60 * 60 * 1000
	for _, n := range []struct {
		name        string
		v           *int64
		least, most int64
		set         func(int64)
	}{
		{"tasksPerDay", c.TasksPerDay, 0, 1e12, func(v int64) { l.TasksPerDay = v }},
		{"syncTimeoutMs", c.SyncTimeoutMs, 1000, longest, func(v int64) { l.Sync = time.Duration(v) * time.Millisecond }},
		{"asyncTimeoutMs", c.AsyncTimeoutMs, 0, longest, func(v int64) { l.Async = time.Duration(v) * time.Millisecond }},
		{"storageMiB", c.StorageMiB, 0, 1 << 30, func(v int64) { l.StorageBytes = v << 20 }},
		{"storageFiles", c.StorageFiles, 0, 1e9, func(v int64) { l.StorageFiles = int(v) }},
		{"queueTasks", c.QueueTasks, 0, 1e9, func(v int64) { l.QueueTasks = int(v) }},
		{"queueMiB", c.QueueMiB, 0, 1 << 30, func(v int64) { l.QueueBytes = v << 20 }},
		{"queueRetentionMs", c.QueueRetentionMs, 60_000, 7 * longest, func(v int64) { l.QueueRetention = time.Duration(v) * time.Millisecond }},
		{"schedules", c.Schedules, 0, 1e5, func(v int64) { l.Schedules = int(v) }},
		{"scheduleEveryMs", c.ScheduleEveryMs, 1000, longest, func(v int64) { l.ScheduleEvery = time.Duration(v) * time.Millisecond }},
		{"reserved", c.Reserved, 0, 1e6, func(v int64) { l.Reserved = int(v) }},
	} {
		if n.v == nil {
			continue
		}
		if *n.v < n.least || *n.v > n.most {
			return l, fmt.Errorf("%s is %d: want %d to %d", n.name, *n.v, n.least, n.most)
		}
		n.set(*n.v)
	}
	if c.Sessions != nil {
		l.Sessions = *c.Sessions
	}
	if c.RestoreSessions != nil {
		l.SessionsStay = !*c.RestoreSessions
	}
	if l.Sessions && l.Reserved == 0 {
		return l, errors.New("reserved is 0: with sessions it must be at least 1")
	}
	return l, nil
}

// strictly decodes JSON that has nothing unknown in it and nothing behind it.
func strictly(b []byte, v any) error {
	if !bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		return errors.New("want an object in JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after the JSON")
	}
	return nil
}
