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
			doc:     "Reserves a worker, as a task with `session.preserve` does, without a task. What `config` says holds for all that the session's pages do. It counts against the plan's sessions, and not against its tasks.",
			params:  []param{keyParam},
			answers: []reply{{201, "The session.", "", []any{sessionAnswer{}}}}, codes: append(held, bodyCodes...),
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
			method: "delete", path: sessionsPath + "/{sessionId}", id: "closeSession", tag: tag,
			summary: "Close a session", doc: "Ends a session. While a task runs in it, the answer is `409 worker_busy`: cancel the task first.",
			params:  []param{id},
			answers: []reply{{200, "It is closed.", "", []any{sessionClosed{}}}}, codes: []engine.Code{engine.CodeNotFound, engine.CodeWorkerBusy, engine.CodeWorkerOffline, engine.CodeTooManyWaiting},
		},
	)
}
