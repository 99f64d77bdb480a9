package http

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"troupe/engine/lang"
	"troupe/http/answer"
)

// The forms in which runs are listed.
const (
	runsJSON  = "json"
	runsLines = "ndjson"
	runsCSV   = "csv"
)

var runForms = []string{runsJSON, runsLines, runsCSV}

// nextHeader has the cursor of the next part where the answer itself has no place for it.
const nextHeader = "X-Next-Cursor"

// runFormat is the form that a request wants: by its parameter, or by the first media type that
// it accepts and that is one.
func runFormat(ctx *fasthttp.RequestCtx) (string, []lang.Fault) { return formOf(ctx, runForms) }

// formOf is the form, of some, that a request wants.
func formOf(ctx *fasthttp.RequestCtx, forms []string) (string, []lang.Fault) {
	if ctx.QueryArgs().Has("format") {
		form := string(ctx.QueryArgs().Peek("format"))
		if !slices.Contains(forms, form) {
			return "", []lang.Fault{{Path: "/format", Message: "want " + strings.Join(forms, ", ") + ", not " + strconv.Quote(lang.Short(form, 100)) + lang.DidYouMean(form, forms)}}
		}
		return form, nil
	}
	for part := range strings.SplitSeq(string(ctx.Request.Header.Peek(fasthttp.HeaderAccept)), ",") {
		kind, _, err := mime.ParseMediaType(part)
		switch {
		case err != nil:
		case slices.Contains(ndjson, kind) && slices.Contains(forms, runsLines):
			return runsLines, nil
		case kind == "text/csv":
			return runsCSV, nil
		case kind == "application/json", kind == "*/*":
			return runsJSON, nil
		}
	}
	return runsJSON, nil
}

func (s *Server) sendRuns(ctx *fasthttp.RequestCtx, format string, list runList) *answer.Refusal {
	ctx.Response.Header.Add(fasthttp.HeaderVary, fasthttp.HeaderAccept)
	if format == runsJSON {
		answer.SendJSON(ctx, fasthttp.StatusOK, list)
		return nil
	}
	if list.Next != "" {
		ctx.Response.Header.Set(nextHeader, list.Next)
	}
	var b bytes.Buffer
	var err error
	if format == runsCSV {
		ctx.SetContentType("text/csv; charset=utf-8; header=present")
		err = writeRunsCSV(&b, list.Runs)
	} else {
		ctx.SetContentType(ndjson[0])
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		for i := range list.Runs {
			if err = enc.Encode(&list.Runs[i]); err != nil {
				break
			}
		}
	}
	if err != nil {
		return s.faults.Refuse(ctx, "write runs", err)
	}
	ctx.Response.SetBodyRaw(b.Bytes())
	return nil
}

// runColumns are the columns of a table of runs.
var runColumns = []string{"runId", "state", "code", "error", "actionPath", "label", "metadata", "origin", "token", "batchId", "item", "scheduleId", "again", "firstAddress", "url", "title", "status", "actions", "stepsEnded", "failed", "attempts", "askedAt", "startedAt", "endedAt", "waited", "duration", "workerName", "sessionId", "resultBytes", "resultUntil"}

func writeRunsCSV(b *bytes.Buffer, all []answer.Run) error {
	w := csv.NewWriter(b)
	_ = w.Write(runColumns) // it keeps its error
	for i := range all {
		r := &all[i]
		page, item, schedule := r.Page, "", ""
		if page == nil {
			page = &answer.RunPage{}
		}
		if r.Item != nil {
			item = strconv.Itoa(*r.Item)
		}
		if r.Schedule != nil {
			schedule = r.Schedule.ScheduleID
		}
		status := ""
		if page.Status > 0 {
			status = strconv.Itoa(page.Status)
		}
		row := []string{r.RunID, r.State, string(r.Code), r.Error, r.Path, r.Label, string(r.Metadata), string(r.Origin), r.Token, r.Batch, item, schedule, r.Again, r.First, page.URL, page.Title, status,
			strconv.Itoa(r.Actions), strconv.Itoa(r.Ended), strconv.Itoa(r.Failed), strconv.Itoa(r.Attempts), r.AskedAt, r.Started, r.EndedAt, strconv.FormatInt(r.Waited, 10), strconv.FormatInt(r.Duration, 10),
			r.Worker, r.Session, strconv.Itoa(r.Bytes), r.Until}
		for j := range row {
			row[j] = noFormula(row[j])
		}
		_ = w.Write(row)
	}
	w.Flush()
	return w.Error()
}

// noFormula keeps programs for tables from computing a text that a page has written.
func noFormula(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
