package answer

import (
	"time"

	"troupe/engine"
)

// Codes that only the edge gives.
const (
	// CodeIncompleteRequest: the request did not arrive whole or in time.
	CodeIncompleteRequest engine.Code = "incomplete_request"
	// CodeHeadersTooLarge: the request line and the headers exceed the limit.
	CodeHeadersTooLarge engine.Code = "headers_too_large"
	// CodeRangeNotSatisfiable: the part of a file that was asked for is not
	// there.
	CodeRangeNotSatisfiable engine.Code = "range_not_satisfiable"
	// CodeUpgradeRequired: what was asked for is spoken over a WebSocket only.
	CodeUpgradeRequired engine.Code = "upgrade_required"
	// CodeWrongHost: the request was made for another name than the service's.
	CodeWrongHost engine.Code = "wrong_host"
	// CodeForeignOrigin: a page of another site has sent the request.
	CodeForeignOrigin engine.Code = "foreign_origin"
	// CodeOperatorOnly: the account's tokens may give no commands.
	CodeOperatorOnly engine.Code = "operator_only"
	// CodeFlowLimit: the account has no room for another flow.
	CodeFlowLimit engine.Code = "flow_limit"
	// CodeProfileLimit: the account has no room for another profile or version.
	CodeProfileLimit engine.Code = "profile_limit"
	// CodeCommandRefused: a command of the operator was not carried out.
	CodeCommandRefused engine.Code = "order_refused"
)

// CodeInfo is one row of the table of codes.
type CodeInfo struct {
	Code   engine.Code
	Status int // of the answer that carries the code
	// Retryable says that the same request may be sent again as it is: nothing
	// of it has run, and what was in its way passes.
	Retryable bool
	// After is the Retry-After of an answer where nothing better is known.
	After time.Duration
	// Text is the sentence for people where the answer has none of its own.
	Text string
}

// table is the one table from codes to answers. A task that was played and did
// not end well is a 200: the request itself was carried out.
var table = []CodeInfo{
	{engine.CodeInvalidRequest, 400, false, 0, "The request is not valid"},
	{CodeIncompleteRequest, 400, true, 0, "The request did not arrive whole"},
	{engine.CodeUnauthorized, 401, false, 0, "The bearer token is missing or not valid"},
	{engine.CodePlanRequired, 403, false, 0, "The account's plan does not include this"},
	{engine.CodeForeignWorker, 403, false, 0, "The worker does not belong to the account"},
	{engine.CodeSessionLimit, 403, false, 0, "The account has as many sessions as it can have"},
	{CodeProfileLimit, 403, false, 0, "The account has no room for more profiles"},
	{CodeFlowLimit, 403, false, 0, "The account has as many flows as it can have"},
	{CodeForeignOrigin, 403, false, 0, "The Origin is not allowed: the operator allows origins of web pages with --allow-origin"},
	{CodeOperatorOnly, 403, false, 0, "This needs a token of an operator's account"},
	{engine.CodeNoWorkerAvailable, 404, true, time.Second, "No workers available"},
	{engine.CodeTaskNotFound, 404, false, 0, "There is no such task"},
	{engine.CodeProfileNotFound, 404, false, 0, "There is no such profile, or no such version"},
	{engine.CodeNotFound, 404, false, 0, "There is nothing here"},
	{engine.CodeMethodNotAllowed, 405, false, 0, "The method is not allowed here"},
	{engine.CodeTaskTimeout, 408, false, 0, "Task timed out"},
	{engine.CodeWorkerBusy, 409, true, time.Second, "Worker is busy"},
	{engine.CodeWorkerReserved, 409, true, time.Second, "Worker is reserved"},
	{engine.CodeWorkerOffline, 409, true, 2 * time.Second, "Worker offline"},
	{engine.CodeProfileBusy, 409, true, time.Second, "Another task uses the profile"},
	{engine.CodeSessionAttached, 409, true, 5 * time.Second, "A client is attached to the session"},
	{engine.CodeSessionShared, 409, false, 0, "The session shares its browser with other workers: open one with `attach: true`"},
	{engine.CodeSessionElsewhere, 409, true, 2 * time.Second, "The session is at a node that does not answer"},
	{engine.CodeSessionMismatch, 409, false, 0, "Session mismatch"},
	{engine.CodeIdempotencyMismatch, 409, false, 0, "The Idempotency-Key was used with another request"},
	{CodeCommandRefused, 409, false, 0, "The operator's command was not carried out"},
	{engine.CodePayloadTooLarge, 413, false, 0, "The request is too large"},
	{engine.CodeUnsupportedMediaType, 415, false, 0, "The content type is not supported"},
	{CodeRangeNotSatisfiable, 416, false, 0, "The Range is outside the file"},
	{CodeWrongHost, 421, false, 0, "The Host is not one of the service's names: the operator sets them with --host"},
	{CodeUpgradeRequired, 426, false, 0, "Live pictures need a WebSocket"},
	{engine.CodeDailyLimit, 429, true, time.Hour, "Daily task limit reached"},
	{engine.CodeTooManyWaiting, 429, true, time.Second, "Too many requests of the account are waiting"},
	{engine.CodeScheduleLimit, 403, false, 0, "The account has as many schedules as its plan allows"},
	{engine.CodeQueueFull, 429, true, 30 * time.Second, "The queue of the account is full"},
	{engine.CodeRateLimited, 429, true, time.Second, "Too many requests"},
	{engine.CodeStorageQuota, 429, true, time.Minute, "The account keeps as much as its plan allows: files and records make room as they expire or are removed, and uploads as their tasks end"},
	{CodeHeadersTooLarge, 431, false, 0, "The request's headers are too large"},
	{engine.CodeInternal, 500, false, 0, "The service failed; find the reason in its log by this request's X-Request-Id"},
	{engine.CodeUnreadable, 500, false, 0, "A record cannot be opened with the service's key: the operator can put the old key back"},
	{engine.CodeQueueUnavailable, 501, false, 0, "The task cannot be queued here: send it without `queue`"},
	{engine.CodeNoticesUnavailable, 501, false, 0, "Nothing sends notices here: send the task without `notify`"},
	{engine.CodeDraining, 503, true, 5 * time.Second, "The service accepts no new tasks: it is drained or stopping"},
	{engine.CodeStorageFull, 503, true, 30 * time.Second, "The service's disk has too little free space"},
	{engine.CodeStorageUnwritable, 503, true, 30 * time.Second, "The service's data folder accepts no new files"},
	{engine.CodeNoQuorum, 503, true, 2 * time.Second, "The cluster has no majority now"},

	{engine.CodeBrowserCrashed, 200, false, 0, "The browser crashed"},
	{engine.CodeInterrupted, 200, false, 0, "The task was interrupted"},
	{engine.CodeCancelled, 200, false, 0, "The task was cancelled"},
	{engine.CodeWorkerLost, 200, false, 0, "The worker was lost"},
	{engine.CodeExpired, 200, false, 0, "The task expired in the queue before it began"},

	{engine.CodeElementNotFound, 200, false, 0, "The element was not found"},
	{engine.CodeElementCovered, 200, false, 0, "Another element covers the element"},
	{engine.CodeElementGone, 200, false, 0, "The element has left the document"},
	{engine.CodeNavigationFailed, 200, false, 0, "The page could not be opened"},
	{engine.CodeScriptError, 200, false, 0, "The script failed"},
	{engine.CodeTimeout, 200, false, 0, "The action timed out"},
	{engine.CodeInvalidValue, 200, false, 0, "The value does not fit"},
	{engine.CodeAssertionFailed, 200, false, 0, "The assertion failed"},
	{engine.CodeStepLimit, 200, false, 0, "The blocks of the task have done as much as one task may"},
	{engine.CodeSiteNotAllowed, 200, false, 0, "The task may not go to this site: config.sites does not name it. With the status 403, the sites of the token do not allow the request"},
	{engine.CodeEgressQuota, 200, false, 0, "The task has sent and received as many bytes as the operator allows"},
}

// Codes lists every code that an answer may carry, for documents.
func Codes() []CodeInfo { return append([]CodeInfo(nil), table...) }

var codeIndex = func() map[engine.Code]CodeInfo {
	m := make(map[engine.Code]CodeInfo, len(table))
	for _, c := range table {
		m[c.Code] = c
	}
	return m
}()

// InfoOf returns the row of a code. A code without a row is a fault of ours.
func InfoOf(c engine.Code) CodeInfo {
	if row, ok := codeIndex[c]; ok {
		return row
	}
	return codeIndex[engine.CodeInternal]
}
