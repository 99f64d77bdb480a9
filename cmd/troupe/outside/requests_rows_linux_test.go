package outside_test

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
)

var (
	onlyRow     = flag.String("row", "", "the rows of TestRequestsKeepTheirBudgets that are tried, as a regular expression; empty: all")
	showWeights = flag.Bool("weights", false, "whether TestRequestsKeepTheirBudgets shows what each way of a row has taken")
)

// largest is a row of the table: the largest request and the largest answer of a route of the API document
// (by its operationId) or of a tool of models ("mcp TOOL", and what it does). Behind a name
// may stand which case of it the row has, in parentheses.
type largest struct {
	of      string
	room    string                 // the budget of docs/security.md
	as      string                 // whose token is sent: an account's; "operator"; "nobody"
	prepare func(*besieged)        // makes what outlives the service
	path    func(*besieged) string // nil: as the document has it
	kind    string                 // of the body; empty: JSON
	body    func(*besieged) string
	headers []string
	command bool            // an operator command that changes something
	want    int             // the status that some are answered with; 0: 200
	endless bool            // the answer has no end
	after   func(*besieged) // puts the service right again behind each way
	end     func(*besieged) // and behind the row
	excess  string          // why it is beyond its budget today. The row fails when it is not
}

// Budgets of docs/security.md.
const (
	ofFiles   = "files"   // what is sent from the disk
	aFew      = "few"     // what is small, and the same for everybody or nearly
	anAccount = "account" // of one account
	ofWrites  = "writes"  // of one account, and kept
)

// rows are all rows, those that take least first: what one leaves to the system is not taken
// for what the next one has.
func (k *besieged) rows() []largest {
	order := func(id, body string) largest {
		return largest{of: id, room: anAccount, as: "operator", body: says(body, largestJSON)}
	}
	change := func(id, body string) largest { r := order(id, body); r.command = true; return r }
	resume := func(k *besieged) {
		if status := k.ask("POST", "/v1/operator/resume", k.op, "{}", nil); status != 200 {
			k.t.Errorf("the service is not resumed: %d", status)
		}
	}
	drain := change("drainService", "{}")
	drain.after = resume
	missing := func(r largest) largest { r.want = 409; return r }
	open := func(id, path string) largest {
		r := largest{of: id, room: aFew, as: "nobody"}
		if path != "" {
			r.path = at(path)
		}
		return r
	}
	none := func(method, id, path string) largest {
		r := largest{of: id, room: aFew, path: at(path), want: 404}
		if method == "POST" {
			r.room, r.body = anAccount, says("{}", largestJSON)
		}
		return r
	}
	batch := func(k *besieged) { k.batch() }
	all := []largest{
		// what everybody gets
		open("page", ""), open("pageFile", "/app/main.js"), open("docs", ""), open("searchDocs", "/docs/search?q=a+task+that+opens+a+page+and+clicks"), open("documentInFolder", "/docs/actions/click"),
		open("document", "/docs/api"), open("health", ""), open("livePage", ""), open("llms", ""), open("openapi", ""), open("ready", ""), open("capacity", "/v1/capacity?format=text"),
		{of: "getFile", room: ofFiles, as: "nobody", prepare: func(k *besieged) { k.file() }, path: (*besieged).file},

		// what is small
		{of: "cluster", room: aFew, want: 404}, {of: "listWorkers", room: aFew}, {of: "listSessions", room: aFew}, {of: "usage", room: aFew}, {of: "listOwnTokens", room: aFew},
		none("DELETE", "deleteFlow", "/v1/flows/none"), none("DELETE", "deleteProfile", "/v1/profiles/none"), none("DELETE", "cancelTask", "/v1/tasks/none"), none("DELETE", "deleteSchedule", "/v1/schedules/none"),
		none("DELETE", "removeEndpoint", "/v1/endpoints/none"), none("DELETE", "revokeLink", "/v1/links/none"), none("DELETE", "revokeTicket", "/v1/tickets/none"),
		none("GET", "getRun", "/v1/runs/none"), none("DELETE", "deleteRun", "/v1/runs/none"), none("POST", "repeatRun", "/v1/runs/none/again"),
		{of: "deleteRuns", room: aFew, path: at("/v1/runs?label=none")},
		none("GET", "getSession", "/v1/sessions/none"), none("DELETE", "closeSession", "/v1/sessions/none"), none("POST", "saveSession", "/v1/sessions/none/save"),
		{of: "giveSessionFiles", room: anAccount, path: at("/v1/sessions/none/files?name=a"), want: 404, kind: "application/octet-stream", body: says("{}", largestJSON)}, none("GET", "listSessionFiles", "/v1/sessions/none/files"), none("DELETE", "removeSessionFile", "/v1/sessions/none/files?name=a"),
		none("GET", "attachToSession", "/v1/sessions/none/cdp"), none("GET", "attachVersion", "/v1/sessions/none/cdp/json/version"), none("GET", "attachList", "/v1/sessions/none/cdp/json/list"), none("POST", "issueSessionTicket", "/v1/sessions/none/tickets"),
		none("POST", "retryTask", "/v1/tasks/none/retry"), none("POST", "redeliver", "/v1/notices/none/redeliver"), none("POST", "enableEndpoint", "/v1/endpoints/none/enable"), none("POST", "runSchedule", "/v1/schedules/none/run"),
		{of: "pauseBatch", room: anAccount, prepare: func(k *besieged) { k.paused("pause") }, path: func(k *besieged) string { return "/v1/batches/" + k.paused("pause") + "/pause" }, body: says("{}", largestJSON)},
		{of: "resumeBatch", room: anAccount, prepare: func(k *besieged) { k.paused("resume") }, path: func(k *besieged) string { return "/v1/batches/" + k.paused("resume") + "/resume" }, body: says("{}", largestJSON)},
		{of: "cancelBatch", room: anAccount, prepare: func(k *besieged) { k.paused("cancel") }, path: func(k *besieged) string { return "/v1/batches/" + k.paused("cancel") + "/cancel" }, body: says("{}", largestJSON)},
		{of: "noticeSecret", room: aFew},
		{of: "rotateNoticeSecret", room: anAccount, body: says("{}", largestJSON)},
		{of: "watch", room: aFew, path: func(k *besieged) string { return "/v1/live/" + k.session() }, end: (*besieged).closeSessions, endless: true, want: 101,
			headers: []string{"Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}},
		missing(change("deleteAccount", `{"account":"none"}`)), change("createAccount", `{"name":"more","plan":"free"}`), change("setPlan", `{"account":"ada","plan":"free"}`),
		change("createToken", `{"account":"ada"}`), missing(change("revokeToken", `{"id":"none"}`)), missing(change("addWorker", `{"name":"more","account":"none"}`)), missing(change("drainWorker", `{"worker":"none"}`)), missing(change("removeWorker", `{"worker":"none","graceMs":0}`)),
		missing(change("resumeWorker", `{"worker":"none"}`)), change("resumeService", "{}"), drain,
		order("listAccounts", "{}"), order("countService", "{}"), missing(order("showCluster", "{}")), order("listTokens", "{}"), order("surveyWorkers", "{}"),

		// what an account sends, or is answered
		{of: "validate", room: anAccount, body: func(*besieged) string { return task("", largestTask) }},
		{of: "validate (runs flows)", room: anAccount, prepare: (*besieged).flows, body: func(*besieged) string {
			var runs []string
			for i := range 4 {
				runs = append(runs, fmt.Sprintf(`{"run":"large-%d"}`, i))
			}
			return `{"actions":[` + strings.Join(runs, ",") + `]}`
		}},
		{of: "execute", room: anAccount, body: func(*besieged) string { return task(`,"queueTimeout":120000`, largestTask) }},
		{of: "execute (large answers)", room: anAccount, body: says(repeated, largestTask)},
		{of: "execute (a repeated key)", room: anAccount, prepare: func(k *besieged) { k.key() }, headers: []string{"Idempotency-Key: once"}, body: says(repeated, 0)},
		{of: "executeAlias", room: anAccount, body: func(*besieged) string { return task(`,"queueTimeout":120000`, largestTask) }},
		{of: "getResult", room: anAccount, prepare: func(k *besieged) { k.result() }, path: func(k *besieged) string { return "/v1/get-result?taskId=" + k.result() }},
		{of: "getResult (waiting)", room: anAccount, prepare: func(k *besieged) { k.result() }, path: func(k *besieged) string { return "/v1/get-result?wait=60000&taskId=" + k.result() }},
		{of: "followTask", room: anAccount, prepare: func(k *besieged) { k.result() }, path: func(k *besieged) string { return "/v1/tasks/" + k.result() + "/events" }, endless: true},
		{of: "followAccount", room: anAccount, path: func(k *besieged) string { k.recent(); return "/v1/events" }, endless: true},
		{of: "listTasks", room: anAccount, path: func(k *besieged) string { k.recent(); return "/v1/tasks?limit=100" }},
		{of: "listRuns", room: anAccount, path: func(k *besieged) string { k.recent(); return "/v1/runs?limit=1000" }},
		{of: "usage (by label)", room: anAccount, path: func(k *besieged) string { k.recent(); return "/v1/usage?by=label" }},
		{of: "countRuns", room: anAccount, path: func(k *besieged) string { k.recent(); return "/v1/runs/counts" }},
		{of: "listTasks (failed)", room: anAccount, path: at("/v1/tasks?status=dead&limit=100")},
		{of: "getTask", room: anAccount, path: func(k *besieged) string { return "/v1/tasks/" + k.recent() }},
		{of: "listBatches", room: anAccount, prepare: batch, path: at("/v1/batches?limit=100")},
		{of: "getBatch", room: anAccount, prepare: batch, path: func(k *besieged) string { return "/v1/batches/" + k.batch() }},
		{of: "getBatch (waiting)", room: anAccount, prepare: batch, path: func(k *besieged) string { return "/v1/batches/" + k.batch() + "?wait=60000" }},
		{of: "batchResults", room: anAccount, prepare: batch, path: func(k *besieged) string { return "/v1/batches/" + k.batch() + "/results" }},
		{of: "batchFailed", room: anAccount, prepare: func(k *besieged) { k.failed() }, path: func(k *besieged) string { return "/v1/batches/" + k.failed() + "/failed" }},
		{of: "batchDropped", room: anAccount, prepare: func(k *besieged) { k.dropped() }, path: func(k *besieged) string { return "/v1/batches/" + k.dropped() + "/dropped" }},
		{of: "listEndpoints", room: anAccount, prepare: func(k *besieged) { k.endpoint() }},
		{of: "listNotices", room: anAccount, prepare: func(k *besieged) { k.notice() }, path: at("/v1/notices?status=waiting&limit=100")},
		{of: "getNotice", room: anAccount, prepare: func(k *besieged) { k.notice() }, path: func(k *besieged) string { return "/v1/notices/" + k.notice() }},
		{of: "listFlows", room: anAccount, prepare: (*besieged).flows},
		{of: "getFlow", room: anAccount, prepare: (*besieged).flows, path: at("/v1/flows/large-0")},
		{of: "listProfiles", room: anAccount, prepare: (*besieged).profiles},
		{of: "getProfile", room: anAccount, prepare: (*besieged).profiles, path: at("/v1/profiles/large-0")},
		{of: "listSchedules", room: anAccount, prepare: (*besieged).schedules},
		{of: "getSchedule", room: anAccount, prepare: (*besieged).schedules, path: at("/v1/schedules/large-0?runs=100")},
		{of: "pauseSchedule", room: anAccount, prepare: (*besieged).schedules, path: at("/v1/schedules/large-1/pause"), body: says("{}", largestJSON)},
		{of: "resumeSchedule", room: anAccount, prepare: (*besieged).schedules, path: at("/v1/schedules/large-2/resume"), body: says("{}", largestJSON)},
		{of: "listLinks", room: anAccount},
		{of: "mcp", room: anAccount, body: says(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, largestTask)},
		{of: "mcp run", room: anAccount, body: func(*besieged) string {
			return tool("run", `{"actions":[{"set":{"n":`+numbers(largestTask)+`}}]}`)(nil)
		}},
		{of: "mcp look", room: anAccount, prepare: func(k *besieged) { k.result() }, body: func(k *besieged) string { return tool("look", `{"task":"`+k.result()+`","maxTokens":200000}`)(nil) }},
		{of: "mcp actions", room: anAccount, body: tool("actions", `{"names":["click","fill","open","config","extract","if","loop","find","wait","upload"]}`)},
		{of: "mcp validate", room: anAccount, body: func(*besieged) string {
			return tool("validate", `{"actions":[{"set":{"n":`+numbers(largestTask)+`}}]}`)(nil)
		}},
		{of: "mcp session open", room: anAccount, body: tool("session", `{"do":"open"}`), after: (*besieged).closeSessions},
		{of: "mcp session list", room: anAccount, body: tool("session", `{"do":"list"}`)},
		{of: "mcp session close", room: anAccount, body: tool("session", `{"do":"close","id":"none"}`)},
		{of: "mcp session cancel", room: anAccount, body: tool("session", `{"do":"cancel","id":"none"}`)},
		{of: "mcp flow save", room: anAccount, body: tool("flow", `{"do":"save","session":"none","name":"none"}`)},
		{of: "mcp flow list", room: anAccount, prepare: (*besieged).flows, body: says(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"flow","arguments":{"do":"list"}}}`, largestJSON)},
		{of: "mcp flow run", room: anAccount, prepare: (*besieged).flows, body: tool("flow", `{"do":"run","name":"large-0"}`)},

		// what an account has kept
		{of: "issueLink", room: ofWrites, end: (*besieged).closeSessions, path: at("/v1/links"), body: func(k *besieged) string {
			return padded(`{"object":"`+k.session()+`","label":"`+strings.Repeat("x", 100)+`"}`, largestJSON)
		}},
		{of: "openSession", room: ofWrites, want: 403 /* most: the account has as many as it may */, end: (*besieged).closeSessions, path: at("/v1/sessions"), body: says(`{"queueTimeout":120000}`, largestJSON)},
		{of: "issueTicket", room: ofWrites, body: func(k *besieged) string { return padded(`{"object":"account"}`, largestJSON) }},
		{of: "putEndpoint", room: ofWrites, want: 400 /* most: an account has 20 */, body: says(`{"url":"http://demo.troupe.test/hook/`+strings.Repeat("x", 1900)+`"}`, largestJSON)},
		{of: "putFlow", room: ofWrites, path: at("/v1/flows/more"), body: func(*besieged) string { return task("", largestFlow-64) }},
		{of: "putProfile", room: ofWrites, path: at("/v1/profiles/more"), body: func(*besieged) string { return state() }},
		{of: "createBatch", room: ofWrites, want: 202, body: func(*besieged) string { return `{"task":` + task("", 900_000) + `,"items":[{"n":1}]}` }},
		{of: "createBatch (in lines)", room: ofWrites, want: 202, kind: "application/x-ndjson", body: func(*besieged) string { return lines(4) }},
		{of: "createSchedule", room: ofWrites, want: 201, body: func(*besieged) string { return `{"paused":true,"every":3600000,"task":` + task("", 900_000) + `}` }},
		{of: "retryBatch", room: ofWrites, prepare: func(k *besieged) { k.failed() }, path: func(k *besieged) string { return "/v1/batches/" + k.failed() + "/retry" }, body: says("{}", largestJSON)},
		{of: "putSchedule", room: ofWrites, prepare: (*besieged).schedules, path: at("/v1/schedules/large-3"), body: func(*besieged) string { return `{"every":3600000,"task":` + task("", 900_000) + `}` }},
	}
	slices.SortStableFunc(all, func(a, b largest) int { return cmp.Compare(weights[a.room], weights[b.room]) })
	return all
}

// weights are the budgets, those that take least first.
var weights = map[string]int{ofFiles: 1, aFew: 0, anAccount: 2, ofWrites: 3}
