package http

import (
	"troupe/engine"
)

func init() {
	const tag = "Sessions"
	id := param{"sessionId", "path", "The session, as its opening was answered.", `{"type":"string"}`, true}
	held := []engine.Code{engine.CodePlanRequired, engine.CodeSessionLimit, engine.CodeForeignWorker, engine.CodeNoWorkerAvailable, engine.CodeTaskTimeout,
		engine.CodeWorkerBusy, engine.CodeWorkerReserved, engine.CodeWorkerOffline, engine.CodeTooManyWaiting, engine.CodeIdempotencyMismatch}
	operations = append(operations,
		operation{
			method: "post", path: sessionsPath, id: "openSession", tag: tag, body: string(engine.SessionSchema(components)),
			summary: "Open a session",
			doc:     "Reserves a worker, as a task with `session.preserve` does, without a task. What `config` says holds for all that the session's pages do. It counts against the plan's sessions, and not against its tasks. With `profile` it begins with what the profile has, and saves it.",
			params:  []param{keyParam},
			answers: []reply{{201, "The session.", "", []any{sessionAnswer{}}}}, codes: append(append([]engine.Code{engine.CodeProfileBusy, engine.CodeProfileNotFound, engine.CodeSiteNotAllowed}, held...), bodyCodes...),
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
			summary: "Close a session", doc: "Ends a session. While a task runs in it, the answer is `409 worker_busy`: cancel the task first.",
			params:  []param{id},
			answers: []reply{{200, "It is closed.", "", []any{sessionClosed{}}}}, codes: []engine.Code{engine.CodeNotFound, engine.CodeWorkerBusy, engine.CodeWorkerOffline, engine.CodeTooManyWaiting},
		},
	)
}
