package answer

import (
	"time"

	"troupe/actors/api"
	"troupe/persistence"
)

type Worker struct {
	ID       string    `json:"workerId"`
	Name     string    `json:"workerName"`
	State    api.State `json:"state"`
	Since    string    `json:"since"`
	Shared   bool      `json:"shared"`
	Session  string    `json:"sessionId,omitempty"`
	Task     string    `json:"taskId,omitempty"`
	Draining bool      `json:"draining,omitempty"` // it takes no more tasks
	Account  string    `json:"account,omitempty"`  // the account that uses it; only for operators
}

func WorkerOf(w api.WorkerInfo) Worker {
	return Worker{
		ID: w.ID, Name: w.Name, State: w.State, Since: w.Since.UTC().Format(time.RFC3339Nano),
		Shared: w.Owner == "", Session: w.Session, Task: w.TaskID, Draining: w.Draining, Account: persistence.AccountName(w.Account),
	}
}
