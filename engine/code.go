package engine

// Code is the stable name of an error, for programs. The edge's one table gives
// each code its HTTP status and says whether trying again can help.
type Code string

// Codes of what is refused before a task runs.
const (
	CodeInvalidRequest       Code = "invalid_request"
	CodeUnauthorized         Code = "unauthorized"
	CodePlanRequired         Code = "plan_required"
	CodeForeignWorker        Code = "foreign_worker"
	CodeSessionLimit         Code = "session_limit"
	CodeNoWorkerAvailable    Code = "no_worker_available"
	CodeTaskTimeout          Code = "task_timeout"
	CodeWorkerBusy           Code = "worker_busy"
	CodeWorkerReserved       Code = "worker_reserved"
	CodeWorkerOffline        Code = "worker_offline"
	CodeSessionAttached      Code = "session_attached"
	CodeSessionShared        Code = "session_shared"
	CodeSessionElsewhere     Code = "session_elsewhere"
	CodeSessionMismatch      Code = "session_mismatch"
	CodeDailyLimit           Code = "daily_limit"
	CodeTooManyWaiting       Code = "too_many_waiting"
	CodeQueueFull            Code = "queue_full"
	CodeScheduleLimit        Code = "schedule_limit"
	CodeQueueUnavailable     Code = "queue_unavailable"
	CodeNoticesUnavailable   Code = "notices_unavailable"
	CodeRateLimited          Code = "rate_limited"
	CodeTaskNotFound         Code = "task_not_found"
	CodeNotFound             Code = "not_found"
	CodeMethodNotAllowed     Code = "method_not_allowed"
	CodeUnsupportedMediaType Code = "unsupported_media_type"
	CodePayloadTooLarge      Code = "payload_too_large"
	CodeIdempotencyMismatch  Code = "idempotency_mismatch"
	CodeDraining             Code = "draining"
	CodeStorageQuota         Code = "storage_quota"
	CodeStorageFull          Code = "storage_full"
	CodeStorageUnwritable    Code = "storage_unwritable"
	CodeUnreadable           Code = "unreadable"
	CodeInternal             Code = "internal"
	CodeProfileBusy          Code = "profile_busy"
	CodeProfileNotFound      Code = "profile_not_found"
)

// Codes of how a task ended when it did not end by itself.
const (
	CodeBrowserCrashed Code = "browser_crashed"
	CodeInterrupted    Code = "interrupted"
	CodeCancelled      Code = "cancelled"
	CodeWorkerLost     Code = "worker_lost"
	CodeNoQuorum       Code = "no_quorum"
	CodeExpired        Code = "expired"
)

// Codes of failed actions.
const (
	CodeElementNotFound  Code = "element_not_found"
	CodeElementCovered   Code = "element_covered"
	CodeElementGone      Code = "element_gone"
	CodeNavigationFailed Code = "navigation_failed"
	CodeScriptError      Code = "script_error"
	CodeTimeout          Code = "timeout"
	CodeInvalidValue     Code = "invalid_value"
	CodeEgressQuota      Code = "egress_quota"
	// CodeSiteNotAllowed: a page went, or was sent, to a site that config.sites does not name.
	CodeSiteNotAllowed  Code = "site_not_allowed"
	CodeAssertionFailed Code = "assertion_failed"
	CodeStepLimit       Code = "step_limit"
)
