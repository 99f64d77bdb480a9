package http

import (
	"fmt"

	"troupe/engine"
	"troupe/http/answer"
	"troupe/http/socket"
)

func init() {
	const tag = "Sessions"
	id := param{"sessionId", "path", "The session, as its opening was answered.", `{"type":"string"}`, true}
	held := []engine.Code{engine.CodePlanRequired, engine.CodeSessionLimit, engine.CodeForeignWorker, engine.CodeNoWorkerAvailable, engine.CodeTaskTimeout,
		engine.CodeWorkerBusy, engine.CodeWorkerReserved, engine.CodeWorkerOffline, engine.CodeSessionShared, engine.CodeTooManyWaiting, engine.CodeIdempotencyMismatch}
	ticket := param{"ticket", "query", "A ticket for the session, where no header can be sent.", `{"type":"string"}`, false}
	operations = append(operations,
		operation{
			method: "get", path: sessionsPath + "/{sessionId}/cdp", id: "attachToSession", tag: tag,
			summary: "Attach a client to a session",
			doc: "A WebSocket that speaks the Chrome DevTools Protocol with the session's browser, for Playwright, Puppeteer, chromedp and others. Commands that lead out of the session are refused. " +
				"One client is attached at a time, and meanwhile lists are refused with `session_attached`. The code and the reason of the close say why it ended.",
			params: []param{id, ticket,
				{"takeover", "query", "Ends the client that is attached, and takes its place.", `{"type":"boolean","default":false}`, false},
				{"queueTimeout", "query", "How long to wait for a list or a client of the session, in milliseconds.", fmt.Sprintf(`{"type":"integer","minimum":0,"maximum":%d}`, engine.Millis(engine.MaxQueueTimeout)), false}},
			answers: []reply{{101, "The messages of the protocol.", "application/json", nil}},
			codes: []engine.Code{engine.CodeInvalidRequest, engine.CodePlanRequired, engine.CodeNotFound, engine.CodeWorkerBusy, engine.CodeWorkerOffline, engine.CodeSessionAttached, engine.CodeSessionShared,
				engine.CodeSessionElsewhere, engine.CodeTooManyWaiting, answer.CodeUpgradeRequired, engine.CodeNoQuorum},
		},
		operation{
			method: "get", path: sessionsPath + "/{sessionId}/cdp/json/version", id: "attachVersion", tag: tag,
			summary: "Find the address to attach to", doc: "What clients ask for before they connect. It uses no ticket up, and the address carries the ticket on. The same answer is at the path with a slash at its end.",
			params: []param{id, ticket}, answers: []reply{{200, "The address.", "", []any{socket.Version{}}}}, codes: []engine.Code{engine.CodeNotFound, engine.CodeNoQuorum},
		},
		operation{
			method: "get", path: sessionsPath + "/{sessionId}/cdp/json/list", id: "attachList", tag: tag,
			summary: "List what to attach to", doc: "The session alone: its pages are found over the connection. The same answer is at `/json`, and at both paths with a slash at their end.",
			params: []param{id, ticket}, answers: []reply{{200, "The session.", "", []any{[]socket.Listed{}}}}, codes: []engine.Code{engine.CodeNotFound, engine.CodeNoQuorum},
		},
		operation{
			method: "post", path: sessionTicketsPath, id: "issueSessionTicket", tag: tag,
			summary: "Make a ticket for a session",
			doc:     "A ticket lets its bearer attach to one session, and do nothing else. It opens one connection within a minute; with `reuse` any number, one after the other, until the session ends.",
			params:  []param{id},
			body:    `{"type":"object","additionalProperties":false,"properties":{"reuse":{"type":"boolean","default":false,"description":"Whether it opens several connections, one after the other."}}}`,
			answers: []reply{{201, "The ticket. It is shown only now.", "", []any{socket.Issued{}}}}, codes: append([]engine.Code{engine.CodeNotFound}, bodyCodes...),
		},
		operation{
			method: "post", path: sessionsPath, id: "openSession", tag: tag, body: string(engine.SessionSchema(components)),
			summary: "Open a session",
			doc:     "Reserves a worker, as a task with `session.preserve` does, without a task. What `config` says holds for all that the session's pages do. It counts against the plan's sessions, and not against its tasks. With `profile` it begins with what the profile has, and saves it.",
			params:  []param{keyParam},
			answers: []reply{{201, "The session.", "", []any{sessionAnswer{}}}}, codes: append(append([]engine.Code{engine.CodeProfileBusy, engine.CodeProfileNotFound, engine.CodeSiteNotAllowed}, held...), bodyCodes...),
		},
		operation{
			method: "post", path: sessionFilesPath, id: "giveSessionFiles", tag: tag, files: true,
			summary: "Give files to a session",
			doc: "Keeps files for the clients that are attached to the session, which name them as `troupe-file:NAME` where a command wants paths. A form has them as parts `files`. Any other body is one file, with its name in `name`. " +
				"A file takes the place of one with the same name. Files count in the account's storage, and end with the session.",
			params:  []param{id, {"name", "query", "The name of the file, where the body is the file itself.", `{"type":"string"}`, false}},
			answers: []reply{{201, "The files that were given.", "", []any{sessionFileList{}}}}, codes: append([]engine.Code{engine.CodeNotFound}, bodyCodes...),
		},
		operation{
			method: "get", path: sessionFilesPath, id: "listSessionFiles", tag: tag,
			summary: "List the files of a session", doc: "The oldest first: those that were given to it, and those that its pages have sent to attached clients. `url` has the bytes.",
			params:  []param{id},
			answers: []reply{{200, "The files.", "", []any{sessionFileList{}}}}, codes: []engine.Code{engine.CodeNotFound},
		},
		operation{
			method: "delete", path: sessionFilesPath, id: "removeSessionFile", tag: tag,
			summary: "Remove a file of a session", doc: "What pages have got of it stays with them.",
			params:  []param{id, {"name", "query", "The name of the file, or its id.", `{"type":"string"}`, true}},
			answers: []reply{{200, "It is removed.", "", []any{sessionFileRemoved{}}}}, codes: []engine.Code{engine.CodeNotFound, engine.CodeInvalidRequest},
		},
		operation{
			method: "get", path: sessionsPath, id: "listSessions", tag: tag,
			summary: "List the sessions", doc: "Lists the account's sessions, also those that tasks have left.",
			answers: []reply{{200, "The sessions.", "", []any{sessionList{}}}}, codes: []engine.Code{engine.CodeInvalidRequest},
		},
		operation{
			method: "get", path: sessionsPath + "/{sessionId}", id: "getSession", tag: tag,
			summary: "Get a session", doc: "Returns what is known of one session.",
			params:  []param{id},
			answers: []reply{{200, "The session.", "", []any{sessionAnswer{}}}}, codes: []engine.Code{engine.CodeNotFound},
		},
		operation{
			method: "post", path: sessionsPath + "/{sessionId}/save", id: "saveSession", tag: tag,
			summary: "Save a session's profile", doc: "Saves the profile of a session as its next version. If nothing has changed since its last version, there is no other one. While a task runs in the session, the answer is `409 worker_busy`: give the task `session.save` instead.",
			params:  []param{id, keyParam},
			answers: []reply{{200, "The session, with the version that its profile has now.", "", []any{sessionAnswer{}}}},
			codes: append([]engine.Code{engine.CodeNotFound, engine.CodeProfileBusy, engine.CodeWorkerBusy, engine.CodeWorkerOffline, engine.CodeTooManyWaiting,
				engine.CodeTaskTimeout, engine.CodeIdempotencyMismatch}, bodyCodes...),
		},
		operation{
			method: "delete", path: sessionsPath + "/{sessionId}", id: "closeSession", tag: tag,
			summary: "Close a session", doc: "Ends a session. While a task runs in it, the answer is `409 worker_busy`: cancel the task first. An attached client is disconnected.",
			params:  []param{id},
			answers: []reply{{200, "It is closed.", "", []any{sessionClosed{}}}}, codes: []engine.Code{engine.CodeNotFound, engine.CodeWorkerBusy, engine.CodeWorkerOffline, engine.CodeTooManyWaiting},
		},
	)
}
