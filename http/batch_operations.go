package http

import (
	"fmt"

	"troupe/engine"
	"troupe/http/answer"
)

var (
	batchParam = param{"batchId", "path", "The batch, as its start was answered.", `{"type":"string"}`, true}
	batchCodes = []engine.Code{engine.CodeNotFound, engine.CodeQueueUnavailable}
	streamDoc  = reply{200, "One JSON object in each line.", ndjson[0], nil}
)

// batchBody is the schema of a batch. As lines, the first one has all but the items.
var batchBody = fmt.Sprintf(`{"type":"object","required":["task","items"],"additionalProperties":false,"properties":{
"task":{"$ref":"%sTask"},
"name":{"type":"string","minLength":1,"maxLength":%d},
"notify":%s,
"items":{"type":"array","minItems":1,"items":{"type":"object"}}}}`, components, maxBatchName, engine.NotifySchema(engine.NotifyBatch))

func init() {
	const tag = "Batches"
	key := param{keyHeader, "header", "Makes the request safe to repeat: while the batch is kept, the same key gets that batch.", keySchema, false}
	operations = append(operations,
		operation{
			method: "post", path: batchesPath, id: "createBatch", tag: tag, body: batchBody, lines: "The first line is an object with `task`, `name` and `notify`, each further line an item.",
			summary: "Run a task for many items",
			doc:     "Queues a task for each item. `${item.name}` in the task reads a field of the item. As JSON the body has at most 1 MiB, as lines any length.",
			params:  []param{key},
			answers: []reply{{202, "The batch is on the disk.", "", []any{batchAnswer{}}}},
			codes:   append([]engine.Code{engine.CodePlanRequired, engine.CodeQueueFull, engine.CodeQueueUnavailable, engine.CodeNoticesUnavailable, engine.CodeTooManyWaiting}, bodyCodes...),
		},
		operation{
			method: "get", path: batchesPath, id: "listBatches", tag: tag,
			summary: "List batches", doc: "The newest first.",
			params: []param{{"limit", "query", "How many.", fmt.Sprintf(`{"type":"integer","minimum":1,"maximum":%d,"default":%d}`, maxRecent, answer.DefaultRecent), false},
				{"cursor", "query", "`next` of the answer with the part before.", `{"type":"string"}`, false}},
			answers: []reply{{200, "The batches of the account.", "", []any{batchList{}}}},
			codes:   []engine.Code{engine.CodeInvalidRequest, engine.CodeQueueUnavailable},
		},
		operation{
			method: "get", path: batchesPath + "/{batchId}", id: "getBatch", tag: tag,
			summary: "Get the progress of a batch", doc: "Counts by state, how fast it goes, and each code that items failed with.",
			params:  []param{batchParam, {"wait", "query", "How long the answer may wait for the end of the batch, in milliseconds.", `{"type":"integer","minimum":0,"maximum":60000,"default":0}`, false}},
			answers: []reply{{200, "The batch.", "", []any{batchAnswer{}}}}, codes: append([]engine.Code{engine.CodeInvalidRequest, engine.CodeTooManyWaiting}, batchCodes...),
		},
		operation{
			method: "get", path: batchesPath + "/{batchId}/results", id: "batchResults", tag: tag,
			summary: "Stream the results of a batch",
			doc:     "What has ended by now, one result in each line, with the `cursor` behind which the rest follows.",
			params: []param{batchParam,
				{"order", "query", "As the items ended, or their own order up to the first one that has not ended.", `{"enum":["ended","items"],"default":"ended"}`, false},
				{"cursor", "query", "`cursor` of the last line that you have.", `{"type":"string"}`, false},
				{"limit", "query", "How many lines.", fmt.Sprintf(`{"type":"integer","minimum":1,"maximum":%d}`, maxResults), false}},
			answers: []reply{streamDoc}, codes: append([]engine.Code{engine.CodeInvalidRequest, engine.CodeTooManyWaiting}, batchCodes...),
		},
		operation{
			method: "get", path: batchesPath + "/{batchId}/failed", id: "batchFailed", tag: tag,
			summary: "Stream the failed items of a batch", doc: "The items that failed, one in each line, as another batch takes them.",
			params: []param{batchParam}, answers: []reply{streamDoc}, codes: append([]engine.Code{engine.CodeTooManyWaiting}, batchCodes...),
		},
		operation{
			method: "get", path: batchesPath + "/{batchId}/dropped", id: "batchDropped", tag: tag,
			summary: "Stream the items of a cancelled batch that did not begin", doc: "Once the batch has ended: one in each line, as another batch takes them.",
			params: []param{batchParam}, answers: []reply{streamDoc}, codes: append([]engine.Code{engine.CodeTooManyWaiting}, batchCodes...),
		},
	)
	for _, c := range [][3]string{
		{"pause", "Pause a batch", "No more of its items begin. Those that run go on."},
		{"resume", "Resume a batch", "Its items begin again."},
		{"cancel", "Cancel a batch", "For good: its tasks that run are cancelled, and no further items begin."},
		{"retry", "Retry the failed items of a batch", "Plays the items again that have failed until now."},
	} {
		operations = append(operations, operation{
			method: "post", path: batchesPath + "/{batchId}/" + c[0], id: c[0] + "Batch", tag: tag, summary: c[1], doc: c[2],
			params: []param{batchParam}, answers: []reply{{200, "The batch.", "", []any{batchAnswer{}}}}, codes: append(batchCodes[:len(batchCodes):len(batchCodes)], bodyCodes...),
		})
	}
}
