package http

import (
	"fmt"

	"troupe/engine"
	"troupe/http/answer"
)

func init() {
	const tag = "Notices"
	notice := param{"noticeId", "path", "The notice. Receivers get it as `webhook-id`.", `{"type":"string"}`, true}
	endpoint := param{"endpointId", "path", "The endpoint.", `{"type":"string"}`, true}
	none := []engine.Code{engine.CodeNoticesUnavailable}
	one := append(none, engine.CodeNotFound)
	empty := `{"type":"object"}`
	operations = append(operations,
		operation{
			method: "get", path: noticesPath, id: "listNotices", tag: tag,
			summary: "List notices", doc: "Those that were delivered or given up, the newest first, or those that wait, the oldest first.",
			params: []param{{"limit", "query", "How many.", fmt.Sprintf(`{"type":"integer","minimum":1,"maximum":%d,"default":%d}`, maxRecent, answer.DefaultRecent), false},
				{"status", "query", "Which notices.", `{"enum":["waiting","ended"],"default":"ended"}`, false},
				{"cursor", "query", "`next` of the answer with the part before.", `{"type":"string"}`, false}},
			answers: []reply{{200, "The notices of the account.", "", []any{noticeList{}}}},
			codes:   append(none, engine.CodeInvalidRequest),
		},
		operation{
			method: "get", path: noticesPath + "/{noticeId}", id: "getNotice", tag: tag,
			summary: "Get a notice", doc: "What became of it, with its last attempts.",
			params: []param{notice}, answers: []reply{{200, "The notice.", "", []any{noticeAnswer{}}}}, codes: one,
		},
		operation{
			method: "post", path: noticesPath + "/{noticeId}/redeliver", id: "redeliver", tag: tag, body: empty,
			summary: "Send a notice now", doc: "One that waits for its next attempt goes at once. Any other is sent once more, with the same identifier.",
			params: []param{notice}, answers: []reply{{200, "The notice, which waits.", "", []any{noticeAnswer{}}}}, codes: append(one, bodyCodes...),
		},
		operation{
			method: "get", path: endpointsPath, id: "listEndpoints", tag: tag,
			summary: "List endpoints", doc: "The receivers that the account has named, and those of its tasks and batches that are switched off.",
			answers: []reply{{200, "The endpoints.", "", []any{endpointList{}}}}, codes: none,
		},
		operation{
			method: "post", path: endpointsPath, id: "putEndpoint", tag: tag, body: engine.ReceiverSchema(engine.NotifyAccount),
			summary: "Name an endpoint", doc: "It is told of the ends of all tasks with `async` or `queue`, and of all batches. The same URL replaces the endpoint.",
			answers: []reply{{200, "The endpoint.", "", []any{endpointAnswer{}}}}, codes: append(none, bodyCodes...),
		},
		operation{
			method: "post", path: endpointsPath + "/{endpointId}/enable", id: "enableEndpoint", tag: tag, body: empty,
			summary: "Switch an endpoint on again", doc: "For one that was switched off after days without success.",
			params: []param{endpoint}, answers: []reply{{200, "The endpoint.", "", []any{endpointAnswer{}}}}, codes: append(one, bodyCodes...),
		},
		operation{
			method: "delete", path: endpointsPath + "/{endpointId}", id: "removeEndpoint", tag: tag,
			summary: "Remove an endpoint", doc: "Notices that wait for it are still delivered.",
			params: []param{endpoint}, answers: []reply{{200, "The endpoint that was removed.", "", []any{endpointAnswer{}}}}, codes: one,
		},
		operation{
			method: "get", path: secretPath, id: "noticeSecret", tag: tag,
			summary: "Get the secret of notices", doc: "Receivers verify the signature with it. The first request makes it.",
			answers: []reply{{200, "The secret.", "", []any{secretAnswer{}}}}, codes: none,
		},
		operation{
			method: "post", path: secretPath + "/rotate", id: "rotateNoticeSecret", tag: tag, body: empty,
			summary: "Make another secret", doc: "The previous one signs as well for 24 hours.",
			answers: []reply{{200, "The new secret.", "", []any{secretAnswer{}}}}, codes: append(none, bodyCodes...),
		},
	)
}
