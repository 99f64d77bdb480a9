package http

import (
	"fmt"
	"time"

	"troupe/actors/view"
	"troupe/engine"
	"troupe/http/answer"
	"troupe/http/documents"
	"troupe/http/live"
)

// operation is one thing that a client can ask for, for documents.
type operation struct {
	method, path, id, tag string
	summary, doc          string
	open                  bool // needs no token
	params                []param
	task                  bool   // carries a task
	body                  string // schema of another body; empty: none
	files                 bool   // carries files alone
	lines                 string // what its lines are where it may also come in lines; empty: it may not
	answers               []reply
	codes                 []engine.Code // beside those that every operation has
}

// param is a parameter outside of the body.
type param struct {
	name, in, doc string
	schema        string
	required      bool
}

// reply is an answer that is no refusal.
type reply struct {
	status  int
	doc     string
	content string // what it can be instead of JSON
	shapes  []any  // values of the types that it may have as JSON
}

var (
	tokenCodes = []engine.Code{engine.CodeUnauthorized, engine.CodeRateLimited, engine.CodeInternal, engine.CodeDraining, engine.CodeNoQuorum, answer.CodeForeignOrigin, answer.CodeWrongHost, answer.CodeHeadersTooLarge}
	openCodes  = []engine.Code{engine.CodeInternal, answer.CodeForeignOrigin, answer.CodeWrongHost, answer.CodeHeadersTooLarge}
	bodyCodes  = []engine.Code{engine.CodeInvalidRequest, answer.CodeIncompleteRequest, engine.CodePayloadTooLarge, engine.CodeUnsupportedMediaType,
		engine.CodeStorageQuota, engine.CodeStorageFull, engine.CodeStorageUnwritable}

	flowParam    = param{"name", "path", "The name of the flow.", `{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"}`, true}
	profileParam = param{"name", "path", "The name of the profile.", `{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"}`, true}
	keySchema    = `{"type":"string","minLength":1,"maxLength":255,"pattern":"^[!-~]+$"}`
	keyParam     = param{keyHeader, "header", "Makes the request safe to repeat: within 24 hours the same key with the same content is carried out once, and answered with what is true of it then.", keySchema, false}
	taskParam    = param{"taskId", "path", "The task, as its start was answered.", `{"type":"string"}`, true}
)

// operations is everything that route knows. The operator commands are
// added by operator.go.
var operations = []operation{
	{
		method: "post", path: "/v1/", id: "execute", tag: "Tasks", task: true,
		summary: "Run a task",
		doc: "Plays a list of actions in a browser and answers with how it ended. A task that was played is a 200, whether its actions worked or not. " +
			"With `async` the answer comes as soon as a worker has the task, with `queue` as soon as the task is on the disk. `POST /v1/execute` is the same.",
		params:  []param{{keyHeader, "header", "Makes the request safe to repeat: within 24 hours the same key with the same content gets the first answer.", keySchema, false}},
		answers: []reply{{200, "The task was played, or was started.", "", []any{answer.Task{}, started{}}}, {202, "The task is in the queue.", "", []any{answer.Queued{}}}, {408, "The task's time was over.", "", []any{answer.Task{}}}, {413, "The request, or the task's result, is too large.", "", []any{answer.Refusal{}, answer.Task{}}}, {500, "The service failed.", "", []any{answer.Refusal{}, answer.Task{}}}},
		codes: append([]engine.Code{engine.CodePlanRequired, engine.CodeForeignWorker, engine.CodeSessionLimit, engine.CodeNoWorkerAvailable, engine.CodeTaskTimeout,
			engine.CodeWorkerBusy, engine.CodeWorkerReserved, engine.CodeWorkerOffline, engine.CodeSessionMismatch, engine.CodeSessionAttached, engine.CodeSessionShared, engine.CodeIdempotencyMismatch,
			engine.CodeDailyLimit, engine.CodeTooManyWaiting, engine.CodeQueueFull, engine.CodeQueueUnavailable, engine.CodeNoticesUnavailable}, bodyCodes...),
	},
	{
		method: "post", path: validatePath, id: "validate", tag: "Tasks", task: true,
		summary: "Check a task",
		doc:     "Says what is wrong with a task, which plan it needs and how long it can take. Plays nothing and counts nothing.",
		params:  []param{{"items", "query", "Whether the task is that of a batch: `${item.name}` reads a field of its items, and it takes no files.", `{"type":"boolean","default":false}`, false}},
		answers: []reply{{200, "What was found; `valid` says whether the task would be taken.", "", []any{validation{}}}},
		codes:   append([]engine.Code{engine.CodeTooManyWaiting}, bodyCodes...),
	},
	{
		method: "get", path: "/v1/get-result", id: "getResult", tag: "Asynchronous tasks",
		summary: "Get the status or result of a task",
		doc:     "Tells whether an asynchronous task still runs, and how it ended. A result is kept for an hour.",
		params: []param{
			{"taskId", "query", "The task, as its start was answered.", `{"type":"string"}`, true},
			{"wait", "query", "How long the answer may wait for the end of the task, in milliseconds.", `{"type":"integer","minimum":0,"maximum":60000,"default":0}`, false},
		},
		answers: []reply{{200, "The task runs, or has ended.", "", []any{answer.Pending{}, answer.Task{}}}},
		codes:   []engine.Code{engine.CodeInvalidRequest, engine.CodeTaskNotFound, engine.CodeTooManyWaiting},
	},
	{
		method: "delete", path: "/v1/tasks/{taskId}", id: "cancelTask", tag: "Asynchronous tasks",
		summary: "Cancel a task", doc: "Ends a task that waits or runs. For one that has ended, `cancelled` is false.",
		params:  []param{taskParam},
		answers: []reply{{200, "The task ends, or had ended before.", "", []any{cancelled{}}}},
		codes:   []engine.Code{engine.CodeTaskNotFound},
	},
	{
		method: "get", path: "/v1/tasks/{taskId}/events", id: "followTask", tag: "Asynchronous tasks",
		summary: "Follow a task",
		doc:     "Tells of each step as it ends, as server-sent events: `step` with a number as its id, and `end` with what a poll would answer.",
		params: []param{taskParam, {"Last-Event-ID", "header", "The last event that was received: the answer begins after it.", `{"type":"integer","minimum":0}`, false},
			{"ticket", "query", "A ticket for the task, where no header can be sent.", `{"type":"string"}`, false}},
		answers: []reply{{200, "Events until the task has ended.", "text/event-stream", nil}},
		codes:   []engine.Code{engine.CodeInvalidRequest, engine.CodeTaskNotFound, engine.CodeTooManyWaiting, engine.CodeNoQuorum},
	},
	{
		method: "get", path: "/v1/tasks", id: "listTasks", tag: "Live",
		summary: "List the last tasks",
		doc: "Lists the account's tasks that run and the last that have ended, synchronous ones too, the newest first, with the steps that have ended. " +
			"The last 100 are remembered, as long as the service runs. An operator's account is told of everybody's, without what they give. " +
			"With `status`, lists the account's queued tasks instead: those that wait, in their order; those that have ended, the oldest first; or those that failed and can be sent again.",
		params:  listParams,
		answers: []reply{{200, "The tasks.", "", []any{recentList{}, queuedList{}}}}, codes: listCodes,
	},
	{
		method: "get", path: "/v1/tasks/{taskId}", id: "getTask", tag: "Live",
		summary: "Get one of the last tasks", doc: "Returns the progress of a task, or how it ended. Its result is only in the answer to its request, or in the poll.",
		params:  []param{taskParam},
		answers: []reply{{200, "The task.", "", []any{recentOne{}}}},
		codes:   []engine.Code{engine.CodeTaskNotFound},
	},
	{
		method: "get", path: feedPath, id: "followAccount", tag: "Live",
		summary: "Follow an account",
		doc: "Tells of all that happens in the account, as server-sent events. `snapshot` comes first, and again after each connect: the workers, and the last tasks with their steps. " +
			"Then `worker` (one that is new or has changed), `gone` (one that was removed), `task` (one that begins), `step` (of a task), `end` (of a task; without its steps) and `token` (one of the account's tokens was issued or revoked, and by whom; `GET /v1/tokens` has those before the connect).",
		params:  []param{{"ticket", "query", "A ticket for `account`, where no header can be sent.", `{"type":"string"}`, false}},
		answers: []reply{{200, "Events until either side ends it.", "text/event-stream", nil}},
		codes:   []engine.Code{engine.CodeNotFound, engine.CodeNoQuorum},
	},
	{
		method: "get", path: livePath + "{object}", id: "watch", tag: "Live",
		summary: "See what a browser looks like",
		doc: fmt.Sprintf("A WebSocket, for looking only. Its first message is text, in JSON: what is seen. The others are pictures (JPEG, at most %d × %d), one at once and then whenever the page changes, at most %d a second. ",
			view.ScreencastOptions().Width, view.ScreencastOptions().Height, time.Second/view.ScreencastOptions().Every) +
			"It ends with the task or the session: the code is 4000 and the reason a word. A ticket or a link may stand beside the protocol `" + live.Protocol + "`, and a ticket in the address.",
		params: []param{{"object", "path", "The worker, or the session or the task that has it now.", `{"type":"string"}`, true},
			{"ticket", "query", "A ticket for the object.", `{"type":"string"}`, false}},
		answers: []reply{{101, "The pictures.", "image/jpeg", nil}},
		codes:   []engine.Code{engine.CodeInvalidRequest, engine.CodeNotFound, engine.CodeWorkerOffline, answer.CodeUpgradeRequired, engine.CodeNoQuorum},
	},
	{
		method: "get", path: linksPath, id: "listLinks", tag: "Live",
		summary: "List the links", doc: "Lists the account's valid links, the newest first. The links themselves are not stored.",
		answers: []reply{{200, "The links.", "", []any{live.LinkList{}}}},
	},
	{
		method: "post", path: linksPath, id: "issueLink", tag: "Live",
		summary: "Make a link for a colleague",
		doc:     "A link lets whoever has it see the live picture of one task, session or worker, and do nothing else. `path` is the end of an address for a browser: what is behind the # is sent to nobody.",
		body: fmt.Sprintf(`{"type":"object","required":["object"],"additionalProperties":false,"properties":{"object":{"type":"string","description":"The id of a task, a session or a worker."},"ttl":{"type":"integer","minimum":%d,"maximum":%d,"default":%d,"description":"How long it is valid, in milliseconds."},"label":{"type":"string","maxLength":%d,"description":"For the list of links."}}}`,
			engine.Millis(live.MinLink), engine.Millis(live.MaxLink), engine.Millis(live.DefaultLink), live.MaxLabel),
		answers: []reply{{200, "The link. It is shown only now.", "", []any{live.LinkMade{}}}},
		codes:   append([]engine.Code{engine.CodeNotFound, engine.CodeNoQuorum}, bodyCodes...),
	},
	{
		method: "delete", path: linksPath + "/{id}", id: "revokeLink", tag: "Live",
		summary: "Revoke a link", doc: "Ends a link early, and closes the pictures that it opened.",
		params:  []param{{"id", "path", "The id that the link was made with; not the link.", `{"type":"string"}`, true}},
		answers: []reply{{200, "It is worth nothing now.", "", []any{live.TicketRevoked{}}}},
		codes:   []engine.Code{engine.CodeNotFound, engine.CodeNoQuorum},
	},
	{
		method: "post", path: ticketsPath, id: "issueTicket", tag: "Account",
		summary: "Make a ticket",
		doc:     "A ticket lets its bearer look at one task, session or worker, or at all that happens in the account, for a short time, and do nothing else. It may stand in an address, where a token must not.",
		body: fmt.Sprintf(`{"type":"object","required":["object"],"additionalProperties":false,"properties":{"object":{"type":"string","description":"The id of a task, a session or a worker; or account."},"ttl":{"type":"integer","minimum":%d,"maximum":%d,"default":%d,"description":"How long it is valid, in milliseconds."}}}`,
			engine.Millis(live.MinTicket), engine.Millis(live.MaxTicket), engine.Millis(live.DefaultTicket)),
		answers: []reply{{200, "The ticket. It is shown only now.", "", []any{live.TicketMade{}}}},
		codes:   append([]engine.Code{engine.CodeNotFound, engine.CodeNoQuorum}, bodyCodes...),
	},
	{
		method: "delete", path: ticketsPath + "/{id}", id: "revokeTicket", tag: "Account",
		summary: "Revoke a ticket", doc: "Ends a ticket early.",
		params:  []param{{"id", "path", "The id that the ticket was made with; not the ticket.", `{"type":"string"}`, true}},
		answers: []reply{{200, "It is worth nothing now.", "", []any{live.TicketRevoked{}}}},
		codes:   []engine.Code{engine.CodeNotFound, engine.CodeNoQuorum},
	},
	{
		method: "get", path: "/v1/flows", id: "listFlows", tag: "Flows",
		summary: "List the flows", doc: "Lists the newest versions of the account's flows, by name, with their parameters and without their actions.",
		answers: []reply{{200, "The flows.", "", []any{flowList{}}}},
		codes:   []engine.Code{engine.CodeNotFound},
	},
	{
		method: "put", path: "/v1/flows/{name}", id: "putFlow", tag: "Flows",
		summary: "Store a flow", doc: "Stores a list of actions with parameters under a name, as its next version. Tasks run it with the action `run`. It is checked first, as a task is; a flow that would run itself is refused.",
		params: []param{flowParam}, body: `{"$ref":"` + components + `NewFlow"}`,
		answers: []reply{{200, "The version that was stored, what it can take at most, and warnings.", "", []any{flowStored{}}}},
		codes:   append([]engine.Code{answer.CodeFlowLimit, engine.CodeNotFound, engine.CodeTooManyWaiting}, bodyCodes...),
	},
	{
		method: "get", path: "/v1/flows/{name}", id: "getFlow", tag: "Flows",
		summary: "Get a flow", doc: "Returns the newest version of a flow, or of `name@3` the third one. The last 20 versions are kept.",
		params:  []param{{"name", "path", "The name of the flow, or name@version.", `{"type":"string"}`, true}},
		answers: []reply{{200, "The flow.", "", []any{flowAnswer{}}}},
		codes:   []engine.Code{engine.CodeNotFound},
	},
	{
		method: "delete", path: "/v1/flows/{name}", id: "deleteFlow", tag: "Flows",
		summary: "Delete a flow", doc: "Deletes all versions of a flow. Tasks that have begun go on with it.",
		params:  []param{flowParam},
		answers: []reply{{200, "It is deleted.", "", []any{flowRemoved{}}}},
		codes:   []engine.Code{engine.CodeNotFound},
	},
	{
		method: "get", path: "/v1/profiles", id: "listProfiles", tag: "Profiles",
		summary: "List the profiles", doc: "Lists the account's profiles, by name, with the versions that are kept and without their states. `writer` is the task or the session that has the right to save the profile.",
		answers: []reply{{200, "The profiles.", "", []any{profileList{}}}},
		codes:   []engine.Code{engine.CodeNotFound},
	},
	{
		method: "get", path: "/v1/profiles/{name}", id: "getProfile", tag: "Profiles",
		summary: "Export a profile", doc: "Returns the newest version of a profile, or of `name@3` the third one, as Playwright's storage state. The last 5 versions are kept. The account's secrets are masked.",
		params:  []param{{"name", "path", "The name of the profile, or name@version.", `{"type":"string"}`, true}},
		answers: []reply{{200, "The storage state.", "", []any{engine.StorageState{}}}},
		codes:   []engine.Code{engine.CodeProfileNotFound, engine.CodeNotFound},
	},
	{
		method: "put", path: "/v1/profiles/{name}", id: "putProfile", tag: "Profiles",
		summary: "Import a profile", doc: "Stores Playwright's storage state as the next version of a profile.",
		params: []param{profileParam}, body: `{"type":"object","properties":{"cookies":{"type":"array"},"origins":{"type":"array"}},"additionalProperties":false}`,
		answers: []reply{{200, "The profile with its versions.", "", []any{profileStored{}}}},
		codes:   append([]engine.Code{answer.CodeProfileLimit, engine.CodeProfileBusy, engine.CodeNotFound, engine.CodeTooManyWaiting, engine.CodeNoQuorum}, bodyCodes...),
	},
	{
		method: "delete", path: "/v1/profiles/{name}", id: "deleteProfile", tag: "Profiles",
		summary: "Delete a profile", doc: "Deletes all versions of a profile. It is refused while a task or a session has the profile.",
		params:  []param{profileParam},
		answers: []reply{{200, "It is deleted.", "", []any{profileRemoved{}}}},
		codes:   []engine.Code{engine.CodeProfileNotFound, engine.CodeProfileBusy, engine.CodeNotFound, engine.CodeNoQuorum},
	},
	{
		method: "get", path: "/v1/workers", id: "listWorkers", tag: "Account",
		summary: "List the workers", doc: "Lists the workers that the account may use.",
		answers: []reply{{200, "The workers: those that come with the service, then the added ones, oldest first.", "", []any{workerList{}}}},
	},
	{
		method: "get", path: "/v1/usage", id: "usage", tag: "Account",
		summary: "Get the account's plan and usage", doc: "Returns the limits of the account's plan, and what the account has used today. Days begin at 00:00 UTC. With any parameter, it returns the sums of the account's runs instead.",
		params:  usageQueryParams,
		answers: []reply{{200, "What may be used and what was, or the sums of runs.", "", []any{used{}, usedOverTime{}}}, {200, "The sums as a table.", "text/csv", nil}},
		codes:   []engine.Code{engine.CodeInvalidRequest, engine.CodeNotFound},
	},
	{
		method: "get", path: "/v1/tokens", id: "listOwnTokens", tag: "Account",
		summary: "List the account's tokens", doc: "Lists the tokens of the account, the oldest first, and those that were revoked in the last 90 days (the last 200 events), each with who issued and revoked it. The tokens themselves are not kept.",
		answers: []reply{{200, "The tokens.", "", []any{ownTokens{}}}},
		codes:   []engine.Code{engine.CodeNotFound},
	},
	{
		method: "get", path: "/files/{file}", id: "getFile", tag: "Files", open: true,
		summary: "Fetch a picture or a download", doc: "The address is enough: it has at least 128 random bits. Files are removed after a time that the operator sets.",
		params:  []param{{"file", "path", "The end of the address that the task's result has.", `{"type":"string"}`, true}, {"Range", "header", "Part of the file.", `{"type":"string"}`, false}},
		answers: []reply{{200, "The file.", "*/*", nil}, {206, "The part of the file.", "*/*", nil}},
		codes:   []engine.Code{engine.CodeNotFound, engine.CodeNoQuorum, answer.CodeRangeNotSatisfiable},
	},
	{
		method: "get", path: "/healthz", id: "health", tag: "Service", open: true,
		summary: "Check that the service is alive", doc: "For supervisors that restart the service when it does not answer.",
		answers: []reply{{200, "It is.", "", []any{health{}}}},
	},
	{
		method: "get", path: "/readyz", id: "ready", tag: "Service", open: true,
		summary: "Check whether a task would be accepted", doc: "For load balancers. The status is `degraded` where tasks run, but nothing can be written down: `notices` says why.",
		params: []param{{"writes", "query", "Answer 503 also where nothing can be written down.", `{"type":"boolean"}`, false}}, answers: []reply{{200, "It would.", "", []any{readiness{}}}, {503, "It would not.", "", []any{readiness{}}}},
	},
	{
		method: "get", path: "/v1/cluster", id: "cluster", tag: "Service",
		summary: "List the nodes", doc: "Returns what this node knows of all nodes of its cluster, with its age in milliseconds. Nodes may give different answers.",
		answers: []reply{{200, "The nodes, by name.", "", []any{answer.Cluster{}}}},
		codes:   []engine.Code{engine.CodeNotFound},
	},
	{
		method: "get", path: "/v1/capacity", id: "capacity", tag: "Service",
		summary: "Get the free capacity of the service",
		doc: "Counts workers by what they do, and the requests that wait. As text, for load balancers, it needs no token: 200 when a task would find a free worker, else 503. " +
			"Text is asked for with `format=text` or by `Accept`.",
		params:  []param{{"format", "query", "Text instead of JSON.", `{"type":"string","enum":["text"]}`, false}},
		answers: []reply{{200, "The numbers, or `available`.", "text/plain", []any{answer.Capacity{}}}, {503, "It is busy, or draining.", "text/plain", nil}},
	},
	{
		method: "get", path: "/openapi.json", id: "openapi", tag: "Service", open: true,
		summary: "This document", answers: []reply{{200, "The document.", "", []any{map[string]any{}}}},
	},
	{
		method: "get", path: "/", id: "page", tag: "Service", open: true,
		summary: "The web page", doc: "Workers, tasks, a playground, flows, usage; for the operator more. It signs in with a token, and uses the API as any other client does.",
		answers: []reply{{200, "A page.", "text/html", nil}},
	},
	{
		method: "get", path: "/live", id: "livePage", tag: "Service", open: true,
		summary: "The page that a link to a live picture opens", doc: "The object is behind the # of the address, which browsers do not send.",
		answers: []reply{{200, "A page.", "text/html", nil}},
	},
	{
		method: "get", path: "/app/{name}", id: "pageFile", tag: "Service", open: true,
		summary: "A file of the web page", params: []param{{"name", "path", "The file.", `{"type":"string"}`, true}},
		answers: []reply{{200, "The file.", "*/*", nil}, {304, "You have it already.", "", nil}}, codes: []engine.Code{engine.CodeNotFound},
	},
	{
		method: "get", path: "/docs", id: "docs", tag: "Service", open: true,
		summary: "This document for people", answers: []reply{{200, "A page.", "text/html", nil}, {304, "You have it already.", "", nil}},
	},
	{
		method: "get", path: docsPath + documents.SearchPath, id: "searchDocs", tag: "Service", open: true,
		summary: "Search the documentation", doc: "Returns the sections with all words, or else those with the most of them, the best first. Without words, the page has an empty field.",
		params:  []param{{"q", "query", "The words.", fmt.Sprintf(`{"type":"string","maxLength":%d}`, longestQuery), false}},
		answers: []reply{{200, "A page.", "text/html", nil}}, codes: []engine.Code{engine.CodeInvalidRequest},
	},
	{
		method: "get", path: docsPath + "{page}", id: "document", tag: "Service", open: true,
		summary: "A page of the documentation", doc: "`start` is the first one.",
		params:  []param{{"page", "path", "The page.", `{"type":"string"}`, true}},
		answers: []reply{{200, "The page, or a picture.", "*/*", nil}, {304, "You have it already.", "", nil}}, codes: []engine.Code{engine.CodeNotFound},
	},
	{
		method: "get", path: docsPath + "{folder}/{page}", id: "documentInFolder", tag: "Service", open: true,
		summary: "A page of a part of the documentation", doc: "Such as `actions/click`; and the pictures of the pages.",
		params:  []param{{"folder", "path", "The part.", `{"type":"string"}`, true}, {"page", "path", "The page.", `{"type":"string"}`, true}},
		answers: []reply{{200, "The page, or the picture.", "*/*", nil}, {304, "You have it already.", "", nil}}, codes: []engine.Code{engine.CodeNotFound},
	},
}
