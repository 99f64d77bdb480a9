package http

import (
	"fmt"

	"troupe/engine"
)

// scheduleBody is the schema of a schedule.
func scheduleBody(isNew bool) string {
	paused := ""
	if isNew {
		paused = `"paused":{"type":"boolean","default":false},`
	}
	// What an answer says of a schedule may be sent back.
	echo := func(shape string) string {
		return shape[:len(shape)-1] + `,"description":"As answered. It changes nothing."}`
	}
	paused += `"scheduleId":{"type":"string","minLength":1,"maxLength":128,"pattern":"^[A-Za-z0-9_.:-]+$","description":"The identifier of a new schedule; default: the service gives it one. In a PUT, that of the path: then a schedule is made where there is none with it."},
"status":{"enum":["active","paused"],"description":"As answered. A new schedule with paused begins no runs; otherwise it changes nothing."},
"createdAt":` + echo(`{"type":"string"}`) + `,"changedAt":` + echo(`{"type":"string"}`) + `,"next":` + echo(`{"type":"array","items":{"type":"string"}}`) + `,"waiting":` + echo(`{"type":"integer"}`) + `,
"items":` + echo(`{"type":"integer"}`) + `,"sites":` + echo(`{"type":"array","items":{"type":"string"}}`) + `,"runs":` + echo(`{"type":"array","items":{"type":"object"}}`) + `,`
	return fmt.Sprintf(`{"type":"object","additionalProperties":false,
"allOf":[{"oneOf":[{"required":["cron"]},{"required":["every"]}]},{"oneOf":[{"required":["task"]},{"required":["batch"]}]}],"properties":{%s
"name":{"type":"string","minLength":1,"maxLength":%d},
"cron":{"type":"string","minLength":1,"maxLength":%d,"examples":["0 9 * * 1-5"]},
"every":%s,
"timeZone":{"type":"string","default":"UTC","examples":["Europe/Berlin"]},
"missed":{"enum":["once","skip","all"],"default":"once"},
"overlap":{"enum":["skip","queue","replace"],"default":"skip"},
"jitter":%s,
"task":{"$ref":"%sTask"},
"batch":%s}}`, paused, maxScheduleName, maxCron, everyShape.Schema, jitterShape.Schema, components, batchBody)
}

func init() {
	const tag = "Schedules"
	id := param{"scheduleId", "path", "The schedule, as its start was answered.", `{"type":"string"}`, true}
	codes := []engine.Code{engine.CodeNotFound, engine.CodeQueueUnavailable}
	writes := append([]engine.Code{engine.CodePlanRequired, engine.CodeScheduleLimit, engine.CodeQueueUnavailable, engine.CodeNoticesUnavailable}, bodyCodes...)
	one := []reply{{200, "The schedule.", "", []any{scheduleAnswer{}}}}
	operations = append(operations,
		operation{
			method: "post", path: schedulesPath, id: "createSchedule", tag: tag, body: scheduleBody(true),
			summary: "Run a task at certain times",
			doc:     "Queues a task or a batch at each time of a cron line or an interval. Each time has exactly one run.",
			params:  []param{{keyHeader, "header", "Makes the request safe to repeat: while the schedule is there, the same key with the same content gets it, as it is now.", keySchema, false}},
			answers: []reply{{201, "The schedule.", "", []any{scheduleAnswer{}}}}, codes: append([]engine.Code{engine.CodeIdempotencyMismatch}, writes...),
		},
		operation{
			method: "get", path: schedulesPath, id: "listSchedules", tag: tag,
			summary: "List schedules", doc: "By name, each with its next times and its last run.",
			answers: []reply{{200, "The schedules of the account.", "", []any{scheduleList{}}}}, codes: []engine.Code{engine.CodeQueueUnavailable},
		},
		operation{
			method: "get", path: schedulesPath + "/{scheduleId}", id: "getSchedule", tag: tag,
			summary: "Get a schedule with its last runs", doc: "What it does when, its next times, and what became of the last ones.",
			params:  []param{id, {"runs", "query", "How many of the last runs.", fmt.Sprintf(`{"type":"integer","minimum":1,"maximum":%d,"default":%d}`, maxRuns, shownRuns), false}},
			answers: one, codes: append([]engine.Code{engine.CodeInvalidRequest}, codes...),
		},
		operation{
			method: "put", path: schedulesPath + "/{scheduleId}", id: "putSchedule", tag: tag, body: scheduleBody(false),
			summary: "Change a schedule", doc: "Replaces all of it. Its history stays, and so does whether it is paused. Where there is none with the identifier, a body with scheduleId makes it. The same times again move no run.",
			params: []param{id}, answers: append([]reply{{201, "The schedule, which was not there.", "", []any{scheduleAnswer{}}}}, one...), codes: append([]engine.Code{engine.CodeNotFound}, writes...),
		},
		operation{
			method: "delete", path: schedulesPath + "/{scheduleId}", id: "deleteSchedule", tag: tag,
			summary: "Delete a schedule", doc: "With its history. A run that has begun goes on.",
			params: []param{id}, answers: []reply{{200, "The schedule is gone.", "", []any{scheduleRemoved{}}}}, codes: codes,
		},
	)
	for _, c := range [][3]string{
		{"pause", "Pause a schedule", "It begins no more runs. A run that has begun goes on; those that wait for it are dropped."},
		{"resume", "Resume a schedule", "It goes on with the next time from now. The times of the pause are not missed."},
		{"run", "Run a schedule now", "Begins a run at once, also where it is paused. While the last run goes on, `overlap` decides."},
	} {
		operations = append(operations, operation{
			method: "post", path: schedulesPath + "/{scheduleId}/" + c[0], id: c[0] + "Schedule", tag: tag, summary: c[1], doc: c[2],
			params: []param{id}, answers: one, codes: append([]engine.Code{engine.CodeNotFound, engine.CodeQueueUnavailable, engine.CodeQueueFull}, bodyCodes...),
		})
	}
}
