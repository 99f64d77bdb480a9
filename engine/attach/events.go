package attach

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Hear takes an event of the browser, and passes it on where it is about something of the client's.
// It is called on the goroutine of the browser.
func (c *Conn) Hear(e Event) {
	r := c.r
	r.mu.Lock()
	at := r.sessions[e.Session]
	ready := r.browser != nil && !r.over
	r.mu.Unlock()
	if at == nil || !ready {
		return
	}
	if hide := events[e.Method]; hide != nil && !hide(r, at, &e) || e.Whole == nil {
		return
	}
	if e.Session == "" {
		e.Whole = r.withoutRoot(e.Whole)
	}
	r.put(e.Whole)
}

// events says which events are passed on; those that are not here all are.
var events = map[string]func(r *relay, at *session, e *Event) bool{
	"Target.attachedToTarget":          (*relay).attached,
	"Target.detachedFromTarget":        (*relay).detached,
	"Target.targetCreated":             (*relay).shows,
	"Target.targetInfoChanged":         (*relay).shows,
	"Target.targetDestroyed":           (*relay).known,
	"Target.targetCrashed":             (*relay).known,
	"Target.receivedMessageFromTarget": func(*relay, *session, *Event) bool { return false },
	"Browser.downloadProgress":         (*relay).download,
	"Page.downloadProgress":            (*relay).download,
}

type aboutTarget struct {
	ID      string     `json:"targetId"`
	Session string     `json:"sessionId"`
	Info    targetInfo `json:"targetInfo"`
}

// attached takes in a session with a target that is the client's. Another one is left alone.
func (r *relay) attached(at *session, e *Event) bool {
	var a aboutTarget
	if json.Unmarshal(e.Params, &a, lenient) != nil || a.Session == "" {
		return false
	}
	s := &session{target: a.Info.ID}
	switch {
	case a.Info.Type == "browser":
		s.root, s.target = true, ""
		if !at.root {
			r.browser.LetGo(e.Session, a.Session)
			return false
		}
	case a.Info.Context == "" && !at.root: // a frame or a worker of a page that is the client's
	case !r.own(&a.Info):
		r.browser.LetGo(e.Session, a.Session)
		return false
	}
	r.mu.Lock()
	many := len(r.sessions) >= maxSessions
	if !many {
		r.sessions[a.Session] = s
	}
	r.mu.Unlock()
	if many {
		r.browser.LetGo(e.Session, a.Session)
		return false
	}
	r.browser.Open(a.Session)
	return true
}

func (r *relay) detached(_ *session, e *Event) bool {
	var a aboutTarget
	if json.Unmarshal(e.Params, &a, lenient) != nil {
		return false
	}
	r.mu.Lock()
	s := r.sessions[a.Session]
	if a.Session != "" {
		delete(r.sessions, a.Session)
	}
	r.mu.Unlock()
	if s == nil || a.Session == "" {
		return false
	}
	if s.target != "" {
		r.browser.Resume(s.target)
	}
	r.browser.Drop(a.Session)
	return true
}

func (r *relay) shows(_ *session, e *Event) bool {
	var a aboutTarget
	return json.Unmarshal(e.Params, &a, lenient) == nil && (a.Info.Type == "browser" || r.own(&a.Info))
}

func (r *relay) known(_ *session, e *Event) bool {
	var a aboutTarget
	if json.Unmarshal(e.Params, &a, lenient) != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.targets[a.ID]
	if e.Method == "Target.targetDestroyed" {
		delete(r.targets, a.ID)
	}
	return was
}

// download takes the path of the machine out of the event. That a file is complete is told once it
// can be fetched.
func (r *relay) download(_ *session, e *Event) bool {
	var m map[string]jsontext.Value
	if json.Unmarshal(e.Params, &m, lenient) != nil {
		return false
	}
	if _, there := m["filePath"]; there {
		delete(m, "filePath")
		var whole struct {
			Method  string                    `json:"method"`
			Params  map[string]jsontext.Value `json:"params"`
			Session string                    `json:"sessionId,omitzero"`
		}
		whole.Method, whole.Params, whole.Session = e.Method, m, e.Session
		b, err := json.Marshal(whole, json.Deterministic(true), lenient)
		if err != nil {
			return false
		}
		e.Whole = b
	}
	var of struct {
		ID    string `json:"guid"`
		State string `json:"state"`
	}
	if json.Unmarshal(e.Params, &of, lenient) != nil || of.State != "completed" || e.Whole == nil {
		return true
	}
	b := e.Whole
	if e.Session == "" {
		b = r.withoutRoot(b)
	}
	r.browser.Kept(of.ID, func() { r.put(b) })
	return false
}
