package http

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors/runs"
	"troupe/engine/lang"
	"troupe/http/answer"
	"troupe/persistence"
)

// usedOverTime is what the runs of an account come to.
type usedOverTime struct {
	Success bool             `json:"success"`
	From    string           `json:"from"` // the first day
	To      string           `json:"to"`   // the day after the last one
	By      runs.By          `json:"by"`
	Usage   []answer.SumsRow `json:"usage"`
	Total   answer.Sums      `json:"total"`
	// Unreadable are the days with sums that the service's key does not open.
	Unreadable []string `json:"unreadable,omitempty"`
}

var (
	usageBy     = []string{string(runs.ByDay), string(runs.ByLabel), string(runs.ByToken)}
	usageForms  = []string{runsJSON, runsCSV}
	usageParams = []string{"from", "to", "by", "limit", "format"}
)

// usageRows are the rows of an answer, where nobody asks for less.
const usageRows = 1000

// asksUsage reports whether a request for the usage asks for the sums of runs.
func asksUsage(ctx *fasthttp.RequestCtx) bool {
	return slices.ContainsFunc(usageParams, ctx.QueryArgs().Has)
}

// usageOverTime answers with the sums of the runs of some days.
func (s *Server) usageOverTime(ctx *fasthttp.RequestCtx, account persistence.Account) *answer.Refusal {
	from, to, by, faults := readUsageQuery(ctx, time.Now())
	most, wrong := readCount(ctx, "limit", usageRows, usageRows)
	form, bad := formOf(ctx, usageForms)
	if faults = slices.Concat(faults, wrong, bad); len(faults) > 0 {
		return answer.RefuseInvalid(faults...)
	}
	if no := s.noHistory(); no != nil {
		return no
	}
	if no := s.load(ctx, account.ID); no != nil {
		return no
	}
	u, err := s.cfg.Runs.Usage(s.base, account.ID, from, to.AddDate(0, 0, -1), by, most)
	if err != nil {
		return s.faults.Refuse(ctx, "sum up runs", err)
	}
	ctx.Response.Header.Add(fasthttp.HeaderVary, fasthttp.HeaderAccept)
	a := usedOverTime{true, from.Format(time.DateOnly), to.Format(time.DateOnly), by, answer.SumsRows(u.Rows, by), answer.OfSum(u.Total), u.Unreadable}
	if form == runsJSON {
		answer.SendJSON(ctx, fasthttp.StatusOK, a)
		return nil
	}
	var b bytes.Buffer
	if err := writeUsageCSV(&b, a); err != nil {
		return s.faults.Refuse(ctx, "write sums", err)
	}
	ctx.SetContentType("text/csv; charset=utf-8; header=present")
	ctx.Response.SetBodyRaw(b.Bytes())
	return nil
}

// readUsageQuery reads which days a request is about, and which rows it wants.
func readUsageQuery(ctx *fasthttp.RequestCtx, now time.Time) (from, to time.Time, by runs.By, faults []lang.Fault) {
	fault := func(name, format string, a ...any) {
		faults = append(faults, lang.Fault{Path: "/" + name, Message: fmt.Sprintf(format, a...)})
	}
	seen := map[string]bool{}
	for k := range ctx.QueryArgs().All() {
		switch name := string(k); {
		case !slices.Contains(usageParams, name):
			fault(lang.Short(name, 100), "is no parameter of this request: want %s%s", strings.Join(usageParams, ", "), lang.DidYouMean(name, usageParams))
		case seen[name]:
			fault(name, "comes twice: send it once")
		default:
			seen[name] = true
		}
	}
	text := func(name string) string { return string(ctx.QueryArgs().Peek(name)) }
	day := func(name string, otherwise time.Time) time.Time {
		s := text(name)
		if s == "" {
			return otherwise
		}
		t, err := time.Parse(time.DateOnly, s)
		if err != nil {
			fault(name, "want a day such as 2026-11-29, not %q", lang.Short(s, 100))
			return otherwise
		}
		return t
	}
	today := now.UTC().Truncate(24 * time.Hour)
	to = day("to", today.AddDate(0, 0, 1))
	from = day("from", today.AddDate(0, 0, 1-runs.KeepDays))
	if !from.Before(to) && len(faults) == 0 {
		name := "to"
		if text("to") == "" {
			name = "from"
		}
		fault(name, "want a day in from before that in to: to is the day after the last one")
	}
	word := text("by")
	if word != "" && !slices.Contains(usageBy, word) {
		fault("by", "want %s, not %q%s", strings.Join(usageBy, " or "), lang.Short(word, 100), lang.DidYouMean(word, usageBy))
	}
	return from, to, cmp.Or(runs.By(word), runs.ByDay), faults
}

func writeUsageCSV(b *bytes.Buffer, u usedOverTime) error {
	w := csv.NewWriter(b)
	_ = w.Write([]string{string(u.By), "other", "runs", "failed", "stepsEnded", "browserSeconds", "resultBytes", "attempts"}) // it keeps its error
	for _, r := range u.Usage {
		name, other := r.Day, ""
		for _, s := range []*string{r.Label, r.Token} {
			if s != nil {
				name = *s
			}
		}
		if r.Other {
			other = "true"
		}
		n := func(v int64) string { return strconv.FormatInt(v, 10) }
		_ = w.Write([]string{noFormula(name), other, n(r.Runs), n(r.Failed), n(r.Ended), strconv.FormatFloat(r.Browser, 'f', -1, 64), n(r.Bytes), n(r.Attempts)})
	}
	w.Flush()
	return w.Error()
}
