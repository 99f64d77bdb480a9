package answer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
)

// Refusal is an error as an answer: why a request was not carried out.
type Refusal struct {
	Success   bool         `json:"success"`
	Error     string       `json:"error"`
	Code      engine.Code  `json:"code"`
	Retryable bool         `json:"retryable"`
	Details   []lang.Fault `json:"details,omitempty"`
	Position  int          `json:"position,omitempty"`
	TaskID    string       `json:"taskId,omitempty"` // of the start that was refused: the log names it
	Hint      string       `json:"hint,omitempty"`   // what a client can do about it

	RetryAfter time.Duration `json:"-"` // Retry-After; zero for the code's own
}

// Refuse makes the refusal of a code with its text from the table.
func Refuse(c engine.Code) *Refusal { return RefuseText(c, "") }

// RefuseText makes a refusal that says more than the table does.
func RefuseText(c engine.Code, text string) *Refusal {
	row := InfoOf(c)
	if text == "" {
		text = row.Text
	}
	return &Refusal{Error: text, Code: row.Code, Retryable: row.Retryable, Hint: hints[row.Code]}
}

// hints say what to do where the sentence, which clients match on, does not.
var hints = map[engine.Code]string{
	engine.CodeNoWorkerAvailable: fmt.Sprintf("Send the request again after Retry-After, or with queueTimeout (milliseconds, at most %d): then it waits until a worker is free", engine.Millis(engine.MaxQueueTimeout)),
}

// RefuseInvalid makes the 400 that names every fault of a request. Its sentence
// is the first of them, with its place: many clients show nothing else.
func RefuseInvalid(faults ...lang.Fault) *Refusal {
	r := Refuse(engine.CodeInvalidRequest)
	if len(faults) > 0 {
		r.Error, r.Details = faults[0].String(), faults
		for _, f := range faults {
			r.Hint = cmp.Or(r.Hint, f.Hint)
		}
	}
	return r
}

// RefuseBy turns a refusal of the actors into one of ours.
func RefuseBy(a *api.Refusal) *Refusal {
	r := RefuseText(a.Code, a.Text)
	r.RetryAfter, r.Position = a.RetryAfter, a.Position
	return r
}

// Send writes the refusal as the answer.
func (r *Refusal) Send(ctx *fasthttp.RequestCtx) {
	row := InfoOf(r.Code)
	after := r.RetryAfter
	if after <= 0 {
		after = row.After
	}
	if row.Retryable && after > 0 {
		seconds := int64(math.Ceil(after.Seconds()))
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(seconds, 10))
	}
	if row.Status == fasthttp.StatusUnauthorized {
		ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, "Bearer")
	}
	status := row.Status
	if r.Code == engine.CodeSiteNotAllowed { // of a task it is a result, and of a request a refusal
		status = fasthttp.StatusForbidden
	}
	SendJSON(ctx, status, r)
}

// SendJSON writes v as the answer. Text goes out as it is: browsers never
// interpret these answers, so nothing is escaped for HTML.
func SendJSON(ctx *fasthttp.RequestCtx, status int, v any) {
	ctx.Response.ResetBody()
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json; charset=utf-8")
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	ctx.Response.Header.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	enc := json.NewEncoder(ctx.Response.BodyWriter())
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Only a RawMessage that is no JSON gets here: recovered, logged and
		// answered as a 500 like every other fault of ours.
		panic(err)
	}
}
