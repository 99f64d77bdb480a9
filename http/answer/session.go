package answer

import (
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// Session is a session as its account sees it.
type Session struct {
	ID         string    `json:"sessionId"`
	WorkerID   string    `json:"workerId"`
	WorkerName string    `json:"workerName"`
	State      api.State `json:"state"` // of its worker
	Label      string    `json:"label,omitempty"`
	Task       string    `json:"taskId,omitempty"` // that runs in it
	Opened     string    `json:"openedAt,omitempty"`
	Timeout    int64     `json:"timeout,omitempty"`   // how long it may stay unused
	Expires    string    `json:"expiresAt,omitempty"` // if nobody uses it; none while a task runs
	Live       string    `json:"live"`                // where its live picture is
}

// SessionOf is the session that a worker has.
func SessionOf(w api.WorkerInfo, live string) Session {
	s := Session{ID: w.Session, WorkerID: w.ID, WorkerName: w.Name, State: w.State, Task: w.TaskID, Live: live + w.Session}
	if h := w.Held; h != nil {
		s.Label, s.Opened, s.Timeout = h.Label, h.Opened.UTC().Format(time.RFC3339Nano), engine.Millis(h.Timeout)
		if !h.Expires.IsZero() {
			s.Expires = h.Expires.UTC().Format(time.RFC3339Nano)
		}
	}
	return s
}
