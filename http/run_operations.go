package http

import (
	"fmt"

	"troupe/engine"
	"troupe/http/answer"
)

var runParam = param{"runId", "path", "The run: the `taskId` of its task.", `{"type":"string"}`, true}

// runFilterParams are the filters of runs.
var runFilterParams = []param{
	{"state", "query", "How the run has ended.", `{"enum":["complete","failed"]}`, false},
	{"code", "query", "What it has failed with: one code, or several with commas between them.", `{"type":"string"}`, false},
	{"label", "query", "The label of the task.", `{"type":"string"}`, false},
	{"metadata.KEY", "query", "The value under a key of the task's metadata.", `{"type":"string"}`, false},
	{"origin", "query", "Where the task came from.", `{"enum":["request","mcp","batch","schedule"]}`, false},
	{"address", "query", "A host, with those below it, or the beginning of an address: of the first page, or of the last one.", `{"type":"string"}`, false},
	{"token", "query", "The identifier of the token of the request.", `{"type":"string"}`, false},
	{"of", "query", "A batch or a schedule.", `{"type":"string"}`, false},
	{"from", "query", "Runs that were asked for at that time or later: a time of RFC 3339, or a day.", `{"type":"string"}`, false},
	{"to", "query", "Runs that were asked for before that time.", `{"type":"string"}`, false},
	{"q", "query", "Words that are all in the texts of the run, whatever their case: label, metadata, addresses, title, error, code, identifiers.", `{"type":"string"}`, false},
	{"cursor", "query", "`next` of the answer with the part before.", `{"type":"string"}`, false},
}

// usageQueryParams are those of the sums of runs.
var usageQueryParams = []param{
	{"from", "query", "The first day, such as 2026-11-01. Default: 90 days are summed up, with today.", `{"type":"string","format":"date"}`, false},
	{"to", "query", "The day after the last one. Default: tomorrow.", `{"type":"string","format":"date"}`, false},
	{"by", "query", "A row for each day, label or token.", `{"enum":["day","label","token"],"default":"day"}`, false},
	{"limit", "query", "How many rows; labels and tokens with most runs come first. All others are one row more.", fmt.Sprintf(`{"type":"integer","minimum":1,"maximum":%d,"default":%d}`, usageRows, usageRows), false},
	{"format", "query", "The form of the answer. Without it the header `Accept` decides.", `{"enum":["json","csv"]}`, false},
}

func init() {
	const tag = "Runs"
	codes := []engine.Code{engine.CodeInvalidRequest, engine.CodeNotFound}
	list := append([]param{
		{"limit", "query", "How many.", fmt.Sprintf(`{"type":"integer","minimum":1,"maximum":%d,"default":%d}`, maxRunList, answer.DefaultRecent), false},
		{"order", "query", "By the time at which the runs were asked for.", `{"enum":["newest","oldest"],"default":"newest"}`, false},
		{"format", "query", "The form of the answer. Without it the header `Accept` decides.", `{"enum":["json","ndjson","csv"]}`, false},
	}, runFilterParams...)
	operations = append(operations,
		operation{
			method: "get", path: runsPath, id: "listRuns", tag: tag,
			summary: "List and search runs", doc: "The tasks that have ended. A part may have fewer runs than `limit`, or none, and a `next` all the same: a search looks at the history for a short time. As lines and as a table, `next` is in the header `X-Next-Cursor`.",
			params: list, answers: []reply{{200, "The runs of the account.", "", []any{runList{}}}, {200, "A run in each line.", ndjson[0], nil}, {200, "A table.", "text/csv", nil}}, codes: codes,
		},
		operation{
			method: "delete", path: runsPath, id: "deleteRuns", tag: tag,
			summary: "Remove runs", doc: "Those that the filters select. With `next`, there may be more.",
			params:  append([]param{{"all", "query", "Has to be true where there is no filter.", `{"type":"boolean"}`, false}}, runFilterParams...),
			answers: []reply{{200, "How many were removed.", "", []any{runRemoved{}}}}, codes: codes,
		},
		operation{
			method: "get", path: runCountsPath, id: "countRuns", tag: tag,
			summary: "Count runs", doc: "By the hour in which they were asked for, and by code. Add the counts of all parts.",
			params: runFilterParams, answers: []reply{{200, "The counts.", "", []any{runCounts{}}}}, codes: codes,
		},
		operation{
			method: "get", path: oneRunPath, id: "getRun", tag: tag,
			summary: "Get a run", doc: "With its request, in which secrets are masked, and with the copy of its result, where one is kept.",
			params: []param{runParam}, answers: []reply{{200, "The run.", "", []any{runAnswer{}}}}, codes: codes[1:],
		},
		operation{
			method: "delete", path: oneRunPath, id: "deleteRun", tag: tag,
			summary: "Remove a run", doc: "Its result and its files stay as long as they would have.",
			params: []param{runParam}, answers: []reply{{200, "It was removed.", "", []any{runRemoved{}}}}, codes: codes[1:],
		},
	)
}

func init() {
	again := operations[0] // that of a task, with the same answers
	again.path, again.id, again.tag, again.task = oneRunPath+"/again", "repeatRun", "Runs", false
	again.summary, again.doc = "Run it again", "Sends the request of the run as a new task. Fields of a task in the body replace those of the request; `with` has values for fields that were masked, by their paths. Files are sent again as `multipart/form-data`. What is not kept and not sent is a 400 that names each field."
	again.body = `{"type":"object","properties":{"with":{"type":"object","description":"Values of fields of the request, by their JSON Pointers."}}}`
	again.params = append([]param{runParam}, again.params...)
	again.codes = append([]engine.Code{engine.CodeNotFound}, again.codes...)
	operations = append(operations, again)
}
