package http

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/actors/runs"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/persistence"
)

// Bounds of a query for runs.
const (
	maxRunList   = 1000 // in one part
	maxRunText   = 2048 // bytes of a parameter
	maxRunWords  = 10
	maxRunFields = 10 // of metadata
)

var (
	runStates  = []string{string(api.TaskComplete), string(api.TaskFailed)}
	runOrigins = []string{string(api.OriginRequest), string(api.OriginMCP), string(api.OriginBatch), string(api.OriginSchedule)}
	runOrders  = []string{"newest", "oldest"}
	// runFilters are the parameters that select runs, beside those that begin with metadata.
	runFilters = []string{"state", "code", "label", "origin", "address", "token", "of", "from", "to", "q"}
)

const metadataParam = "metadata."

// readRunQuery reads which runs a request is about. What no parameter is called is a fault: a
// filter with a wrong name would select all.
func readRunQuery(ctx *fasthttp.RequestCtx, account persistence.Account, more ...string) (q runs.Query, filters int, faults []lang.Fault) {
	q.Account, q.Metadata = account.ID, map[string]string{}
	known := slices.Concat(runFilters, more)
	fault := func(name, format string, a ...any) {
		faults = append(faults, lang.Fault{Path: "/" + name, Message: fmt.Sprintf(format, a...)})
	}
	seen := map[string]bool{}
	for k, v := range ctx.QueryArgs().All() {
		name, value := string(k), string(v)
		if slices.Contains(runFilters, name) || strings.HasPrefix(name, metadataParam) {
			filters++
		}
		switch {
		case seen[name]:
			fault(lang.Short(name, 100), "comes twice: send it once")
			continue
		case len(value) > maxRunText:
			fault(lang.Short(name, 100), "has %d bytes: want at most %d", len(value), maxRunText)
			continue
		case strings.HasPrefix(name, metadataParam):
			key := strings.TrimPrefix(name, metadataParam)
			if !engine.IsMetadataKey(key) {
				fault(lang.Short(name, 100), "want metadata.KEY, with a key that metadata can have")
			} else if len(q.Metadata) == maxRunFields {
				fault(name, "want at most %d fields of metadata", maxRunFields)
			}
			q.Metadata[key] = value
		case !slices.Contains(known, name):
			fault(lang.Short(name, 100), "is no parameter of this request: want %s or metadata.KEY%s", strings.Join(known, ", "), lang.DidYouMean(name, known))
		}
		seen[name] = true
	}
	text := func(name string) string { return string(ctx.QueryArgs().Peek(name)) }
	oneOf := func(name string, words []string) string {
		s := text(name)
		if s != "" && !slices.Contains(words, s) {
			fault(name, "want %s, not %q%s", strings.Join(words, " or "), lang.Short(s, 100), lang.DidYouMean(s, words))
		}
		return s
	}
	at := func(name string) (t time.Time) {
		if s := text(name); s != "" {
			var err error
			if t, err = time.Parse(time.RFC3339, s); err != nil {
				if t, err = time.Parse(time.DateOnly, s); err != nil {
					fault(name, "want a time such as 2026-11-29T07:00:00Z, or a day such as 2026-11-29, not %q", lang.Short(s, 100))
				}
			}
		}
		return t
	}
	q.State, q.Origin = api.TaskStatus(oneOf("state", runStates)), api.Origin(oneOf("origin", runOrigins))
	q.Label, q.Address, q.Token, q.Of = text("label"), text("address"), text("token"), text("of")
	q.From, q.To = at("from"), at("to")
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		fault("to", "want a time after from")
	}
	if q.Token != "" && !strings.HasPrefix(q.Token, "tok_") {
		fault("token", "want the identifier of a token, as GET /v1/tokens lists it: it begins with tok_")
	}
	if s := text("code"); s != "" {
		for _, c := range strings.Split(s, ",") {
			q.Codes = append(q.Codes, engine.Code(strings.TrimSpace(c)))
		}
	}
	if q.Words = strings.Fields(text("q")); len(q.Words) > maxRunWords {
		fault("q", "has %d words: want at most %d", len(q.Words), maxRunWords)
	}
	if slices.Contains(more, "order") {
		q.Oldest = oneOf("order", runOrders) == "oldest"
	}
	return q, filters, faults
}
