package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors"
	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/access"
	"troupe/http/answer"
	"troupe/persistence"
)

// clientLeaves bounds how long the end of a session waits for an attached client to be gone.
const clientLeaves = 20 * time.Second

// openCredential is a route whose handler finds out who asks: by a token, or a ticket for the session.
func openCredential(path string, h func(*fasthttp.RequestCtx, string) *answer.Refusal) route {
	return route{method: fasthttp.MethodGet, path: path, entry: entryCredential, handle: h}
}

// bodyRoute is a route that needs the token of an account and reads a body, and keeps no answer: what
// it makes is a secret.
func (s *Server) bodyRoute(path string, h func(*fasthttp.RequestCtx, persistence.Account, string, []byte) *answer.Refusal) route {
	return s.tokenRoute(fasthttp.MethodPost, path, func(ctx *fasthttp.RequestCtx, account persistence.Account, name string) *answer.Refusal {
		b, no := s.bodies.readJSONBody(ctx, account.ID)
		defer b.remove()
		if no != nil {
			return no
		}
		return h(ctx, account, name, b.payload)
	})
}

// sessionsPath is where sessions are.
const sessionsPath = "/v1/sessions"

// sessionTicketsPath is where tickets for clients of a session are issued.
const sessionTicketsPath = sessionsPath + "/{sessionId}/tickets"

type (
	sessionAnswer struct {
		Success  bool             `json:"success"`
		Session  answer.Session   `json:"session"`
		Warnings []engine.Warning `json:"warnings,omitempty"`
	}
	sessionList struct {
		Success  bool             `json:"success"`
		Sessions []answer.Session `json:"sessions"`
	}
	sessionClosed struct {
		Success  bool             `json:"success"`
		ID       string           `json:"sessionId"`
		Warnings []engine.Warning `json:"warnings,omitempty"`
	}
)

// sessionRoutes are the routes of sessions. Sessions are the same things that tasks preserve:
// each of these routes asks what a task would ask.
func (s *Server) sessionRoutes() []route {
	one := sessionsPath + "/{sessionId}"
	return []route{
		openCredential(one+"/cdp", s.sockets.Attach),
		openCredential(one+"/cdp/json", s.sockets.List),
		openCredential(one+"/cdp/json/", s.sockets.List),
		openCredential(one+"/cdp/json/list", s.sockets.List),
		openCredential(one+"/cdp/json/list/", s.sockets.List),
		openCredential(one+"/cdp/json/version", s.sockets.Version),
		openCredential(one+"/cdp/json/version/", s.sockets.Version),
		s.bodyRoute(sessionTicketsPath, s.sockets.Issue),
		s.tokenRoute("POST", sessionFilesPath, s.giveFiles),
		s.tokenRoute("GET", sessionFilesPath, s.ofSession(s.listSessionFiles)),
		s.tokenRoute("DELETE", sessionFilesPath, s.ofSession(s.removeSessionFile)),
		s.callRoute(sessionsPath, withBody(s.openSession), s.stillOpen),
		s.tokenRoute("GET", sessionsPath, wholeList(s.listSessions)),
		s.callRoute(one+"/save", byName(s.saveSession), asItIs(s.getSession)), // before one, which would match
		s.tokenRoute("GET", one, s.getSession),
		s.tokenRoute("DELETE", one, s.closeSession),
	}
}

func noSession(id string) *answer.Refusal {
	return answer.RefuseText(engine.CodeNotFound, fmt.Sprintf("There is no session %q: it has ended, or never existed", lang.Short(id, 100)))
}

// openSession opens a session, by the task without actions that does so.
func (s *Server) openSession(ctx *fasthttp.RequestCtx, account persistence.Account, payload []byte) *answer.Refusal {
	task, err := engine.ParseSession(payload, s.proxies(account))
	var invalid *engine.Invalid
	switch {
	case errors.As(err, &invalid):
		return answer.RefuseInvalid(invalid.Faults...)
	case err != nil:
		return s.faults.Refuse(ctx, "read a session", err)
	}
	x, no := s.manage(ctx, account, task.Within(account.Sites))
	if no != nil {
		return no
	}
	if no := setUpRefused(x.Outcome); no != nil {
		if _, left := s.manage(ctx, account, engine.ClosingTask(x.SessionID, 0)); left != nil { // it ends by itself, later
			s.cfg.Log.Warn().Str("request", answer.RequestID(ctx)).Str("session", x.SessionID).Str("code", string(left.Code)).Msg("a session that could not be set up was not closed")
		}
		return no
	}
	a, found, no := s.sessionOf(ctx, account, x.SessionID)
	switch {
	case no != nil:
		return no
	case !found: // its node does not answer now: what is known is enough to use it
		a = answer.SessionOf(api.WorkerInfo{ID: x.WorkerID, Name: x.WorkerName, State: api.Reserved, Session: x.SessionID}, livePath)
	}
	answer.SendJSON(ctx, fasthttp.StatusCreated, sessionAnswer{true, a, x.Outcome.Warnings})
	return nil
}

// manage has a task without actions played, which opens a session or closes it.
func (s *Server) manage(ctx *fasthttp.RequestCtx, account persistence.Account, task *engine.Task) (*api.Executed, *answer.Refusal) {
	now := time.Now()
	m := &api.Execute{TaskID: actors.NewTaskID(now), Account: access.ForActors(account), Task: task, Asked: now}
	if m.RemoteOnly = s.Drains() && !s.continuesSession(task); m.RemoteOnly && s.cfg.Actors.Status().PeerWorkers == 0 {
		return nil, answer.Refuse(engine.CodeDraining)
	}
	waiting, stop := s.disconnects.track(s.base, ctx.Conn())
	defer stop()
	x, err := inTurn(waiting, s, m, s.cfg.Actors.Execute, func(x *api.Executed) *api.Refusal { return x.Refusal })
	switch {
	case refusedBefore(err) != nil:
		return nil, answer.RefuseBy(refusedBefore(err))
	case err != nil:
		return nil, s.faults.Refuse(ctx, "open or close a session", err)
	case x.Refusal != nil:
		return nil, answer.RefuseBy(x.Refusal)
	case x.Outcome == nil:
		return nil, s.faults.Refuse(ctx, "open or close a session", errors.New("the answer has no outcome"))
	}
	return x, nil
}

// setUpRefused is why a session could not be set up as its request says; nil: it could.
func setUpRefused(o *engine.Outcome) *answer.Refusal {
	code, text := engine.Code(""), ""
	switch {
	case len(o.Failures) > 0:
		code, text = o.Failures[0].Code, o.Failures[0].Text
	case o.End == engine.EndCompleted:
		return nil
	case o.End == engine.EndTimeout:
		code = engine.CodeTaskTimeout
	}
	switch {
	case code == "" || code == engine.CodeBrowserCrashed:
		return answer.RefuseText(engine.CodeWorkerOffline, "The worker's browser ended while the session was opened")
	case code == engine.CodeTimeout: // the request is good: later, or at another worker, it may be carried out
		return answer.RefuseText(engine.CodeWorkerOffline, "The session was not opened: "+text)
	case answer.InfoOf(code).Status >= 400:
		return answer.RefuseText(code, text)
	}
	return answer.RefuseInvalid(lang.NewFault("/config", "%s", text))
}

// stillOpen answers a repeat with the session that the first request has opened.
func (s *Server) stillOpen(ctx *fasthttp.RequestCtx, account persistence.Account, _ string, first *callAnswer) *answer.Refusal {
	var made sessionAnswer
	if err := json.Unmarshal(first.Body, &made); err != nil {
		return s.faults.Refuse(ctx, "read the answer to a key", err)
	}
	switch now, found, no := s.sessionOf(ctx, account, made.Session.ID); {
	case no != nil:
		return no
	case !found:
		return goneSince("session")
	default:
		made.Session = now
	}
	answer.SendJSON(ctx, first.Status, made)
	return nil
}

// sessions are those of an account, in the order of their workers.
func (s *Server) sessions(ctx *fasthttp.RequestCtx, account persistence.Account) ([]answer.Session, *answer.Refusal) {
	found, no := ask(s, ctx, s.base, "list the sessions", &api.ListWorkers{Account: access.ForActors(account)})
	if no != nil {
		return nil, no
	}
	all, at := []answer.Session{}, map[string]int{}
	for _, w := range found.Workers {
		if w.Session == "" { // only the account that holds it sees this
			continue
		}
		a := answer.SessionOf(w, livePath)
		switch i, twice := at[a.ID]; {
		case !twice:
			at[a.ID] = len(all)
			all = append(all, a)
		case all[i].Opened == "": // of a node that is lost: it has gone on at another one
			all[i] = a
		}
	}
	return all, nil
}

func (s *Server) sessionOf(ctx *fasthttp.RequestCtx, account persistence.Account, id string) (answer.Session, bool, *answer.Refusal) {
	all, no := s.sessions(ctx, account)
	if no != nil {
		return answer.Session{}, false, no
	}
	for _, a := range all {
		if a.ID == id {
			return a, true, nil
		}
	}
	return answer.Session{}, false, nil
}

func (s *Server) listSessions(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	all, no := s.sessions(ctx, account)
	if no == nil {
		answer.SendJSON(ctx, fasthttp.StatusOK, sessionList{true, all})
	}
	return no
}

func (s *Server) getSession(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	a, found, no := s.sessionOf(ctx, account, id)
	switch {
	case no != nil:
		return no
	case !found:
		return noSession(id)
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, sessionAnswer{Success: true, Session: a})
	return nil
}

// saveSession saves the profile of a session as its next version, if it has changed.
func (s *Server) saveSession(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	a, found, no := s.sessionOf(ctx, account, id)
	switch {
	case no != nil:
		return no
	case !found:
		return noSession(id)
	case a.Opened == "": // its node does not answer now, but may when it is asked for more
	case a.Profile == nil:
		return answer.RefuseText(engine.CodeInvalidRequest, "The session has no profile: open one with a profile, or save what it keeps in the session alone")
	case a.Profile.Readonly:
		return answer.RefuseText(engine.CodeInvalidRequest, "The session only reads its profile: open one without readonly")
	case a.Profile.Lost != "":
		return answer.RefuseText(engine.CodeProfileBusy, "The session does not save its profile any more: "+a.Profile.Lost)
	}
	x, no := s.manage(ctx, account, engine.SavingTask(id))
	switch {
	case no != nil && no.Code == engine.CodeSessionMismatch: // it has just ended
		return noSession(id)
	case no != nil:
		return no
	}
	if no := notSaved(x.Outcome); no != nil {
		return no
	}
	if a, found, no = s.sessionOf(ctx, account, id); no != nil || !found {
		if no == nil {
			no = noSession(id)
		}
		return no
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, sessionAnswer{true, a, x.Outcome.Warnings})
	return nil
}

// notSaved is why the profile of a session was not saved; nil: it was.
func notSaved(o *engine.Outcome) *answer.Refusal {
	if len(o.Failures) == 0 {
		return setUpRefused(o)
	}
	f := o.Failures[0]
	if f.Code == engine.CodeInvalidValue { // the session has none
		return answer.RefuseText(engine.CodeInvalidRequest, f.Text)
	}
	if answer.InfoOf(f.Code).Status >= 400 {
		return answer.RefuseText(f.Code, f.Text)
	}
	return answer.RefuseText(engine.CodeWorkerOffline, f.Text)
}

// closeSession ends a session. One in which a task runs is not ended under it.
func (s *Server) closeSession(ctx *fasthttp.RequestCtx, account persistence.Account, id string) *answer.Refusal {
	if _, found, no := s.sessionOf(ctx, account, id); no != nil || !found {
		if no == nil {
			no = noSession(id)
		}
		return no
	}
	wait := time.Duration(0)
	if s.sockets.Close(ctx, account.ID, id) { // it leaves, and takes a moment for that
		wait = clientLeaves
	}
	x, no := s.manage(ctx, account, engine.ClosingTask(id, wait))
	switch {
	case no != nil && no.Code == engine.CodeSessionMismatch: // it has just ended
		return noSession(id)
	case no != nil:
		return no
	case x.Outcome.End != engine.EndCompleted:
		return setUpRefused(x.Outcome)
	}
	answer.SendJSON(ctx, fasthttp.StatusOK, sessionClosed{true, id, x.Outcome.Warnings})
	return nil
}
