package http

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
)

// refusal is an error as an answer: why a request was not carried out.
type refusal struct {
	Success   bool         `json:"success"`
	Error     string       `json:"error"`
	Code      engine.Code  `json:"code"`
	Retryable bool         `json:"retryable"`
	Details   []lang.Fault `json:"details,omitempty"`
	Position  int          `json:"position,omitempty"`

	after time.Duration // Retry-After; zero for the code's own
}

// refuse makes the refusal of a code with its text from the table.
func refuse(c engine.Code) *refusal { return refuseText(c, "") }

// refuseText makes a refusal that says more than the table does.
func refuseText(c engine.Code, text string) *refusal {
	row := infoOf(c)
	if text == "" {
		text = row.Text
	}
	return &refusal{Error: text, Code: row.Code, Retryable: row.Retryable}
}

// refuseInvalid makes the 400 that names every fault of a request. Its sentence
// is the first of them, with its place: many clients show nothing else.
func refuseInvalid(faults ...lang.Fault) *refusal {
	r := refuse(engine.CodeInvalidRequest)
	if len(faults) > 0 {
		r.Error, r.Details = faults[0].String(), faults
	}
	return r
}

// refuseBy turns a refusal of the actors into one of ours.
func refuseBy(a *api.Refusal) *refusal {
	r := refuseText(a.Code, a.Text)
	r.after, r.Position = a.RetryAfter, a.Position
	return r
}

// send writes the refusal as the answer.
func (r *refusal) send(ctx *fasthttp.RequestCtx) {
	row := infoOf(r.Code)
	after := r.after
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
	sendJSON(ctx, row.Status, r)
}

// sendJSON writes v as the answer. Text goes out as it is: browsers never
// interpret these answers, so nothing is escaped for HTML.
func sendJSON(ctx *fasthttp.RequestCtx, status int, v any) {
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
