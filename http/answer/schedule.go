package answer

import (
	"encoding/json"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// Schedule is a schedule in an answer. The order of the fields is the order on the wire.
type Schedule struct {
	ScheduleID string              `json:"scheduleId"`
	Name       string              `json:"name,omitempty"`
	Status     string              `json:"status"` // active, paused
	Cron       string              `json:"cron,omitempty"`
	Every      int64               `json:"every,omitempty"` // milliseconds
	TimeZone   string              `json:"timeZone"`
	Missed     api.ScheduleMissed  `json:"missed"`
	Overlap    api.ScheduleOverlap `json:"overlap"`
	Jitter     int64               `json:"jitter,omitempty"` // milliseconds
	Created    string              `json:"createdAt"`
	Changed    string              `json:"changedAt"`
	Next       []string            `json:"next"`              // the next times, as the clock in the time zone shows them
	Waiting    int                 `json:"waiting,omitempty"` // runs that wait for the one before
	Items      int                 `json:"items,omitempty"`   // of the batch
	Task       json.RawMessage     `json:"task,omitempty"`
	Batch      *ScheduleBatch      `json:"batch,omitempty"`
	Runs       []ScheduleRun       `json:"runs,omitempty"`  // the last ones, the newest first
	Sites      []string            `json:"sites,omitempty"` // of the token that wrote it; missing: any
}

// ScheduleBatch is the batch that each run of a schedule is.
type ScheduleBatch struct {
	Task   json.RawMessage   `json:"task"`
	Name   string            `json:"name,omitempty"`
	Notify []engine.Notify   `json:"notify,omitempty"`
	Items  []json.RawMessage `json:"items"`
}

// ScheduleRun is what became of a time of a schedule.
type ScheduleRun struct {
	Planned string        `json:"plannedAt"`
	Begun   string        `json:"begunAt,omitempty"`
	Ended   string        `json:"endedAt,omitempty"`
	Status  api.RunStatus `json:"status"`
	Code    engine.Code   `json:"code,omitempty"`
	TaskID  string        `json:"taskId,omitempty"`
	BatchID string        `json:"batchId,omitempty"`
	Times   int           `json:"times,omitempty"`  // how many times it stands for, if more than one
	Manual  bool          `json:"manual,omitempty"` // asked for with run
}

// RunOf says which run of which schedule a task is.
type RunOf struct {
	ScheduleID string `json:"scheduleId"`
	Planned    string `json:"plannedAt"`
}

// OfSchedule tells what a schedule does when: whole with its task and items.
func OfSchedule(s *api.Schedule, whole bool) *Schedule {
	a := &Schedule{
		ScheduleID: s.ID, Name: s.Spec.Name, Status: "active", Cron: s.Spec.Cron, Every: engine.Millis(s.Spec.Every), TimeZone: s.Spec.Zone,
		Missed: s.Spec.Missed, Overlap: s.Spec.Overlap, Jitter: engine.Millis(s.Spec.Jitter), Created: timeText(s.Created), Changed: timeText(s.Changed),
		Next: []string{}, Waiting: s.Waiting, Sites: s.Sites, Items: s.Items,
	}
	if s.Paused {
		a.Status = "paused"
	}
	zone, err := time.LoadLocation(s.Spec.Zone)
	if err != nil {
		zone = time.UTC
	}
	for _, at := range s.Next {
		a.Next = append(a.Next, at.In(zone).Format(time.RFC3339))
	}
	if b := s.Spec.Batch; b != nil {
		if whole {
			a.Batch = &ScheduleBatch{s.Source, b.Name, b.Notify, b.Items}
		}
	} else if whole {
		a.Task = s.Source
	}
	for _, r := range s.Runs {
		a.Runs = append(a.Runs, ScheduleRun{timeText(r.Planned), timeText(r.Begun), timeText(r.Ended), r.Status, r.Code, r.Task, r.Batch, r.Times, r.Manual})
	}
	return a
}
