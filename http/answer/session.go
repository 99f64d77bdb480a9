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

	Profile *SessionProfile `json:"profile,omitempty"` // missing: it has none
}

// SessionProfile is the profile of a session as its account sees it.
type SessionProfile struct {
	Name     string `json:"name"`
	Readonly bool   `json:"readonly,omitempty"` // it is not saved
	Version  int    `json:"version,omitempty"`  // that the session has begun with or saved last; missing: none yet
	Saved    string `json:"savedAt,omitempty"`  // when the session has saved it last
	Lost     string `json:"lost,omitempty"`     // why it is not saved any more
}

func sessionProfileOf(h api.HeldProfile) *SessionProfile {
	if h.Name == "" {
		return nil
	}
	p := &SessionProfile{Name: h.Name, Readonly: h.Readonly, Version: h.Version, Lost: h.Lost}
	if !h.Saved.IsZero() {
		p.Saved = h.Saved.UTC().Format(time.RFC3339Nano)
	}
	return p
}

// SessionOf is the session that a worker has.
func SessionOf(w api.WorkerInfo, live string) Session {
	s := Session{ID: w.Session, WorkerID: w.ID, WorkerName: w.Name, State: w.State, Task: w.TaskID, Live: live + w.Session}
	if h := w.Held; h != nil {
		s.Label, s.Opened, s.Timeout = h.Label, h.Opened.UTC().Format(time.RFC3339Nano), engine.Millis(h.Timeout)
		s.Profile = sessionProfileOf(h.Profile)
		if !h.Expires.IsZero() {
			s.Expires = h.Expires.UTC().Format(time.RFC3339Nano)
		}
	}
	return s
}
