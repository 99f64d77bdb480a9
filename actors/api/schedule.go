package api

import (
	"cmp"
	"encoding/json"
	"time"

	"troupe/engine"
)

// ScheduleMissed says what becomes of times at which nothing could begin a run.
type ScheduleMissed string

// What may become of missed times.
const (
	MissedOnce ScheduleMissed = "once" // one run makes up for all of them
	MissedSkip ScheduleMissed = "skip" // none does
	MissedAll  ScheduleMissed = "all"  // each has its run, one after the other
)

// ScheduleOverlap says what becomes of a time at which an earlier run still goes on.
type ScheduleOverlap string

// What may become of such a time.
const (
	OverlapSkip    ScheduleOverlap = "skip"    // it has no run
	OverlapQueue   ScheduleOverlap = "queue"   // its run begins when the earlier one has ended
	OverlapReplace ScheduleOverlap = "replace" // the earlier run is cancelled
)

// ScheduleSpec is what a schedule does when.
type ScheduleSpec struct {
	Name    string          `json:"name,omitempty"`
	Cron    string          `json:"cron,omitempty"`  // one of Cron and Every is set
	Every   time.Duration   `json:"every,omitempty"` // from the schedule's last change on
	Zone    string          `json:"zone"`
	Missed  ScheduleMissed  `json:"missed"`
	Overlap ScheduleOverlap `json:"overlap"`
	Jitter  time.Duration   `json:"jitter,omitempty"`
	Task    *engine.Task    `json:"task"`            // of each run, or of each item of its batch
	Batch   *ScheduleBatch  `json:"batch,omitempty"` // nil: each run is one task
}

// ScheduleBatch is the batch that a run is, without its task.
type ScheduleBatch struct {
	Name   string            `json:"name,omitempty"`
	Notify []engine.Notify   `json:"notify,omitempty"`
	Items  []json.RawMessage `json:"items"`
}

// ScheduleRef says which run of which schedule a task or a batch is.
type ScheduleRef struct {
	Schedule string    `json:"schedule"`
	Planned  time.Time `json:"planned"`
	Runs     string    `json:"runs,omitempty"` // under which its runs are kept; empty: under its identifier
}

// RunsID is under which the runs of the schedule are kept.
func (r *ScheduleRef) RunsID() string { return cmp.Or(r.Runs, r.Schedule) }

// RunStatus is what became of a time of a schedule.
type RunStatus string

// What may become of a time.
const (
	RunQueued   RunStatus = "queued" // it waits or runs
	RunComplete RunStatus = "complete"
	RunFailed   RunStatus = "failed"
	RunSkipped  RunStatus = "skipped" // an earlier run still went on
	RunMissed   RunStatus = "missed"
)

// ScheduleRun is what became of a time of a schedule.
type ScheduleRun struct {
	Planned time.Time   `json:"planned"`
	Begun   time.Time   `json:"begun,omitzero"` // when it was given to the queue
	Ended   time.Time   `json:"ended,omitzero"`
	Task    string      `json:"task,omitempty"`
	Batch   string      `json:"batch,omitempty"`
	Status  RunStatus   `json:"status"`
	Code    engine.Code `json:"code,omitempty"`
	Times   int         `json:"times,omitempty"`  // how many times it stands for, if more than one
	Manual  bool        `json:"manual,omitempty"` // a client has asked for it
}

// Schedule is a schedule as its account sees it.
type Schedule struct {
	ID      string        `json:"ID"`
	Spec    ScheduleSpec  `json:"Spec"` // without its task, and without the items of its batch unless it is shown whole
	Paused  bool          `json:"Paused"`
	Created time.Time     `json:"Created"`
	Changed time.Time     `json:"Changed"`
	Next    []time.Time   `json:"Next"` // the next times, without jitter
	Waiting int           `json:"Waiting"`
	Runs    []ScheduleRun `json:"Runs"` // the last ones, the newest first
	// Source is the text of its task, where it is shown whole.
	Source json.RawMessage `json:"Source,omitempty"`
	Items  int             `json:"Items,omitempty"` // of its batch
	// Sites are those of the token that wrote it; none: any.
	Sites []string `json:"Sites,omitempty"`
}

// PutSchedule makes a schedule, or changes one with an identifier.
type PutSchedule struct {
	Account Account      `json:"Account"`
	ID      string       `json:"ID"` // empty: a new one
	Spec    ScheduleSpec `json:"Spec"`
	Paused  bool         `json:"Paused"`          // only of a new one
	Make    bool         `json:"Make,omitempty"`  // where there is none with the identifier
	Fresh   bool         `json:"Fresh,omitempty"` // there is none with it
	// Idempotency lets the client repeat the request for a new one; nil: it does not.
	Idempotency *Idempotency `json:"Idempotency,omitempty"`
}

// ScheduleChange is what is to become of a schedule.
type ScheduleChange string

// The changes of a schedule.
const (
	SchedulePause  ScheduleChange = "pause"
	ScheduleResume ScheduleChange = "resume"
	ScheduleRunNow ScheduleChange = "run"
	ScheduleRemove ScheduleChange = "remove"
)

// ChangeSchedule asks for a change of a schedule.
type ChangeSchedule struct {
	Account Account        `json:"Account"`
	ID      string         `json:"ID"`
	Change  ScheduleChange `json:"Change"`
}

// GetSchedule asks for a schedule with its last runs.
type GetSchedule struct {
	Account Account `json:"Account"`
	ID      string  `json:"ID"`
	Runs    int     `json:"Runs"`           // at most so many
	Bare    bool    `json:"Bare,omitempty"` // without its task and its items, which are not loaded then
}

// Scheduled answers the messages about one schedule.
type Scheduled struct {
	Schedule *Schedule `json:"Schedule"`
	Refusal  *Refusal  `json:"Refusal"`
	Made     bool      `json:"Made,omitempty"` // it was not there
}

// ListSchedules asks for the schedules of an account, by their names.
type ListSchedules struct {
	Account Account `json:"Account"`
}

// SchedulesListed answers [ListSchedules].
type SchedulesListed struct {
	Schedules []Schedule `json:"Schedules"`
	Refusal   *Refusal   `json:"Refusal"`
	// Unreadable are the identifiers of those that the service's key does not open.
	Unreadable []string `json:"Unreadable,omitempty"`
}

func (*PutSchedule) reply(*Scheduled)         {}
func (*ChangeSchedule) reply(*Scheduled)      {}
func (*GetSchedule) reply(*Scheduled)         {}
func (*ListSchedules) reply(*SchedulesListed) {}

func unscheduled[M any](_ *M, no *Refusal) *Scheduled { return &Scheduled{Refusal: no} }

var (
	_ = define(definition[PutSchedule, Scheduled]{failed: unscheduled[PutSchedule]})
	_ = define(definition[ChangeSchedule, Scheduled]{failed: unscheduled[ChangeSchedule]})
	_ = define(definition[GetSchedule, Scheduled]{failed: unscheduled[GetSchedule]})
	_ = define(definition[ListSchedules, SchedulesListed]{failed: func(_ *ListSchedules, no *Refusal) *SchedulesListed { return &SchedulesListed{Refusal: no} }})
)

func (s *Scheduled) Refused() *Refusal       { return s.Refusal }
func (s *SchedulesListed) Refused() *Refusal { return s.Refusal }
