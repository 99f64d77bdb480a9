package api

import "time"

// Started answers the start of an asynchronous task: a refusal, or what plays the task. A task that
// was started is on disk.
type Started struct {
	TaskID     string        `json:"TaskID"`
	WorkerID   string        `json:"WorkerID"`
	WorkerName string        `json:"WorkerName"`
	SessionID  string        `json:"SessionID"` // set when the task leaves a session reserved
	Timeout    time.Duration `json:"Timeout"`   // the task's time as the plan allows it
	Refusal    *Refusal      `json:"Refusal"`

	KeyTaken bool `json:"-"` // another node has begun a task with its key
}
